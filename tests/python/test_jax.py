import importlib.util
import sys

import small

small.need("numpy", "jax")
if not any(importlib.util.find_spec(f"jax_cuda{n}_plugin") for n in (12, 13)):
    print("SKIP python/jax: it has no CUDA back end (pip install 'jax[cuda13]')")
    sys.exit(0)
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

generator = np.random.default_rng(1)
x = generator.standard_normal(1000).astype(np.float32)
a, b = (generator.standard_normal(shape).astype(np.float32) for shape in ((64, 96), (96, 80)))
spd = a @ a.T + 64 * np.eye(64, dtype=np.float32)          # symmetric, positive definite


def close(got, wanted, rtol=1e-4, atol=1e-4):
    assert all(d.platform == "gpu" for d in got.devices())
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=rtol, atol=atol)


def test_devices():
    assert [d.platform for d in jax.devices()] == ["gpu"]


def test_jit():
    close(jax.jit(lambda v: jnp.sin(v) * jnp.exp(v) + 1)(x), np.sin(x) * np.exp(x) + 1)


def test_matmul():
    close(jnp.matmul(a, b, precision="highest"), a @ b)
    close(jnp.matmul(a, b), a @ b, 2e-2, 2e-1)             # on tensor cores
    half = [m.astype(jnp.bfloat16) for m in (a, b)]
    close(jnp.matmul(*half).astype(jnp.float32), half[0].astype(np.float32) @ half[1].astype(np.float32), 2e-2, 2e-1)


def test_reductions():
    close(jnp.sum(x), x.sum())
    close(jnp.mean(a, axis=0), a.mean(0))
    close(jnp.argmax(a, axis=1), a.argmax(1))
    close(jnp.cumsum(x), np.cumsum(x), atol=1e-3)


def test_grad():
    close(jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2))(x), 2 * np.tanh(x) * (1 - np.tanh(x) ** 2))


def test_vmap():
    close(jax.vmap(lambda row, m: jnp.matmul(row, m, precision="highest"), (0, None))(a, b), a @ b)


def test_random_as_on_the_host():
    with jax.default_device(jax.devices("cpu")[0]):
        wanted = np.asarray(jax.random.normal(jax.random.key(7), (1000,)))
    close(jax.random.normal(jax.random.key(7), (1000,)), wanted)


def test_sort_and_index():
    close(jnp.sort(x), np.sort(x))
    close(jnp.asarray(x)[jnp.arange(0, 1000, 7)], x[::7])
    close(jnp.zeros(5).at[jnp.array([1, 1, 3])].add(2.0), [0, 4, 0, 2, 0])


def test_control_flow():
    close(lax.scan(lambda c, v: (c + v, c * v), jnp.float32(0), x)[0], x.sum(), atol=1e-3)
    close(lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0))[1], 1024)
    close(jax.jit(lambda p, v: lax.cond(p, lambda v: v + 1, lambda v: v - 1, v))(True, x), x + 1)


def test_fft():
    close(jnp.fft.fft(x), np.fft.fft(x), atol=1e-3)
    close(jnp.fft.rfft2(a), np.fft.rfft2(a), atol=1e-3)


def test_linalg():
    close(jnp.linalg.cholesky(spd), np.linalg.cholesky(spd), 1e-3)
    close(jnp.linalg.solve(spd, a[:, 0]), np.linalg.solve(spd, a[:, 0]), 1e-3)
    close(jnp.matmul(*jnp.linalg.qr(spd), precision="highest"), spd, 1e-3, 1e-3)
    close(jnp.linalg.eigh(spd)[0], np.linalg.eigvalsh(spd), 1e-3, 1e-3)
    close(jnp.linalg.svd(a)[1], np.linalg.svd(a)[1], 1e-3, 1e-3)


def test_convolution():
    ones = np.ones((1, 3, 16, 16), np.float32), np.ones((4, 3, 3, 3), np.float32)
    close(lax.conv(*ones, (1, 1), "SAME")[0, :, 5, 5], [27] * 4)


def test_training():
    inputs, weights = generator.standard_normal((64, 8)).astype(np.float32), [generator.standard_normal(s).astype(np.float32) * 0.3 for s in ((8, 16), (16, 1))]

    def loss(w):
        return jnp.mean((jnp.maximum(inputs @ w[0], 0) @ w[1] - 2 * inputs[:, :1]) ** 2)

    step, first = jax.jit(lambda w: [p - 0.05 * g for p, g in zip(w, jax.grad(loss)(w))]), loss(weights)
    for _ in range(50):
        weights = step(weights)
    assert loss(weights) < first / 2


small.run(sys.modules[__name__])
