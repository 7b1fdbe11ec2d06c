"""Runs ATen operators again, in the recorded precision or in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import cast as type_cast

import numpy as np
import torch

from parity.errors import ModelError
from parity.frameworks.torch_call import Ref, SharedMemory
from parity.frameworks.torch_ops import in_float64
from parity.tape import Array, Native, Op, Precision


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Calls the ATen operator again, on copies of what it would write to."""
    call = op.call
    recording = torch.is_grad_enabled()
    if recording:  # `no_grad` takes as long as a small kernel
        torch.set_grad_enabled(False)
    try:
        if isinstance(call, SharedMemory):
            return [call(*arguments)]
        args = _fill(call.args, arguments, precision)
        kwargs = _fill(call.kwargs, arguments, precision) if call.kwargs else {}
        if call.single:  # x > 0.1 is x > float32(0.1)
            args[1] = float(np.float32(args[1]))
        made = []
        for position in call.written:
            target = args if isinstance(position, int) else kwargs
            target[position] = target[position].clone()
            made.append(target[position])
        func = _RESHAPES.get(call.func, call.func)
        if func is _VIEW_OF_BITS:
            args[1] = call.args[1]  # of the bits that were recorded
        if op.kind == "to_dense" and arguments[0].layout == torch.strided:
            return [arguments[0].clone()]  # a substituted value is dense already
        if precision is not None and isinstance(func, torch._ops.OpOverload):
            result = in_float64(func, args, kwargs)
        else:
            result = func(*args, **kwargs)
    finally:
        if recording:
            torch.set_grad_enabled(True)
    results = result if isinstance(result, (tuple, list)) else (result,)
    # a kernel may leave out what only a backward pass would need
    made += [torch.empty(0) if results[i] is None else results[i] for i in call.kept]
    if op.kind in _UNINITIALISED:  # whatever lies in memory may be NaN; nobody may read it anyway
        made = [torch.zeros_like(tensor) for tensor in made]
    return made


_OWN = ("aten", "prims", "prim")
_UNINITIALISED = frozenset(
    ["empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"]
)


_VIEW_OF_BITS = torch.ops.aten.view.dtype

# A view asks for the strides of the run; a substituted value has its own.
_RESHAPES = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}


def _fill(template: Any, arguments: Sequence[Native], precision: Precision) -> Any:
    """The recorded arguments with tensors back in place; a tuple becomes a list."""
    if isinstance(template, Ref):
        return template.of(arguments)
    if isinstance(template, (tuple, list)):
        return [_fill(item, arguments, precision) for item in template]
    if isinstance(template, dict):
        return {key: _fill(item, arguments, precision) for key, item in template.items()}
    if precision is not None and isinstance(template, torch.dtype) and template.is_floating_point:
        return torch.float64
    if precision is not None and isinstance(template, torch.dtype) and template.is_complex:
        return torch.complex128
    return template


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and array.is_floating_point():
        return array.detach().to(torch.float64)
    if precision is not None and array.is_complex():
        return array.detach().to(torch.complex128)
    return array.detach()


def to_numpy(array: Native) -> Array:
    tensor = array.detach().cpu()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    if tensor.dtype.is_floating_point and tensor.dtype not in _NUMPY_HAS:
        tensor = tensor.float()
    try:
        return type_cast(Array, tensor.numpy(force=True))  # conjugate, negative and zero views too
    except RuntimeError as error:
        raise ModelError(
            f"a {type(array).__name__} holds its values where they cannot be read ({error}). "
            "Return the tensors that it is made of"
        ) from error


_NUMPY_HAS = (torch.float16, torch.float32, torch.float64)  # not bfloat16 nor the 8-bit formats


def from_numpy(array: Array) -> Native:
    return torch.from_numpy(np.array(array, order="C"))


def to_bfloat16(array: Native) -> Native:
    return array.to(torch.bfloat16)


def is_foreign(op: Op) -> bool:
    return getattr(getattr(op.call, "func", None), "namespace", "aten") not in _OWN
