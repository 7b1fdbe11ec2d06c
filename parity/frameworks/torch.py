"""torch: modules and functions, recorded as the ATen operations that really ran.

A `TorchDispatchMode` sees every operation below autograd, so decompositions, `functional` calls,
operators and layers of any library are all the same: `torch_watcher`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np
import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._python_dispatch import TorchDispatchMode

from parity.code_owners import is_librarys
from parity.errors import InputError, ModelError
from parity.frameworks import invoke
from parity.frameworks.invoke import no_tensors, run, takes_as_given
from parity.frameworks.protocol import Traits
from parity.frameworks.threads import followed
from parity.frameworks.torch_gradients import differentiable, gradients
from parity.frameworks.torch_keeping import STATE
from parity.frameworks.torch_operations import SETTINGS, padding, product, window
from parity.frameworks.torch_operations import WORDS as WORDS
from parity.frameworks.torch_replay import cast as cast
from parity.frameworks.torch_replay import execute as execute
from parity.frameworks.torch_replay import from_numpy as from_numpy
from parity.frameworks.torch_replay import is_foreign, name_of
from parity.frameworks.torch_replay import to_numpy as to_numpy
from parity.frameworks.torch_watcher import Watcher
from parity.frameworks.torch_weights import (
    WEIGHTS,
    held_by,
    held_in_dicts,
    is_layer,
    modules_of,
    parameters,
    roots_of,
)
from parity.frameworks.torch_weights import tensors as tensors
from parity.inputs.binding import bound
from parity.keeping import left_as_it_was, was_built
from parity.model import flatten_inputs, map_arrays
from parity.outputs import flatten as structure
from parity.outputs.gradients import Noted
from parity.outputs.tensors import DENSE, ITSELF, Items
from parity.patching import patched
from parity.recorder import Recorder
from parity.tape import Array, Tape

if TYPE_CHECKING:
    from parity.frameworks.protocol import Framework
    from parity.model import Inputs, Model

name = "torch"

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    return isinstance(obj, (torch.nn.Module, torch.jit.ScriptFunction))


def signed(obj: Any) -> Any:
    return obj.forward if is_layer(obj) else obj


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
    modules = modules_of(model.obj)
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
    root = model.obj if is_layer(model.obj) else None
    recorder = Recorder(_ADAPTER, is_layer, {id(m): path for path, m in modules.items()}, root)
    tensors = _given(model, modules, inputs)
    ids = {
        path: recorder.leaf(tensor, "input", path, tensor.shape, name_of(tensor.dtype))
        for path, tensor in flatten_inputs(tensors).items()
    }
    args, kwargs = bound(model, tensors)
    named = {**held_in_dicts(model.obj), **held_by(modules, attributes=True)}
    mode = Watcher(recorder, named, model.cotangents is not None)
    host = recorder.host.watching(model.obj, *modules.values())

    def noted(name: str, tensor: torch.Tensor) -> None:
        ids[name] = recorder.leaf(tensor, "input", name, tensor.shape, name_of(tensor.dtype))

    with _set_up(model):
        with host, _seen(mode), mode:
            result, outputs = _called(model, tensors, args, kwargs, noted)
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
    modules = modules_of(model.obj)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        tensors = _given(model, modules, inputs)
        args, kwargs = bound(model, tensors)
        with _set_up(model, as_called):
            _, flat = _called(model, tensors, args, kwargs)
            return flat.as_arrays(lambda item: to_numpy(_as_tensor(item)))

    return outputs


def _called(
    model: Model,
    inputs: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    noted: Noted = lambda name, tensor: None,
) -> tuple[Any, structure.Outputs]:
    """What a model gives, and its tensors, with their gradients where these are asked for."""

    def call() -> tuple[Any, structure.Outputs]:
        result = model.obj(*args, **kwargs)
        return result, structure.flatten(result, _is_tensor)

    if model.cotangents is None:
        return run(model, call)
    with differentiable(inputs):
        result, flat = run(model, call)
        own, by = tensors(model.obj), model.cotangents
        found = run(model, lambda: gradients(flat, inputs, own, by, noted))
        flat.add_gradients(found, _is_tensor)
    return result, flat


@contextlib.contextmanager
def other_random_state(turn: int) -> Iterator[None]:
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


def _given(model: Model, modules: dict[str, torch.nn.Module], inputs: Inputs) -> Any:
    """Inputs as tensors: in float32, or where the model takes none in the dtype of its weights."""
    dtype, device = _dtype_and_device(modules)

    def given(dtype: torch.dtype) -> Any:
        return map_arrays(lambda array: _to_input(array, dtype, device), inputs)

    def call() -> None:
        args, kwargs = bound(model, given(torch.float32))
        with _set_up(model):
            model.obj(*args, **kwargs)

    if dtype != torch.float32 and takes_as_given(model, call):
        dtype = torch.float32
    return given(dtype)


def _dtype_and_device(modules: Mapping[str, torch.nn.Module]) -> tuple[torch.dtype, torch.device]:
    """Of the first floating parameter, or the first buffer."""
    held = held_by(modules).values()
    for kind in ("parameter", "buffer"):
        for one in held:
            if one.kind == kind and one.tensor.is_floating_point():
                return one.tensor.dtype, one.tensor.device
    return torch.get_default_dtype(), torch.device("cpu")


def _to_input(array: Array, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    try:
        tensor = torch.from_numpy(np.array(array, order="C"))  # a copy: models may write to it
    except TypeError as error:  # float128
        raise InputError(f"torch has no {array.dtype}: give inputs as float64.") from error
    return tensor.to(device, dtype if tensor.is_floating_point() else None)


@contextlib.contextmanager
def _set_up(model: Model, as_called: bool = False) -> Iterator[None]:
    """Sets the mode, and leaves all as it was; `as_called` by its user it may be compiled."""
    eager: Any = contextlib.nullcontext()
    if not as_called and "torch._dynamo" in sys.modules:
        eager = torch.compiler.set_stance("force_eager")
    with left_as_it_was(model.obj), eager:
        for root in roots_of(model.obj):
            with contextlib.suppress(NotImplementedError):  # an exported graph has but one
                root.train(model.mode == "train")  # a module's own may keep a norm frozen
        yield


# --- what no operation shows ---------------------------------------------------------------------

# How the host reads a tensor without an operation; `.item()` is one.
_READERS = ("numpy", "tolist")


@contextlib.contextmanager
def _seen(watcher: Watcher) -> Iterator[None]:
    """Reports to a watcher what the host reads, states, and what other threads do."""
    readers = {name: _reported(getattr(torch.Tensor, name), watcher) for name in _READERS}
    hook = register_module_forward_hook(functools.partial(_gave, watcher))
    try:
        with patched(torch.Tensor, **readers), followed(lambda: _InThread(watcher)):
            yield
    finally:
        hook.remove()
        watcher.recorder.done = True


def _gave(watcher: Watcher, module: torch.nn.Module, given: Any, result: Any) -> None:
    """A recurrent layer of torch's gives its states with an axis of layers and directions."""
    if isinstance(module, torch.nn.RNNBase) and is_librarys(type(module), "forward"):
        states = result[1]
        watcher.recorder.gives_states([states] if isinstance(states, torch.Tensor) else states)


def _reported(method: Any, watcher: Watcher) -> Any:
    @functools.wraps(method)
    def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = method(tensor, *args, **kwargs)
        watcher.host_reads(tensor)
        return result

    return read


class _InThread(TorchDispatchMode):
    """Hands the operations of another thread to a watcher, as long as that records."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self._watcher.recorder.done:
            return func(*args, **(kwargs or {}))
        return self._watcher.__torch_dispatch__(func, types, args, kwargs)


# --- what is particular to it --------------------------------------------------------------------


def parts(thing: Any) -> Items | None:
    """Nested, quantised and masked tensors, subclasses made of several, and large sparse ones."""
    if not isinstance(thing, torch.Tensor):
        return None
    if getattr(thing, "is_nested", False):
        return list(enumerate(thing.unbind()))
    if getattr(thing, "is_quantized", False):
        return [(ITSELF, thing.dequantize())]
    if callable(getattr(thing, "get_mask", None)):
        mask = thing.get_mask()
        return [("data", thing.get_data().where(mask, 0)), ("mask", mask)]
    if callable(getattr(thing, "__tensor_flatten__", None)):
        names, context = thing.__tensor_flatten__()
        settings = context.items() if isinstance(context, dict) else ()
        return [
            *((name, getattr(thing, name)) for name in names),
            *((name, item) for name, item in settings if type(item) in (int, float)),  # as a scale
        ]
    if not str(thing.layout).startswith("torch.sparse"):
        return None
    if thing.numel() <= DENSE or thing.layout != torch.sparse_coo:
        return [(ITSELF, thing.to_dense())]
    thing = thing.coalesce()
    shape = ("shape", np.array(thing.shape))
    return [("values", thing.values()), ("indices", thing.indices()), shape]


def readable(thing: Any) -> Any:
    if not isinstance(thing, torch.Tensor) or not is_librarys(type(thing), "detach"):
        return thing
    thing = thing.detach().cpu().resolve_conj().resolve_neg()
    return thing.float() if thing.dtype == torch.bfloat16 else thing


def switches() -> dict[str, str]:
    cudnn = torch.backends.cudnn
    return {
        "threads between operations": str(torch.get_num_interop_threads()),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "cudnn deterministic": "on" if cudnn.deterministic else "off",
        "cudnn benchmark": "on" if cudnn.benchmark else "off",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }


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


TRAITS = Traits(
    state=STATE,
    settings=SETTINGS,
    weights=WEIGHTS,
    window=window,
    padding=padding,
    product=product,
    to_bfloat16=lambda tensor: tensor.to(torch.bfloat16),
    is_foreign=is_foreign,
    parts=parts,
    readable=readable,
    is_shape=lambda thing: isinstance(thing, torch.Size),
    parameters=parameters,
    switches=switches,
    keywords={"axis": "dim", "epsilon": "eps", "ddof": "correction"},
    imported_as=("torch", "F", "nn"),
    divergences="torch.distributions",
)
_ADAPTER = type_cast("Framework", sys.modules[__name__])
