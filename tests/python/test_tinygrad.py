import os
import sys

os.environ.setdefault("CACHELEVEL", "0")
import small

small.need("numpy", "tinygrad")
import numpy as np
from tinygrad import Context, Device, Tensor, dtypes


def both(f):
    """On the back end that writes CUDA C and on the one that writes PTX."""
    for device in ("CUDA", "CUDA:PTX"):
        with Context(DEV=device):
            f()


def test_matmul():
    def f():
        a, b = np.random.rand(33, 20).astype(np.float32), np.random.rand(20, 17).astype(np.float32)
        assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, atol=1e-4)
    both(f)


def test_reductions():
    def f():
        a = np.random.rand(50, 60).astype(np.float32)
        t = Tensor(a)
        assert np.allclose(t.sum(axis=1).numpy(), a.sum(axis=1), rtol=1e-4) and np.allclose(t.max(axis=0).numpy(), a.max(axis=0))
        e = np.exp(a - a.max(axis=1, keepdims=True))
        assert np.allclose(t.softmax(axis=1).numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-4)
    both(f)


def test_gradient():
    def f():
        a = np.random.rand(8, 8).astype(np.float32)
        t = Tensor(a)
        assert np.allclose((t * t).sum().gradient(t)[0].numpy(), 2 * a, rtol=1e-5)
    both(f)


def test_convolution():
    def f():
        x, w = np.random.rand(1, 2, 8, 8).astype(np.float32), np.random.rand(3, 2, 3, 3).astype(np.float32)
        want = np.zeros((1, 3, 6, 6), np.float32)
        for i in range(6):
            for j in range(6):
                want[0, :, i, j] = np.tensordot(w, x[0, :, i:i + 3, j:j + 3], axes=3)
        assert np.allclose(Tensor(x).conv2d(Tensor(w)).numpy(), want, rtol=1e-4)
    both(f)


def test_half():
    def f():
        a = np.random.rand(16, 16).astype(np.float32)
        t = Tensor(a).cast(dtypes.half)
        assert np.allclose((t @ t).cast(dtypes.float).numpy(), a @ a, rtol=2e-2)
    both(f)


small.run(sys.modules[__name__])
