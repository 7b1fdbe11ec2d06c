"""Follows a torch run: operations go onto a tape as they are dispatched, without writes and views.

A write makes a new value, and tensors that share its memory are brought up to date when they are
next read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from parity.draws.draw import Gave, Transform
from parity.errors import ModelError
from parity.frameworks import torch_draws as draws
from parity.frameworks.torch_gradients import BackwardSites
from parity.frameworks.torch_operations import signature_of
from parity.frameworks.torch_replay import Call, Ref, SharedMemory, name_of
from parity.frameworks.torch_weights import Held
from parity.recorder import Recorder
from parity.tape import Array


class Watcher(TorchDispatchMode):
    """Hands every operation to the recorder, with writes and views made plain."""

    def __init__(
        self, recorder: Recorder, named: Mapping[int, Held], differentiates: bool = False
    ) -> None:
        super().__init__()
        self.recorder = recorder
        self.named = named
        self._backward = BackwardSites() if differentiates else None
        if self._backward is not None:
            recorder.differentiated = self._backward.of_this_step
        self._state = {_storage(one.tensor) for one in named.values()} - {0}
        self._known: dict[int, torch.Tensor] = {}  # by value id, to find those that share memory
        self._writes: dict[int, list[_Write]] = {}  # by storage
        self._seen: dict[int, int] = {}  # value id: how many of its storage's writes it holds

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spares the import of torch's compiler; what is compiled runs eagerly while recording."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        plain = torch._C._disabled_torch_dispatch_impl
        if any(kind.__torch_dispatch__ is not plain for kind in types):
            return NotImplemented  # what its class makes of it comes here next
        with self.recorder.lock:
            if torch.is_inference_mode_enabled() and _is_composite(func):
                with self:  # what autograd decomposes, as a dropout, arrives whole without it
                    return func._op_dk(_COMPOSITE, *args, **(kwargs or {}))
            if func is torch.ops.aten._nested_tensor_from_mask_left_aligned.default:
                return False  # a Transformer that may not nest its sequences leaves them padded
            return self._dispatch(func, args, kwargs or {})

    def _dispatch(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        signature = signature_of(func)
        inputs: list[int] = []
        template = (self._template(args, inputs), self._template(kwargs, inputs))
        written = [
            (position, tensor)
            for position, tensor in signature.written(args, kwargs)
            if isinstance(tensor, torch.Tensor) and not tensor.is_meta
        ]
        for _, tensor in written:
            self._before_write(tensor)
        role, state = signature.role(args, kwargs), b""
        given = signature.given(args, kwargs) if role == "random" else {}
        if role == "random":
            state = draws.state_of(given)
        result = func(*args, **kwargs)
        if func in _SAME_TENSOR and inputs:
            self.recorder.alias(result, inputs[0])
            return result
        made, kept = self._results(signature.kind, result, [tensor for _, tensor in written])
        if any(tensor.is_meta for tensor in made):
            return result  # a shape without values, as forward mode works it out for zeros
        if not made:  # the host reads a number, or nothing
            if func is torch.ops.aten._local_scalar_dense.default:
                self._reads(args[0])
            if not _only_checks(self.recorder, inputs):
                self.recorder.read_by_python(inputs)
            return result
        single = func in _COMPARISONS and args[0].dtype == torch.float32
        written_to = tuple(position for position, _ in written)
        call: Any = Call(func, *template, written_to, kept, single)
        draw = None
        if role == "random":
            state = state if draws.is_drawn_by(given, made[0]) else b""
            split = draws.split(
                signature.kind, func._overloadname, given, made, len(self.recorder.ops)
            )
            if split is None:
                draw = draws.draw_of(signature.kind, given, inputs)
                call = replace(call, state=state)
            else:
                role, call, inputs = "compute", *self._separated(split, made[0], state)
        op = self.recorder.op(
            signature.kind,
            inputs,
            [(tensor, tensor.shape, name_of(tensor.dtype)) for tensor in made],
            role=role,
            attributes=signature.attributes(args, kwargs),
            call=call,
            draw=draw,
        )
        if self._backward is not None:
            self._backward.forward(op.site)
        for value, tensor in zip(op.outputs, made, strict=True):
            self._note(value, tensor)
        for (_, tensor), value in zip(written, op.outputs, strict=False):
            self._after_write(tensor, value)
        return result

    def _results(
        self, kind: str, result: Any, made: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], tuple[int, ...]]:
        """What an operation wrote (`made`) or gave, and which results are tensors of their own."""
        kept = []
        for position, tensor in enumerate(
            result if isinstance(result, (tuple, list)) else [result]
        ):
            if isinstance(tensor, torch.Tensor) and not any(tensor is other for other in made):
                made.append(tensor)
                kept.append(position)
        if any(one.is_nested and one.layout == torch.strided for one in made):
            raise ModelError(
                "a nested tensor of layout torch.strided has no shape and cannot be recorded "
                f"(at {self.recorder.site(kind).source}). Pad the sequences and mask "
                "them, or use layout=torch.jagged."
            )
        return made, tuple(kept)

    def value_of(self, tensor: torch.Tensor) -> int:
        """The value that a tensor holds now; an unknown one becomes a leaf."""
        value = self.recorder.find(tensor)
        known = self.named.get(id(tensor))
        if value is None and known is None:
            value = self._same_memory(tensor)
        if value is None and known is None:
            with self.recorder.unwatched():
                value = self.recorder.as_read(tensor, name_of(tensor.dtype))
        if value is None:
            value = self._leaf(tensor, known)
        return self._up_to_date(value, tensor) if self._writes else value

    def host_reads(self, tensor: torch.Tensor) -> None:
        """The contents of a tensor were asked for, by an operation or without."""
        with self.recorder.lock:
            if self.recorder.watches:
                self._reads(tensor)

    def _reads(self, tensor: torch.Tensor) -> None:
        value = self.recorder.find(tensor)
        value = self._same_memory(tensor) if value is None else value
        if value is None or not tensor.is_floating_point():
            return
        value = self._up_to_date(value, tensor) if self._writes else value
        with self.recorder.unwatched():
            self.recorder.host_read(value, self.recorder.adapter.to_numpy(tensor))

    def _template(self, thing: Any, inputs: list[int]) -> Any:
        """The arguments with every tensor replaced by a `Ref`; their values go to `inputs`."""
        if isinstance(thing, torch.Tensor) and not thing.is_meta:
            inputs.append(self.value_of(thing))
            return Ref(len(inputs) - 1, like=thing if thing.is_quantized else None)
        if isinstance(thing, float):
            read = self.recorder.reads.scalar(thing)
            if read is None:
                return thing
            inputs.append(read)
            return Ref(len(inputs) - 1, as_number=True)
        if isinstance(thing, (tuple, list)):
            return type(thing)([self._template(item, inputs) for item in thing])
        if isinstance(thing, dict):
            return {key: self._template(item, inputs) for key, item in thing.items()}
        return thing

    def _note(self, value: int, tensor: torch.Tensor) -> None:
        self._known[value] = tensor
        if self._writes:
            self._seen[value] = len(self._writes.get(_storage(tensor), ()))

    def _same_memory(self, tensor: torch.Tensor) -> int | None:
        """A known value that is the same memory under another Python object (`.data`, autograd)."""
        place = _place(tensor)
        if not place[0]:
            return None
        for value, known in reversed(self._known.items()):
            if known.dtype == tensor.dtype and _place(known) == place:
                self.recorder.alias(tensor, value)
                return value
        for held in self.named.values():
            if held.tensor.dtype == tensor.dtype and _place(held.tensor) == place:
                value = self._leaf(held.tensor, held)
                self.recorder.alias(tensor, value)
                return value
        return None

    def _leaf(self, tensor: torch.Tensor, held: Held | None) -> int:
        kind, name = (held.kind, held.names[0]) if held else ("constant", "")
        with self.recorder.unwatched():
            value = self.recorder.leaf(tensor, kind, name, tensor.shape, name_of(tensor.dtype))
        self._note(value, tensor)
        return value

    def _before_write(self, tensor: torch.Tensor) -> None:
        """Saves what a write would destroy: recorded values."""
        storage = _storage(tensor)
        with torch.no_grad():
            for number, known in self._known.items():
                if self.recorder.recorded[number] is known and _storage(known) == storage:
                    self.recorder.recorded[number] = known.detach().clone()
            for value in self.recorder.values:
                if value.kind == "input" and value.id not in self._known:
                    given = self.recorder.recorded[value.id]
                    if _storage(given) == storage:
                        self._known[value.id] = given
                        self.recorder.recorded[value.id] = given.detach().clone()

    def _after_write(self, tensor: torch.Tensor, value: int) -> None:
        writes = self._writes.setdefault(_storage(tensor), [])
        writes.append(_Write(value, _geometry(tensor)))
        self._seen[value] = len(writes)
        if _storage(tensor) in self._state:  # the model's own tensor, which is put back later
            self.recorder.recorded[value] = tensor.detach().clone()

    def _up_to_date(self, value: int, tensor: torch.Tensor) -> int:
        """Adds to the tape what later writes through other tensors did to this one's memory."""
        writes = self._writes.get(_storage(tensor), [])
        for write in writes[self._seen.get(value, 0) :]:
            if write.geometry == _geometry(tensor):
                value = write.value
                self.recorder.alias(tensor, value)
                continue
            op = self.recorder.op(
                "view_of_written",
                (value, write.value),
                [(tensor, tensor.shape, name_of(tensor.dtype))],
                role="move",
                call=SharedMemory(_geometry(tensor), write.geometry),
            )
            value = op.outputs[0]
            self.recorder.recorded[value] = tensor.detach().clone()
            self._known[value] = tensor
        self._seen[value] = len(writes)
        return value

    def _separated(
        self, split: draws.Split, result: torch.Tensor, state: bytes
    ) -> tuple[Transform, list[int]]:
        """Records the draw of a kernel and what comes before its last step, which is returned."""

        def add(kind: str, inputs: list[int], made: Array, **more: Any) -> int:
            tensor = torch.from_numpy(np.array(made, order="C"))
            output = (tensor, tensor.shape, name_of(tensor.dtype))
            return self.recorder.op(kind, inputs, [output], **more).outputs[0]

        gave = Gave(np.array(self.recorder.adapter.to_numpy(result)), state)
        kind = f"{split.draw.name}_draw"
        noise = add(kind, [], split.noise, role="random", draw=split.draw, call=gave)
        read = [noise]
        for step in split.before:
            assert step.makes is not None
            inputs = [self.value_of(tensor) for tensor in step.reads]
            read.append(add(step.kind, inputs, step.makes, call=Transform(step.function)))
        read += [self.value_of(tensor) for tensor in split.last.reads]
        return Transform(split.last.function), read


@cache
def _is_composite(func: Any) -> bool:
    if not isinstance(func, torch._ops.OpOverload):
        return False
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), _COMPOSITE))


_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


def _only_checks(recorder: Recorder, values: Sequence[int]) -> bool:
    """Whether torch reads a number only to raise where it is out of range, as `one_hot` does."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith("torch.distributions."):
        return True
    makers = [recorder.values[value].op for value in values]
    return all(maker >= 0 and recorder.ops[maker].kind == "aminmax" for maker in makers)


_INSIDE = ("parity.", "torch.utils._python_dispatch", "torch._ops", "torch._tensor", "torch._C")


@dataclass(frozen=True, slots=True)
class _Write:
    value: int
    geometry: tuple[Any, ...]


# The same values in the same memory: autograd adds these, they are no operations of the model's.
_SAME_TENSOR = frozenset([torch.ops.aten.detach.default, torch.ops.aten.alias.default])


_COMPARISONS = frozenset(
    getattr(torch.ops.aten, name).Scalar for name in ("gt", "ge", "lt", "le", "eq", "ne")
)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr()) if tensor.layout == torch.strided else 0


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset()


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    if tensor.layout != torch.strided:
        return (0,)  # it lies in several places
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()
