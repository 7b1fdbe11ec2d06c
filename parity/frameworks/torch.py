"""torch: modules and functions, recorded as the ATen operations that really ran.

A `TorchDispatchMode` sees every operation below autograd, so decompositions, `functional` calls,
operators and layers of any library are all the same. What ATen does in place or through views is
turned into plain values here: a write makes a new value, and tensors that share its memory are
brought up to date when they are next read.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from parity import outputs as structure
from parity.errors import ModelError
from parity.frameworks.running import no_tensors, preserved_random_state, run
from parity.frameworks.torch_ops import MOVES, in_float64
from parity.model import bind, flatten_inputs, map_arrays
from parity.recorder import Recorder, discover
from parity.tape import Array, LeafKind, Native, Op, Precision, Role, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.frameworks import Framework
    from parity.model import Inputs, Model

name = "torch"

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    return isinstance(obj, (torch.nn.Module, torch.jit.ScriptFunction))


def _is_layer(obj: object) -> bool:
    return isinstance(obj, torch.nn.Module)


# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Runs the model once under a dispatch mode; see `Framework.record`."""
    modules = _modules(model.obj)
    for path, module in modules.items():
        if isinstance(module, torch.jit.ScriptModule):
            raise ModelError(
                f"{path or model.name} is scripted (torch.jit): its operations cannot be seen. "
                "Hand in the module it was made from."
            )
        if any(
            map(
                torch.nn.parameter.is_lazy,
                (*module._parameters.values(), *module._buffers.values()),
            )
        ):
            raise ModelError(
                f"{path or model.name} is lazy: its parameters have no shape yet. "
                "Call the model once before comparing it."
            )
    if isinstance(model.obj, torch.jit.ScriptFunction):
        raise ModelError(f"{model.name} is scripted (torch.jit): hand in the Python function.")
    root = model.obj if _is_layer(model.obj) else None
    recorder = Recorder(_ADAPTER, _is_layer, {id(m): path for path, m in modules.items()}, root)
    dtype, device = _dtype_and_device(modules.values())
    tensors = map_arrays(lambda array: _to_input(array, dtype, device), inputs)
    ids = {
        path: recorder.leaf(tensor, "input", path, tensor.shape, _name_of(tensor.dtype))
        for path, tensor in flatten_inputs(tensors).items()
    }
    target = model.obj.forward if root is not None else model.obj
    args, kwargs = bind(target, tensors)
    mode = _RecordingMode(recorder, _named_tensors(modules))
    with _left_as_it_was(model, modules, mode.saved), mode:
        result = run(model, lambda: model.obj(*args, **kwargs))
    outputs = structure.flatten(result, lambda thing: isinstance(thing, torch.Tensor))
    if not outputs:
        raise no_tensors(model, result)
    found = {
        path: mode.value_of(tensor if isinstance(tensor, torch.Tensor) else torch.as_tensor(tensor))
        for path, tensor in outputs.items()
    }
    return recorder.tape(model.name, ids, found)


def plain(model: Model) -> Callable[[Inputs], dict[str, Array]]:
    """Runs the model without a dispatch mode; see `Framework.plain`."""
    modules = _modules(model.obj)
    dtype, device = _dtype_and_device(modules.values())
    target = model.obj.forward if _is_layer(model.obj) else model.obj
    held = [tensor for _, _, tensor in _named_tensors(modules).values()]
    # autograd counts the writes to a tensor, but not those of a batch norm to its statistics
    counted = {id(tensor) for module in modules.values() for tensor in module.parameters(False)}
    saved = [(tensor, tensor.detach().clone(), tensor._version) for tensor in held]

    def outputs(inputs: Inputs) -> dict[str, Array]:
        tensors = map_arrays(lambda array: _to_input(array, dtype, device), inputs)
        args, kwargs = bind(target, tensors)
        written: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        with _left_as_it_was(model, modules, written):
            result = run(model, lambda: model.obj(*args, **kwargs))
            flat = structure.flatten(result, lambda thing: isinstance(thing, torch.Tensor))
            found = {path: np.array(to_numpy(torch.as_tensor(a))) for path, a in flat.items()}
            for tensor, before, version in saved:
                if id(tensor) not in counted or tensor._version != version:
                    written[id(tensor)] = (tensor, before)
        return found

    return outputs


class _RecordingMode(TorchDispatchMode):
    """Hands every operation to the recorder, with writes and views made plain."""

    def __init__(
        self, recorder: Recorder, named: dict[int, tuple[LeafKind, str, torch.Tensor]]
    ) -> None:
        super().__init__()
        self.recorder = recorder
        self.named = named
        self.saved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # state before a write to it
        self._state = {t.untyped_storage().data_ptr(): t for _, _, t in named.values()}
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
        kwargs = kwargs or {}
        signature = _signature(func)
        inputs: list[int] = []
        template = (
            _template(args, inputs, self.value_of),
            _template(kwargs, inputs, self.value_of),
        )
        written = [
            (position, tensor)
            for position, tensor in signature.written(args, kwargs)
            if isinstance(tensor, torch.Tensor)
        ]
        for _, tensor in written:
            self._before_write(tensor)
        result = func(*args, **kwargs)
        if func in _SAME_TENSOR:
            self.recorder.alias(result, inputs[0])
            return result
        made = [tensor for _, tensor in written]
        kept = []  # which of the results are tensors of their own
        for position, tensor in enumerate(
            result if isinstance(result, (tuple, list)) else [result]
        ):
            if isinstance(tensor, torch.Tensor) and not any(tensor is other for other in made):
                made.append(tensor)
                kept.append(position)
        if not made:
            return result  # a number read by the host, or nothing
        call = _Call(func, *template, tuple(position for position, _ in written), tuple(kept))
        role = signature.role(args, kwargs)
        if func is torch.ops.aten.native_dropout.default and args[2] is not False:
            role, call, inputs, made = self._dropout_mask(call, inputs, made)
        op = self.recorder.op(
            signature.kind,
            inputs,
            [(tensor, tensor.shape, _name_of(tensor.dtype)) for tensor in made],
            role=role,
            attributes=signature.attributes(args, kwargs),
            call=call,
        )
        for value, tensor in zip(op.outputs, made, strict=True):
            self._note(value, tensor)
        for (_, tensor), value in zip(written, op.outputs, strict=False):
            self._after_write(tensor, value)
        return result

    def value_of(self, tensor: torch.Tensor) -> int:
        """The value that a tensor holds now; an unknown one becomes a leaf."""
        value = self.recorder.find(tensor)
        known = self.named.get(id(tensor))
        if value is None and known is None:
            value = self._same_memory(tensor)
        if value is None:
            kind, path, _ = known or ("constant", "", None)
            value = self.recorder.leaf(tensor, kind, path, tensor.shape, _name_of(tensor.dtype))
            self._note(value, tensor)
        return self._up_to_date(value, tensor) if self._writes else value

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
        for kind, path, known in self.named.values():
            if known.dtype == tensor.dtype and _place(known) == place:
                value = self.recorder.leaf(known, kind, path, known.shape, _name_of(known.dtype))
                self._note(value, known)
                self.recorder.alias(tensor, value)
                return value
        return None

    def _before_write(self, tensor: torch.Tensor) -> None:
        """Saves what a write would destroy: the model's own state, and recorded values."""
        storage = _storage(tensor)
        state = self._state.get(storage)
        with torch.no_grad():
            if state is not None and id(state) not in self.saved:
                self.saved[id(state)] = (state, state.detach().clone())
            for value, known in self._known.items():
                if self.recorder.recorded[value] is known and _storage(known) == storage:
                    self.recorder.recorded[value] = known.detach().clone()
            for path, value in self._inputs_sharing(storage):
                self.recorder.recorded[value] = path.detach().clone()

    def _inputs_sharing(self, storage: int) -> Iterator[tuple[torch.Tensor, int]]:
        for value in self.recorder.values:
            if value.kind == "input" and value.id not in self._known:
                tensor = self.recorder.recorded[value.id]
                if _storage(tensor) == storage:
                    self._known[value.id] = tensor
                    yield tensor, value.id

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
                [(tensor, tensor.shape, _name_of(tensor.dtype))],
                role="move",
                call=_SharedMemory(_geometry(tensor), write.geometry),
            )
            value = op.outputs[0]
            self.recorder.recorded[value] = tensor.detach().clone()
            self._known[value] = tensor
        self._seen[value] = len(writes)
        return value

    def _dropout_mask(
        self, call: _Call, inputs: list[int], made: list[torch.Tensor]
    ) -> tuple[Role, _Call, list[int], list[torch.Tensor]]:
        """Splits dropout into the draw of its mask and the product that a replay can repeat."""
        output, mask = made
        draw = self.recorder.op(
            "dropout_mask", (), [(mask, mask.shape, "bool")], role="random", call=call
        )
        rate = call.args[1]
        scale = 0.0 if rate == 1 else 1 / (1 - rate)
        product = _Call(_scaled_mask, (_Ref(0), _Ref(1), scale), {}, (), (0,))
        return "compute", product, [inputs[0], draw.outputs[0]], [output]


def _scaled_mask(x: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return x * mask * scale


@dataclass(frozen=True, slots=True)
class _Write:
    value: int
    geometry: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Ref:
    """Stands for the n-th input of an operation in its recorded arguments."""

    index: int


@dataclass(frozen=True, slots=True)
class _Call:
    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: tuple[int | str, ...]  # positions or names of the arguments that are written to
    kept: tuple[int, ...]  # positions of the results that are tensors of their own


@dataclass(frozen=True, slots=True)
class _SharedMemory:
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


# The same numbers in the same memory: autograd adds these, they are no operations of the model's.
_SAME_TENSOR = frozenset([torch.ops.aten.detach.default, torch.ops.aten.alias.default])


class _Signature:
    """What an ATen operator's schema says, looked up once for each."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.names = [argument.name for argument in schema.arguments]
        self.writes = [
            index
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        # writes its running statistics without saying so in its schema
        self.batch_norm = schema.name in ("aten::native_batch_norm", "aten::_native_batch_norm")
        bare = schema.name.split("::")[-1]
        self.kind = bare.strip("_")
        self._role: Role = "move" if bare.rstrip("_") in MOVES else "compute"
        if torch.Tag.nondeterministic_seeded in func.tags:
            self._role = "random"

    def role(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Role:
        """Random only if it draws: attention with a dropout rate of zero does not."""
        if self._role == "random" and "dropout_p" in self.names:
            index = self.names.index("dropout_p")
            rate = args[index] if index < len(args) else kwargs.get("dropout_p", 0.0)
            return "random" if rate else "compute"
        return self._role

    def written(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[int | str, Any]]:
        if self.batch_norm and args[5]:
            yield from ((index, args[index]) for index in (3, 4))
        for index in self.writes:
            if index < len(args):
                yield index, args[index]
            elif self.names[index] in kwargs:
                yield self.names[index], kwargs[self.names[index]]

    def attributes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are no tensors, by name; for reports."""
        return {
            name: value
            for name, value in (*zip(self.names, args, strict=False), *kwargs.items())
            if isinstance(value, (int, float, str)) or type(value) is list and _plain(value)
        }


def _plain(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


@functools.cache
def _signature(func: Any) -> _Signature:
    return _Signature(func)


def _template(thing: Any, inputs: list[int], value_of: Any) -> Any:
    """The arguments with every tensor replaced by a `_Ref`, whose values are added to `inputs`."""
    if isinstance(thing, torch.Tensor):
        inputs.append(value_of(thing))
        return _Ref(len(inputs) - 1)
    if isinstance(thing, (tuple, list)):
        return type(thing)([_template(item, inputs, value_of) for item in thing])
    if isinstance(thing, dict):
        return {key: _template(item, inputs, value_of) for key, item in thing.items()}
    return thing


def _modules(obj: Any) -> dict[str, torch.nn.Module]:
    """Modules by path: those of the model, or those that a function or object holds."""
    if _is_layer(obj):
        return dict(obj.named_modules())
    return {
        f"{held}.{path}" if path else held: module
        for held, root in discover(obj, _is_layer).items()
        for path, module in root.named_modules()
    }


def _named_tensors(
    modules: dict[str, torch.nn.Module],
) -> dict[int, tuple[LeafKind, str, torch.Tensor]]:
    """Parameters, buffers and plain tensor attributes by identity, with their names."""
    found: dict[int, tuple[LeafKind, str, torch.Tensor]] = {}
    for path, module in modules.items():
        held: list[tuple[LeafKind, dict[str, Any]]] = [
            ("parameter", module._parameters),
            ("buffer", module._buffers),
            ("constant", module.__dict__),
        ]
        for kind, tensors in held:
            for own, tensor in tensors.items():
                if isinstance(tensor, torch.Tensor):
                    full = f"{path}.{own}" if path else own
                    found.setdefault(id(tensor), (kind, full, tensor))
    return found


def _dtype_and_device(modules: Any) -> tuple[torch.dtype, torch.device]:
    """Of the first floating parameter, which the inputs follow."""
    for module in modules:
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None and tensor.is_floating_point():
                return tensor.dtype, tensor.device
    return torch.get_default_dtype(), torch.device("cpu")


def _to_input(array: Array, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(np.array(array, order="C"))  # a copy: models may write to it
    return tensor.to(device, dtype if tensor.is_floating_point() else None)


@contextlib.contextmanager
def _left_as_it_was(
    model: Model,
    modules: dict[str, torch.nn.Module],
    saved: dict[int, tuple[torch.Tensor, torch.Tensor]],
) -> Iterator[None]:
    """Sets the mode, and afterwards puts back flags, random state, and the tensors in `saved`."""
    flags = [(module, module.training) for module in modules.values()]
    buffers = [(module._buffers, dict(module._buffers)) for module in modules.values()]
    random = torch.get_rng_state()
    eager: Any = contextlib.nullcontext()
    if "torch._dynamo" in sys.modules:
        eager = torch.compiler.set_stance("force_eager")
    try:
        for module, _ in flags:
            module.training = model.mode == "train"
        with preserved_random_state(), eager:
            yield
    finally:
        torch.set_rng_state(random)
        for module, flag in flags:
            module.training = flag
        for current, before in buffers:
            current.update(before)
        with torch.no_grad():
            for tensor, before_write in saved.values():
                tensor.detach().copy_(before_write)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset()


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


# --- tensors -----------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    names: dict[int, list[str]] = {}
    held: dict[int, tuple[LeafKind, torch.Tensor, float | None]] = {}
    for path, module in _modules(obj).items():
        own: list[tuple[LeafKind, dict[str, Any]]] = [
            ("parameter", module._parameters),
            ("buffer", module._buffers),
        ]
        for kind, found in own:
            for key, tensor in found.items():
                if tensor is not None:
                    held.setdefault(id(tensor), (kind, tensor, _kept(module, key)))
                    names.setdefault(id(tensor), []).append(f"{path}.{key}" if path else key)
    return [_tensor(tuple(names[key]), *held[key]) for key in held]


def _kept(module: torch.nn.Module, key: str) -> float | None:
    """What is left of a running statistic; torch's momentum is the share of the new one."""
    momentum = getattr(module, "momentum", None) if key.startswith("running_") else None
    return None if momentum is None else 1.0 - float(momentum)


def _tensor(
    names: tuple[str, ...], kind: LeafKind, tensor: torch.Tensor, kept: float | None
) -> Tensor:
    def write(array: Array) -> None:
        with torch.no_grad():
            tensor.copy_(from_numpy(array))

    return Tensor(
        names,
        tuple(tensor.shape),
        _name_of(tensor.dtype),
        kind,
        tensor.requires_grad,
        lambda: to_numpy(tensor),
        write,
        kept,
        tensor,
    )


# --- replay ------------------------------------------------------------------------------------


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Calls the ATen operator again, on copies of what it would write to."""
    call = op.call
    with torch.no_grad():
        if isinstance(call, _SharedMemory):
            return [call(*arguments)]
        args = _fill(call.args, arguments, precision)
        kwargs = _fill(call.kwargs, arguments, precision)
        made = []
        for position in call.written:
            target = args if isinstance(position, int) else kwargs
            target[position] = target[position].clone()
            made.append(target[position])
        func = _RESHAPES.get(call.func, call.func)
        if precision is not None and isinstance(func, torch._ops.OpOverload):
            result = in_float64(func, args, kwargs)
        else:
            result = func(*args, **kwargs)
    results = result if isinstance(result, (tuple, list)) else (result,)
    # a kernel may leave out what only a backward pass would need
    made += [torch.empty(0) if results[i] is None else results[i] for i in call.kept]
    if op.kind in _UNINITIALISED:  # whatever lies in memory may be NaN; nobody may read it anyway
        made = [torch.zeros_like(tensor) for tensor in made]
    return made


_UNINITIALISED = frozenset(
    ["empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"]
)


# A view asks for the strides of the run; a value that was put in has its own.
_RESHAPES = {
    torch.ops.aten.view.default: torch.ops.aten.reshape.default,
    torch.ops.aten._unsafe_view.default: torch.ops.aten.reshape.default,
}


def _fill(template: Any, arguments: Sequence[Native], precision: Precision) -> Any:
    """The recorded arguments with tensors back in place; a tuple becomes a list."""
    if isinstance(template, _Ref):
        return arguments[template.index]
    if isinstance(template, (tuple, list)):
        return [_fill(item, arguments, precision) for item in template]
    if isinstance(template, dict):
        return {key: _fill(item, arguments, precision) for key, item in template.items()}
    if precision is not None and isinstance(template, torch.dtype) and template.is_floating_point:
        return torch.float64
    return template


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and array.is_floating_point():
        return array.detach().to(torch.float64)
    if precision is not None and array.is_complex():
        return array.detach().to(torch.complex128)
    return array.detach()


def to_numpy(array: Native) -> Array:
    tensor = array.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return type_cast(Array, tensor.resolve_conj().resolve_neg().numpy())


def from_numpy(array: Array) -> Native:
    return torch.from_numpy(np.array(array, order="C"))


def to_bfloat16(array: Native) -> Native:
    return array.to(torch.bfloat16)


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def versions() -> dict[str, str]:
    return {
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
        "default dtype": _name_of(torch.get_default_dtype()),
        "mkldnn": str(torch.backends.mkldnn.is_available()),
        "tf32 matmul": str(torch.backends.cuda.matmul.allow_tf32),
        "tf32 cudnn": str(torch.backends.cudnn.allow_tf32),
        "deterministic": str(torch.are_deterministic_algorithms_enabled()),
        "cuda": str(torch.version.cuda if torch.cuda.is_available() else "none"),
    }


_ADAPTER = type_cast("Framework", sys.modules[__name__])
