import sys

import small

small.need("numpy", "warp")
import numpy as np
import warp as wp

wp.config.quiet = True
wp.init()
GPU = "cuda:0"


@wp.kernel
def sines(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.sin(a[i]) * 2.0


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i])


@wp.kernel
def total(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, a[wp.tid()])


@wp.kernel
def squares(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, a[i] * a[i])


def test_kernel():
    a = wp.array(np.arange(100, dtype=np.float32), device=GPU)
    b = wp.zeros_like(a)
    wp.launch(sines, dim=100, inputs=[a, b], device=GPU)
    assert np.allclose(b.numpy(), np.sin(np.arange(100)) * 2, atol=1e-5)


def test_vectors():
    v = np.random.rand(50, 3).astype(np.float32)
    out = wp.zeros(50, dtype=float, device=GPU)
    wp.launch(lengths, dim=50, inputs=[wp.array(v, dtype=wp.vec3, device=GPU), out], device=GPU)
    assert np.allclose(out.numpy(), np.linalg.norm(v, axis=1), rtol=1e-5)


def test_atomics():
    a, out = np.random.rand(500).astype(np.float32), wp.zeros(1, dtype=float, device=GPU)
    wp.launch(total, dim=500, inputs=[wp.array(a, device=GPU), out], device=GPU)
    assert np.isclose(out.numpy()[0], a.sum(), rtol=1e-4)


def test_gradient():
    a = wp.array(np.random.rand(20).astype(np.float32), device=GPU, requires_grad=True)
    out = wp.zeros(1, dtype=float, device=GPU, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(squares, dim=20, inputs=[a, out], device=GPU)
    tape.backward(loss=out)
    assert np.allclose(a.grad.numpy(), 2 * a.numpy(), rtol=1e-5)


def test_radix_sort_and_scan():
    keys = np.random.permutation(1000).astype(np.int32)
    k, v = wp.array(np.concatenate([keys, keys * 0]), dtype=int, device=GPU), wp.array(np.concatenate([np.arange(1000), np.zeros(1000)]).astype(np.int32), dtype=int, device=GPU)
    wp.utils.radix_sort_pairs(k, v, 1000)
    assert (k.numpy()[:1000] == np.arange(1000)).all() and (keys[v.numpy()[:1000]] == np.arange(1000)).all()
    x = wp.array(np.ones(300, np.int32), dtype=int, device=GPU)
    out = wp.zeros_like(x)
    wp.utils.array_scan(x, out, inclusive=True)
    assert (out.numpy() == np.arange(1, 301)).all()


small.run(sys.modules[__name__])
