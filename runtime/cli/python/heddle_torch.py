"""PyTorch under Heddle. PyPI's packages carry PyTorch's own kernels as machine code alone, which Heddle does not execute. So those operations are computed on
the host, and their results put into device memory. Matrix products and convolutions go to cuBLAS and cuDNN as ever; kernels of Triton, of torch.compile and of
extensions run on the simulated GPU. HEDDLE_TORCH=off leaves PyTorch as it is.

A dispatch mode sees every operation below autograd. It is of the thread that imports torch, and of the threads of its backward passes."""
import ctypes
import os
import sys

# Operations that need no kernel, and those that cuBLAS and cuDNN do: they stay on the device.
DIRECT = """empty empty_like empty_strided new_empty new_empty_strided resize_ set_ _unsafe_view _reshape_alias record_stream _local_scalar_dense is_pinned
    _pin_memory is_same_size lift_fresh mm bmm cudnn_batch_norm cudnn_batch_norm_backward _cudnn_rnn _cudnn_rnn_backward _cudnn_rnn_flatten_weight""".split()


def prepare(torch):
    if os.environ.get("HEDDLE_TORCH") == "off" or not torch.backends.cuda.is_built():
        return
    if "compute_" in torch._C._cuda_getArchFlags():
        return                                 # built with PTX
    import torch._inductor.config as inductor
    import torch._tensor_str as text
    from torch.utils import _pytree as tree
    from torch.utils._python_dispatch import TorchDispatchMode

    aten, told, driver = torch.ops.aten, [], ctypes.CDLL("libcuda.so.1")
    direct = {getattr(aten, name) for name in DIRECT if hasattr(aten, name)}

    def on_device(x):
        return type(x) in (torch.Tensor, torch.nn.Parameter) and x.is_cuda and x.layout == torch.strided

    # ---- memory: copies of whole storages need no kernel, whatever the strides are ----

    def storage(x):
        return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())

    def view(memory, x):
        t = memory.as_strided(x.shape, x.stride(), x.storage_offset())
        t = t.conj() if x.is_conj() else t
        return torch._neg_view(t) if x.is_neg() else t

    def fetch(x):
        return view(storage(x).cpu(), x)

    def store(x, t):
        if x.shape != t.shape:
            x.resize_(t.shape)
        memory = storage(x)
        kept = memory.cpu()
        view(kept, x).copy_(t)
        memory.copy_(kept)

    def send(t, device):
        x = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=device)
        store(x, t)
        return x

    # ---- operations ----

    def on_host(func, args, kwargs, leaves, device):
        """func of copies here. What it writes is written there; a result that is one of its arguments is that argument."""
        if not told:
            told.append(func)
            print("heddle: PyTorch's own kernels are machine code here and are computed on the host (HEDDLE_TORCH=off makes them errors)", file=sys.stderr, flush=True)
        twins = []

        def twin(x):
            if on_device(x):
                t = next((t for y, t in twins if y is x), None)
                if t is None:
                    t = fetch(x)
                    twins.append((x, t))
                return t
            if isinstance(x, torch.Generator):
                return None                    # of the device: the host's default takes its place
            return torch.device("cpu") if isinstance(x, torch.device) and x.type == "cuda" else x

        def result(t):
            if not isinstance(t, torch.Tensor) or device.type != "cuda" or any(t is x for x in leaves):
                return t
            mine = next((x for x, u in twins if u is t), None)
            return send(t, device) if mine is None else mine

        out = func(*tree.tree_map(twin, args), **tree.tree_map(twin, kwargs))
        for x, t in twins if func._schema.is_mutable else ():
            store(x, t)
        return tree.tree_map(result, out)

    def host(func, *args, **kwargs):
        leaves = tree.tree_leaves((args, kwargs))
        return on_host(func, args, kwargs, leaves, next(x.device for x in leaves if on_device(x)))

    def dense(x):
        return x if x.is_contiguous() else host(aten.clone.default, x, memory_format=torch.contiguous_format)

    def addmm(bias, a, b, beta=1, alpha=1):
        return host(aten.add.Tensor, host(aten.mul.Tensor, aten.mm(a, b), alpha), host(aten.mul.Tensor, bias, beta))

    def zero(x):
        if not x.is_contiguous():
            return host(aten.zero_.default, x)
        if x.numel():
            stream = torch.cuda.current_stream(x.device).cuda_stream
            driver.cuMemsetD8Async(ctypes.c_uint64(x.data_ptr()), 0, ctypes.c_size_t(x.nbytes), ctypes.c_void_p(stream))
        return x

    # PyTorch adds biases itself, and has convolutions of its own for groups.
    def convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
        if groups != 1:
            return host(aten.convolution.default, x, w, bias, stride, padding, dilation, transposed, output_padding, groups)
        y = aten.convolution(dense(x), dense(w), None, stride, padding, dilation, transposed, output_padding, groups)
        return y if bias is None else host(aten.add.Tensor, y, bias.view(-1, *[1] * (y.dim() - 2)))

    def convolution_backward(g, x, w, sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
        if groups != 1:
            return host(aten.convolution_backward.default, g, x, w, sizes, stride, padding, dilation, transposed, output_padding, groups, mask)
        out = aten.convolution_backward(dense(g), dense(x), dense(w), None, stride, padding, dilation, transposed, output_padding, groups, [*mask[:2], False])
        return *out[:2], host(aten.sum.dim_IntList, g, [0, *range(2, g.dim())]) if mask[2] else None

    special = {aten.zero_.default: zero, aten.addmm.default: addmm, aten.convolution.default: convolution, aten.convolution_backward.default: convolution_backward}

    class Host(TorchDispatchMode):
        @classmethod
        def is_infra_mode(cls):
            return True                        # torch.compile works under such modes alone

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            leaves = tree.tree_leaves((args, kwargs))
            devices = [x.device for x in leaves if on_device(x)] + [x for x in leaves if isinstance(x, torch.device) and x.type == "cuda"]
            if not devices or func.is_view or func.overloadpacket in direct:
                return func(*args, **kwargs)
            if func in special:
                return special[func](*args, **kwargs)
            return on_host(func, args, kwargs, leaves, kwargs.get("device") or devices[0])

    inductor.joint_graph_constant_folding = False          # runs PyTorch's kernels, while it compiles
    for name in ("flash", "mem_efficient", "cudnn"):           # attention: the host has no such operations
        getattr(torch.backends.cuda, f"enable_{name}_sdp")(False)
    shown = text._tensor_str                   # which turns modes off
    text._tensor_str = lambda x, indent: shown(fetch(x) if on_device(x) else x, indent)
    Host().__enter__()
