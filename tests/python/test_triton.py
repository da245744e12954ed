import ctypes
import os
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import small

small.need("numpy", "triton")
import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()                    # Triton by itself makes one; where PyTorch is installed it leaves that to it
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0


class Array:
    """As much of a tensor as Triton wants: a pointer and a type. No PyTorch is needed."""
    def __init__(self, a):
        triton.runtime.driver.active.get_current_device()
        self.host, self.pointer, self.dtype = np.ascontiguousarray(a), ctypes.c_uint64(), str(a.dtype)
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.pointer), ctypes.c_size_t(a.nbytes)) == 0
        assert cuda.cuMemcpyHtoD_v2(self.pointer, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(a.nbytes)) == 0

    def data_ptr(self):
        return self.pointer.value

    def numpy(self):
        assert cuda.cuMemcpyDtoH_v2(self.host.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(self.host.nbytes)) == 0
        return self.host


def random(*shape, dtype=np.float32):
    return np.random.rand(*shape).astype(dtype)


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    s = tl.zeros((BM, BN), dtype=tl.float32)
    for q in range(0, K, BK):
        s += tl.dot(tl.load(a + m[:, None] * K + (q + k)[None, :]), tl.load(b + (q + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], s)


@triton.jit
def scan(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def count(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(x + i), 1)


def test_add():
    x, y, out = Array(random(1000)), Array(random(1000)), Array(np.zeros(1000, np.float32))
    add[(8,)](x, y, out, 1000, B=128)
    assert (out.numpy() == x.host + y.host).all()


def test_softmax():
    x, out = Array(random(20, 100)), Array(np.zeros((20, 100), np.float32))
    softmax[(20,)](x, out, 100, B=128)
    e = np.exp(x.host)
    assert np.allclose(out.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_matmul_in_half_precision():
    a, b, c = Array(random(128, 64, dtype=np.float16)), Array(random(64, 128, dtype=np.float16)), Array(np.zeros((128, 128), np.float32))
    matmul[(2, 2)](a, b, c, 128, 128, 64, BM=64, BN=64, BK=32)
    assert np.allclose(c.numpy(), a.host.astype(np.float32) @ b.host.astype(np.float32), rtol=1e-3)


def test_matmul_in_single_precision():
    a, b, c = Array(random(64, 64)), Array(random(64, 64)), Array(np.zeros((64, 64), np.float32))
    matmul[(2, 2)](a, b, c, 64, 64, 64, BM=32, BN=32, BK=32)
    assert np.allclose(c.numpy(), a.host @ b.host, rtol=1e-2)


def test_scan():
    x, out = Array(random(512)), Array(np.zeros(512, np.float32))
    scan[(1,)](x, out, B=512)
    assert np.allclose(out.numpy(), np.cumsum(x.host), rtol=1e-4)


def test_atomics():
    x, out = Array(np.random.randint(0, 10, 1024).astype(np.int32)), Array(np.zeros(10, np.int32))
    count[(8,)](x, out, B=128)
    assert (out.numpy() == np.bincount(x.host, minlength=10)).all()


small.run(sys.modules[__name__])
