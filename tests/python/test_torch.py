"""PyTorch from PyPI, whose own kernels are machine code: its operations one by one (heddle_torch.py computes them on the host), cuBLAS, cuDNN, and what
torch.compile makes with Triton. Everything is compared with the host's PyTorch."""
import os
import subprocess
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
import small

small.need("torch")
import torch
from torch.nn import functional as F

if not torch.cuda.is_available():
    print("SKIP python/torch: a build without CUDA")
    sys.exit(0)
torch.manual_seed(1)


def equal(want, got, atol):
    for w, g in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
        assert g.is_cuda and w.dtype == g.dtype and w.shape == g.shape
        assert torch.allclose(g.cpu().float(), w.float(), atol=atol, rtol=1e-4), (g.cpu().float() - w.float()).abs().max()


def same(f, *args, atol=1e-5):
    """f of copies on the device gives what f gives here."""
    equal(f(*args), f(*(a.cuda() for a in args)), atol)


def compiled(f, *args, atol=1e-5):
    torch._dynamo.reset()
    equal(f(*args), torch.compile(f)(*(a.cuda() for a in args)), atol)


def test_copies():
    x = torch.rand(100)
    assert (x.cuda().cpu() == x).all()


def test_creation():
    x = torch.arange(12, device="cuda").reshape(3, 4)
    assert x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] and "device='cuda:0'" in repr(x)
    assert torch.full((2,), 7.0, device="cuda").sum().item() == 14 and 0 < torch.rand(50, device="cuda").mean().item() < 1
    assert torch.zeros(3, device="cuda").dtype == torch.float32 and torch.eye(3).cuda().half().trace().item() == 3


def test_elementwise_and_reductions():
    same(lambda a, b: (a + b, (a * b).sum(1), a.sin().amax(0), (a > b).sum(), a.std(), a.cumsum(1)), torch.rand(20, 30), torch.rand(20, 30))


def test_writing_in_place():
    def f(a):
        a = a.clone()
        a.t()[1:3].add_(2)
        a[:, ::2] *= 3
        a[a > 4] = 0
        return a

    same(f, torch.rand(6, 8))


def test_sort_and_index():
    same(lambda a, i: (a.sort(1)[0], a.topk(3)[1], a[i], a.index_add(0, i, a[i])), torch.rand(9, 11), torch.tensor([1, 3, 3]))


def test_matmul():
    same(lambda x, y: (x @ y, F.linear(x, y, y[0]), torch.einsum("ij,kj->ik", x, y)), torch.rand(64, 64), torch.rand(64, 64), atol=1e-4)


def test_convolution():
    same(lambda x, w, b: (F.conv2d(x, w, b), F.conv2d(x, w, padding=1, stride=2)), torch.rand(1, 2, 9, 9), torch.rand(3, 2, 3, 3), torch.rand(3), atol=1e-4)


def test_attention():
    same(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), *(torch.randn(2, 3, 20, 16) for _ in range(3)), atol=1e-4)


def test_convolution_backward():
    def f(x, w, b):
        x, w, b = (t.detach().requires_grad_() for t in (x, w, b))
        F.max_pool2d(F.conv2d(x, w, b, padding=1).relu(), 2).square().mean().backward()
        return x.grad, w.grad, b.grad

    same(f, torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4), atol=1e-4)


def training(model, optimizer, x, y, loss, wrap):
    """The losses of eight steps."""
    losses = []
    forward, step = wrap(lambda x, y: loss(model(x), y)), wrap(optimizer.step)
    for _ in range(8):
        optimizer.zero_grad()
        value = forward(x, y)
        value.backward()
        step()
        losses.append(value.item())
    return losses


def learns(make, optimizer, x, y, loss, wrap=lambda f: f):
    torch._dynamo.reset()
    torch.manual_seed(2)
    a = make()
    here = training(a, optimizer(a.parameters()), x, y, loss, lambda f: f)
    torch.manual_seed(2)
    b = make().cuda()
    there = training(b, optimizer(b.parameters()), x.cuda(), y.cuda(), loss, wrap)
    assert here[-1] < here[0] and all(abs(p - q) < 1e-3 for p, q in zip(here, there)), (here, there)


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def classifier():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 10))


def test_training_a_perceptron():
    learns(perceptron, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), torch.randn(64, 10), torch.rand(64, 1), F.mse_loss)


def test_training_a_convolutional_network():
    learns(classifier, lambda p: torch.optim.Adam(p, 1e-2), torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,)), F.cross_entropy)


def test_off():
    """Without our help machine code is an error, and the line above it says what to do."""
    if any(a.startswith("compute_") for a in torch.cuda.get_arch_list()):
        return
    r = subprocess.run([sys.executable, "-c", "import torch; torch.ones(3).cuda() + 1"], env={**os.environ, "HEDDLE_TORCH": "off"}, capture_output=True, text=True)
    assert r.returncode == 1 and "no kernel image" in r.stderr, r.stderr


def test_compiled_elementwise():
    compiled(lambda a, b: torch.sin(a) * b + a, torch.rand(64, 64), torch.rand(64, 64))


def test_compiled_creation_and_indexing():
    compiled(lambda a: (torch.ones_like(a).cumsum(0), torch.where(a > 0.5, a, torch.zeros_like(a)), a[:, ::2].flip(0), torch.arange(10, device=a.device)[::3]), torch.rand(30, 20))


def test_compiled_reductions():
    compiled(lambda a: (a.sum(1), a.mean(0), a.amax(1), a.argmin(0), a.var(1), a.norm()), torch.rand(50, 70))


def test_compiled_softmax_and_norms():
    compiled(lambda a, w: (F.softmax(a, 1), F.log_softmax(a, 0), F.layer_norm(a, (40,), w), F.gelu(a)), torch.randn(33, 40), torch.rand(40))


def test_compiled_half():
    compiled(lambda a, b: (a @ b).relu() + 1, torch.rand(32, 32).half(), torch.rand(32, 32).half(), atol=2e-2)


def test_compiled_embedding_and_loss():
    compiled(lambda w, i, t: F.cross_entropy(F.embedding(i, w), t), torch.randn(20, 8), torch.randint(0, 20, (30,)), torch.randint(0, 8, (30,)))


def test_compiled_attention():
    compiled(lambda q, k, v: F.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v, *(torch.randn(2, 3, 20, 16) for _ in range(3)), atol=1e-4)


def test_compiled_training():
    learns(perceptron, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), torch.randn(64, 10), torch.rand(64, 1), F.mse_loss, torch.compile)


def test_compiled_training_of_a_convolutional_network():
    learns(classifier, lambda p: torch.optim.SGD(p, 0.1), torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,)), F.cross_entropy, torch.compile)


small.run(sys.modules[__name__])
