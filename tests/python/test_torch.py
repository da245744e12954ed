"""What of PyTorch needs no kernel of its own (the packages carry machine code alone): copies, cuBLAS, cuDNN, and what torch.compile makes with Triton."""
import os
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import small

small.need("torch")
import torch

if not torch.cuda.is_available():
    print("SKIP python/torch: a build without CUDA")
    sys.exit(0)


def test_copies():
    x = torch.rand(100)
    assert (x.cuda().cpu() == x).all()


def test_matmul():
    x, y = torch.rand(64, 64), torch.rand(64, 64)
    assert torch.allclose((x.cuda() @ y.cuda()).cpu(), x @ y, atol=1e-4)


def test_convolution():
    x, w = torch.rand(1, 2, 9, 9), torch.rand(3, 2, 3, 3)
    assert torch.allclose(torch.nn.functional.conv2d(x.cuda(), w.cuda()).cpu(), torch.nn.functional.conv2d(x, w), atol=1e-4)


def test_compiled():
    x, y = torch.rand(64, 64), torch.rand(64, 64)
    f = torch.compile(lambda a, b: torch.sin(a) * b + a)
    assert torch.allclose(f(x.cuda(), y.cuda()).cpu(), torch.sin(x) * y + x, atol=1e-5)


small.run(sys.modules[__name__])
