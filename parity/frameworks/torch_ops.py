"""Tables of ATen operators: which only move values, and which need help to run in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from parity.errors import NoFloat64

aten = torch.ops.aten

MOVES = frozenset(
    """
    alias as_strided broadcast_to cat channel_shuffle chunk clone col2im_copy contiguous copy
    constant_pad_nd detach diagonal expand expand_as flatten flip fold gather im2col index
    index_select lift lift_fresh lift_fresh_copy masked_select movedim narrow permute
    pixel_shuffle pixel_unshuffle reflection_pad1d reflection_pad2d reflection_pad3d repeat
    repeat_interleave replication_pad1d replication_pad2d replication_pad3d reshape resize roll
    rot90 select slice slice_scatter select_scatter split split_with_sizes squeeze stack t take
    to_copy _to_copy transpose unbind unfold unsafe_chunk unsafe_split unsafe_split_with_sizes
    unsafe_view _unsafe_view unsqueeze view _reshape_alias _reshape_copy _unsafe_index
    take_along_dim swapaxes upsample_nearest1d upsample_nearest2d upsample_nearest3d
    """.split()
)


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
    found = aten.view.dtype(_of_width(tensor, dtype), dtype)
    return found.double() if found.is_floating_point() else found


def _of_width(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A float64 tensor in the floating dtype that is as wide as the bits it is read as."""
    narrow = {2: torch.float16, 4: torch.float32}.get(dtype.itemsize)
    return tensor if tensor.dtype != torch.float64 or narrow is None else tensor.to(narrow)


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
