import sys

import small

small.need("numpy", "pycuda")
import shutil

if not shutil.which("nvcc"):
    print("SKIP python/pycuda: no nvcc")
    sys.exit(0)
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as ga
from pycuda.compiler import SourceModule


def test_source_module():
    m = SourceModule("__constant__ float k; __global__ void scale(float *a) { a[threadIdx.x] *= k; }")
    drv.memcpy_htod(m.get_global("k")[0], np.float32(2.5))
    a = np.random.rand(64).astype(np.float32)
    b = a.copy()
    m.get_function("scale")(drv.InOut(b), block=(64, 1, 1))
    assert np.allclose(b, a * np.float32(2.5))


def test_gpuarray():
    a = np.random.rand(1000).astype(np.float32)
    assert np.allclose((ga.to_gpu(a) * 3 + 1).get(), a * 3 + 1)
    assert np.isclose(ga.sum(ga.to_gpu(a)).get(), a.sum(), rtol=1e-4)


def test_events_and_streams():
    s, e = drv.Stream(), drv.Event()
    d = drv.mem_alloc(4000)
    drv.memcpy_htod_async(d, drv.pagelocked_zeros(1000, np.float32), s)
    e.record(s)
    e.synchronize()
    assert e.query()


small.run(sys.modules[__name__])
