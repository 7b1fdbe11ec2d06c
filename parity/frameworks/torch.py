"""torch: modules and functions, recorded as the ATen operations that really ran.

A `TorchDispatchMode` sees every operation below autograd, so decompositions, `functional` calls,
operators and layers of any library are all the same: `torch_watcher`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np
import torch

from parity.errors import InputError, ModelError
from parity.frameworks import invoke
from parity.frameworks.invoke import no_tensors, run, takes_as_given
from parity.frameworks.torch_call import name_of
from parity.frameworks.torch_reads import seen
from parity.frameworks.torch_replay import cast as cast
from parity.frameworks.torch_replay import execute as execute
from parity.frameworks.torch_replay import from_numpy as from_numpy
from parity.frameworks.torch_replay import is_foreign as is_foreign
from parity.frameworks.torch_replay import to_bfloat16 as to_bfloat16
from parity.frameworks.torch_replay import to_numpy as to_numpy
from parity.frameworks.torch_traits import TRAITS as TRAITS
from parity.frameworks.torch_watcher import Watcher
from parity.frameworks.torch_words import WORDS as WORDS
from parity.inputs.binding import bound
from parity.keeping import left_as_it_was, was_built
from parity.model import flatten_inputs, map_arrays
from parity.outputs import flatten as structure
from parity.recorder import Recorder, discover
from parity.tape import Array, LeafKind, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.frameworks.protocol import Framework
    from parity.model import Inputs, Model

name = "torch"

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    return isinstance(obj, (torch.nn.Module, torch.jit.ScriptFunction))


def signed(obj: Any) -> Any:
    """See `Framework.signed`."""
    return obj.forward if _is_layer(obj) else obj


def _is_layer(obj: object) -> bool:
    return isinstance(obj, torch.nn.Module)


# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Runs the model under a dispatch mode; see `Framework.record`."""
    built = was_built(model.obj)
    tape = _record(model, inputs)
    if was_built(model.obj) == built:
        return tape
    again = _record(model, inputs)  # its first call made weights: another shows what they do
    return again if invoke.same_outputs(tape, again) else tape


def _record(model: Model, inputs: Inputs) -> Tape:
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
    tensors = _given(model, modules, inputs)
    ids = {
        path: recorder.leaf(tensor, "input", path, tensor.shape, name_of(tensor.dtype))
        for path, tensor in flatten_inputs(tensors).items()
    }
    args, kwargs = bound(model, tensors)
    mode = Watcher(recorder, _named_tensors(modules))
    host = recorder.host.watching(model.obj, *modules.values())
    with _set_up(model):
        with host, seen(mode), mode:
            result = run(model, lambda: model.obj(*args, **kwargs))
            outputs = run(model, lambda: structure.flatten(result, _is_tensor))
        found = {
            path: recorder.output(item, lambda one: mode.value_of(_as_tensor(one)))
            for path, item in outputs.items()
        }
        for value in found.values():
            if recorder.values[value].kind != "computed":  # it may lie where all is put back
                recorder.recorded[value] = recorder.recorded[value].detach().clone()
    if outputs.none_of_its_own(recorder.ops):
        raise no_tensors(model, result)
    return recorder.tape(model.name, ids, found, outputs)


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """Runs the model without a dispatch mode; see `Framework.plain`."""
    modules = _modules(model.obj)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        args, kwargs = bound(model, _given(model, modules, inputs))
        with _set_up(model, as_called):
            result = run(model, lambda: model.obj(*args, **kwargs))
            flat = structure.flatten(result, _is_tensor)
            return flat.as_arrays(lambda item: to_numpy(_as_tensor(item)))

    return outputs


@contextlib.contextmanager
def other_random_state(turn: int) -> Iterator[None]:
    """See `Framework.other_random_state`."""
    before = torch.get_rng_state()
    try:
        torch.manual_seed(int(torch.randint(1 << 62, ())) + turn)
        with invoke.other_random_state(turn):
            yield
    finally:
        torch.set_rng_state(before)


def _is_tensor(thing: object) -> bool:
    return isinstance(thing, torch.Tensor)


def _as_tensor(item: Any) -> torch.Tensor:
    """An output as a tensor; an array that torch can share keeps its memory, to be known by it."""
    if isinstance(item, torch.Tensor):
        return item
    array = np.asarray(item)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    shared = array.flags.writeable and all(step >= 0 for step in array.strides)
    return torch.as_tensor(array if shared else np.array(array, order="C"))


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


def _given(model: Model, modules: dict[str, torch.nn.Module], inputs: Inputs) -> Any:
    """Inputs as tensors: in float32, or where the model takes none in the dtype of its weights."""
    dtype, device = _dtype_and_device(modules.values())

    def tensors(dtype: torch.dtype) -> Any:
        return map_arrays(lambda array: _to_input(array, dtype, device), inputs)

    def call() -> None:
        args, kwargs = bound(model, tensors(torch.float32))
        with _set_up(model):
            model.obj(*args, **kwargs)

    if dtype != torch.float32 and takes_as_given(model, call):
        dtype = torch.float32
    return tensors(dtype)


def _dtype_and_device(modules: Iterable[torch.nn.Module]) -> tuple[torch.dtype, torch.device]:
    """Of the first floating parameter, or the first buffer."""
    modules = list(modules)
    for held in ([one._parameters for one in modules], [one._buffers for one in modules]):
        for tensor in (tensor for tensors in held for tensor in tensors.values()):
            if tensor is not None and tensor.is_floating_point():
                return tensor.dtype, tensor.device
    return torch.get_default_dtype(), torch.device("cpu")


def _to_input(array: Array, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    try:
        tensor = torch.from_numpy(np.array(array, order="C"))  # a copy: models may write to it
    except TypeError as error:  # float128
        raise InputError(f"torch has no {array.dtype}: give inputs as float64.") from error
    return tensor.to(device, dtype if tensor.is_floating_point() else None)


@contextlib.contextmanager
def _set_up(model: Model, as_called: bool = False) -> Iterator[None]:
    """Sets the mode, and leaves all as it was afterwards.

    Args:
        as_called: as its user calls it, which may be compiled.
    """
    eager: Any = contextlib.nullcontext()
    if not as_called and "torch._dynamo" in sys.modules:
        eager = torch.compiler.set_stance("force_eager")
    with left_as_it_was(model.obj), eager:
        roots = [model.obj] if _is_layer(model.obj) else discover(model.obj, _is_layer).values()
        for root in roots:
            with contextlib.suppress(NotImplementedError):  # an exported graph has but one
                root.train(model.mode == "train")  # a module's own may keep a norm frozen
        yield


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
        name_of(tensor.dtype),
        kind,
        tensor.requires_grad,
        lambda: to_numpy(tensor),
        write,
        kept,
        tensor,
    )


# --- versions ---------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    return {
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
        "default dtype": name_of(torch.get_default_dtype()),
        "mkldnn": str(torch.backends.mkldnn.is_available()),
        "tf32 matmul": str(torch.backends.cuda.matmul.allow_tf32),
        "tf32 cudnn": str(torch.backends.cudnn.allow_tf32),
        "deterministic": str(torch.are_deterministic_algorithms_enabled()),
        "cuda": str(torch.version.cuda if torch.cuda.is_available() else "none"),
    }


_ADAPTER = type_cast("Framework", sys.modules[__name__])
