"""Runs ATen operators again, in the recorded precision or in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from typing import cast as type_cast

import numpy as np
import torch

from parity.errors import ModelError, NoFloat64
from parity.tape import Array, Native, Op, Precision


@dataclass(frozen=True, slots=True)
class Ref:
    """Stands for the n-th input of an operation in its recorded arguments.

    It is given as a Python number where the host had read it with `.item()`, and quantised like
    the tensor that was there where its kernel takes no other.
    """

    index: int
    as_number: bool = False
    like: torch.Tensor | None = None

    def of(self, arguments: Sequence[Any]) -> Any:
        """What is given where it stands."""
        found = arguments[self.index]
        if self.like is not None and not found.is_quantized:
            return torch.empty_like(self.like).copy_(found)
        return found.item() if self.as_number else found


@dataclass(frozen=True, slots=True)
class Call:
    """An ATen operator and its arguments, with a `Ref` for each tensor."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: tuple[int | str, ...]  # positions or names of the arguments that are written to
    kept: tuple[int, ...]  # positions of the results that are tensors of their own
    single: bool = False  # whether it compares float32 with a number, which it rounds to that
    state: bytes = b""  # of the generator that it drew by


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A tensor read again after another tensor over the same memory was written."""

    read: tuple[Any, ...]
    written: tuple[Any, ...]

    def __call__(self, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        reach = [
            1 + offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
            for shape, strides, offset in (self.read, self.written)
        ]
        memory = old.new_empty(max(reach))
        memory.as_strided(*self.read).copy_(old)
        memory.as_strided(*self.written).copy_(new)
        return memory.as_strided(*self.read).clone()


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


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
    return _wide(template, precision) if isinstance(template, torch.dtype) else template


def _wide(dtype: torch.dtype, precision: Precision) -> torch.dtype:
    if precision is not None and dtype.is_floating_point:
        return torch.float64
    return torch.complex128 if precision is not None and dtype.is_complex else dtype


def cast(array: Native, precision: Precision) -> Native:
    return array.detach().to(_wide(array.dtype, precision))


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


def is_foreign(op: Op) -> bool:
    return getattr(getattr(op.call, "func", None), "namespace", "aten") not in _OWN


# --- float64 -------------------------------------------------------------------------------------


aten = torch.ops.aten


def in_float64(func: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls an operator whose tensors are float64 already, its own dtypes following suit.

    Raises:
        NoFloat64: its kernel does not take them.
    """
    if func in _FACTORIES:
        whole = func is aten.full.default and not isinstance(args[1], float)  # integers or booleans
        if kwargs.get("dtype") is None and not whole:
            kwargs = {**kwargs, "dtype": torch.float64}
    try:
        func = _OTHERWISE_IN_FLOAT64.get(func, func)
        # a quotient of integers is of the default dtype; setting it takes as long as a small kernel
        for one in args:
            if type(one) is torch.Tensor and one.dtype is torch.float64:
                return func(*args, **kwargs)
        with _default_float64():
            return func(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:  # of a kernel, not of parity
        raise NoFloat64(str(error).split("\n")[0]) from error


@contextmanager
def _default_float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _bits(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The bits of what was recorded as another dtype: a float64 has others."""
    narrow = {2: torch.float16, 4: torch.float32}.get(dtype.itemsize)
    if tensor.dtype == torch.float64 and narrow is not None:  # of as many bits as it is read as
        tensor = tensor.to(narrow)
    found = aten.view.dtype(tensor, dtype)
    return found.double() if found.is_floating_point() else found


def _nan_to_num(
    x: torch.Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> torch.Tensor:
    """Infinities become the largest numbers of float32, as in the run, and not of float64."""
    limits = torch.finfo(torch.float32)
    most = limits.max if posinf is None else posinf
    least = limits.min if neginf is None else neginf
    found: torch.Tensor = aten.nan_to_num.default(x, nan, most, least)
    return found


def _mkldnn_rnn_layer(
    x: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor,
    b_hh: torch.Tensor,
    *states_and_settings: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """One direction of one LSTM layer; the fused kernel is float32 only."""
    h, c, reverse, *_ = states_and_settings  # one layer in one direction, whatever the others say
    steps = x.flip(0) if reverse else x
    outputs = []
    for step in steps:
        gates = torch.nn.functional.linear(step, w_ih, b_ih)
        gates = gates + torch.nn.functional.linear(h.reshape(step.shape[0], -1), w_hh, b_hh)
        i, f, g, o = gates.chunk(4, -1)
        c = (f.sigmoid() * c.reshape(i.shape) + i.sigmoid() * g.tanh()).reshape(c.shape)
        h = (o.sigmoid() * c.reshape(i.shape).tanh()).reshape(h.shape)
        outputs.append(h.reshape(i.shape))
    y = torch.stack(outputs[::-1] if reverse else outputs)
    return y, h, c, x.new_empty(0)


# Operators that have no float64, or mean something else in it.
_OTHERWISE_IN_FLOAT64: dict[Any, Callable[..., Any]] = {
    aten.mkldnn_rnn_layer.default: _mkldnn_rnn_layer,
    aten.nan_to_num.default: _nan_to_num,
    aten.view.dtype: _bits,
}

# Operators that make a tensor from no tensor, in the default dtype unless stated otherwise.
_FACTORIES = frozenset(
    [
        aten.linspace.default,
        aten.logspace.default,
        aten.zeros.default,
        aten.ones.default,
        aten.empty.memory_format,
        aten.full.default,
        aten.eye.default,
        aten.eye.m,
        aten.hann_window.default,
    ]
)
