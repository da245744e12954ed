import sys
import warnings

import small

small.need("numpy", "numba", "numba.cuda")
import numpy as np
from numba import cuda, float32, int32

warnings.filterwarnings("ignore")


def test_add():
    @cuda.jit
    def add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]
    a, b, c = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), np.zeros(1000, np.float32)
    add[8, 128](a, b, c)
    assert (c == a + b).all()


def test_shared_memory_matmul():
    n = 16

    @cuda.jit
    def matmul(a, b, c):
        sa, sb = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        s = float32(0)
        for k in range(a.shape[1] // 16):
            sa[tx, ty], sb[tx, ty] = a[x, ty + k * 16], b[tx + k * 16, y]
            cuda.syncthreads()
            for j in range(16):
                s += sa[tx, j] * sb[j, ty]
            cuda.syncthreads()
        c[x, y] = s
    a, b = np.random.rand(64, 64).astype(np.float32), np.random.rand(64, 64).astype(np.float32)
    c = cuda.device_array((64, 64), np.float32)
    matmul[(4, 4), (n, n)](cuda.to_device(a), cuda.to_device(b), c)
    assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4)


def test_atomics():
    @cuda.jit
    def histogram(x, h):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(h, x[i], 1)
    x, h = np.random.randint(0, 16, 5000).astype(np.int32), np.zeros(16, np.int32)
    histogram[40, 128](x, h)
    assert (h == np.bincount(x, minlength=16)).all()


def test_device_function_and_math():
    import math

    @cuda.jit(device=True)
    def f(x):
        return math.sin(x) * math.exp(-x) + math.sqrt(x)

    @cuda.jit
    def apply(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = f(x[i])
    x, y = np.linspace(0, 5, 500), np.zeros(500)
    apply[4, 128](x, y)
    assert np.allclose(y, np.sin(x) * np.exp(-x) + np.sqrt(x))


def test_reduce():
    total = cuda.reduce(lambda a, b: a + b)
    x = np.random.rand(3000)
    assert np.isclose(total(x), x.sum())


def test_vectorize():
    from numba import vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def f(a, b):
        return a * b + 1
    a, b = np.random.rand(1000).astype(np.float32), np.random.rand(1000).astype(np.float32)
    assert np.allclose(f(a, b), a * b + 1)


def test_warp_shuffle():
    @cuda.jit
    def sums(x, out):
        v = x[cuda.threadIdx.x]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xffffffff, v, d)
        if cuda.threadIdx.x == 0:
            out[0] = v
    x, out = np.arange(32, dtype=np.int32), np.zeros(1, np.int32)
    sums[1, 32](x, out)
    assert out[0] == 496


def test_random():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)
    out = np.zeros(2048, np.float32)
    draw[16, 128](create_xoroshiro128p_states(2048, seed=1), out)
    assert 0.45 < out.mean() < 0.55 and out.min() >= 0 and out.max() < 1


small.run(sys.modules[__name__])
