import sys

import small

small.need("numpy", "cupy")
import cupy as cp
import numpy as np


def test_elementwise_and_reduction():
    x = cp.arange(1000, dtype=cp.float32)
    assert float((x * 2 + 1).sum()) == 1000000
    a = np.random.rand(40, 50)
    assert np.allclose(cp.asnumpy(cp.sqrt(cp.asarray(a)).mean(axis=0)), np.sqrt(a).mean(axis=0))


def test_raw_kernel():
    k = cp.RawKernel(r'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', "twice")
    x = cp.arange(64, dtype=cp.float32)
    k((1,), (64,), (x,))
    assert (x == 2 * cp.arange(64)).all()


def test_raw_module_with_templates():
    m = cp.RawModule(code="template <class T> __global__ void fill(T *x, T v) { x[threadIdx.x] = v; }", options=("-std=c++14",), name_expressions=["fill<int>", "fill<double>"])
    a, b = cp.zeros(32, cp.int32), cp.zeros(32, cp.float64)
    m.get_function("fill<int>")((1,), (32,), (a, np.int32(7)))
    m.get_function("fill<double>")((1,), (32,), (b, 2.5))
    assert (a == 7).all() and (b == 2.5).all()


def test_elementwise_kernel():
    k = cp.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = x > y ? x - y : 0", "positive_part")
    x, y = np.random.rand(100), np.random.rand(100)
    assert np.allclose(cp.asnumpy(k(cp.asarray(x), cp.asarray(y))), np.maximum(x - y, 0))


def test_matrix_product():
    a, b = np.random.rand(48, 32), np.random.rand(32, 40)
    assert np.allclose(cp.asnumpy(cp.asarray(a) @ cp.asarray(b)), a @ b)
    c = a.astype(np.float32)
    assert np.allclose(cp.asnumpy(cp.asarray(c).T @ cp.asarray(c)), c.T @ c, rtol=1e-4)


def test_linear_algebra():
    a = np.random.rand(20, 20) + 20 * np.eye(20)
    g = cp.asarray(a)
    assert np.allclose(cp.asnumpy(cp.linalg.inv(g)), np.linalg.inv(a))
    assert np.allclose(cp.asnumpy(cp.linalg.svd(g)[1]), np.linalg.svd(a)[1])
    assert np.allclose(cp.asnumpy(cp.linalg.eigvalsh(g + g.T)), np.linalg.eigvalsh(a + a.T))
    assert np.allclose(cp.asnumpy(cp.linalg.solve(g, cp.ones(20))), np.linalg.solve(a, np.ones(20)))


def test_fft():
    a = np.random.rand(16, 30)
    assert np.allclose(cp.asnumpy(cp.fft.fft2(cp.asarray(a))), np.fft.fft2(a))
    assert np.allclose(cp.asnumpy(cp.fft.irfft(cp.fft.rfft(cp.asarray(a)))), a)


def test_sort_and_scan():
    x = np.random.permutation(5000)
    assert (cp.asnumpy(cp.sort(cp.asarray(x))) == np.arange(5000)).all()
    assert (cp.asnumpy(cp.cumsum(cp.asarray(x))) == np.cumsum(x)).all()
    assert (cp.asnumpy(cp.argsort(cp.asarray(x))) == np.argsort(x)).all()


def test_random():
    r = cp.random.RandomState(3)
    u, n = r.random_sample(20000), r.standard_normal(20000)
    assert 0.49 < float(u.mean()) < 0.51 and 0.97 < float(n.std()) < 1.03


def test_sparse():
    import cupyx.scipy.sparse as sparse
    d = np.random.rand(30, 40) * (np.random.rand(30, 40) < 0.2)
    m = sparse.csr_matrix(cp.asarray(d))
    x = np.random.rand(40)
    assert np.allclose(cp.asnumpy(m @ cp.asarray(x)), d @ x)
    assert np.allclose(cp.asnumpy((m @ m.T).toarray()), d @ d.T)


small.run(sys.modules[__name__])
