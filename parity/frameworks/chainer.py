"""Chainer: each `FunctionNode` that runs is one operation; replayed by a copy of the node."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parity.code_owners import is_librarys
from parity.errors import ModelError
from parity.frameworks import invoke
from parity.frameworks.chainer_gradients import BackwardSites, gradients
from parity.frameworks.chainer_host_arrays import with_host_arrays
from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_operations import SETTINGS, padding, product, window
from parity.frameworks.chainer_operations import WORDS as WORDS
from parity.frameworks.chainer_replay import execute as execute
from parity.frameworks.chainer_replay import is_foreign
from parity.frameworks.chainer_watcher import Watch
from parity.frameworks.chainer_weights import (
    WEIGHTS,
    array_of,
    is_link,
    links_of,
    owner_of,
    parameters,
)
from parity.frameworks.chainer_weights import tensors as tensors
from parity.frameworks.invoke import no_tensors, run
from parity.frameworks.numpy import cast as cast
from parity.frameworks.numpy import from_numpy as from_numpy
from parity.frameworks.numpy import to_numpy as to_numpy
from parity.frameworks.protocol import Traits
from parity.inputs.binding import bound
from parity.keeping import left_as_it_was
from parity.keeping.leaf import Put, StateRules
from parity.model import flatten_inputs, map_arrays
from parity.outputs import flatten as structure
from parity.patching import patched
from parity.recorder import Recorder
from parity.tape import Array, Tape

if TYPE_CHECKING:
    from parity.model import Inputs, Model

T = TypeVar("T")
chainer = import_chainer()
name = "chainer"

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    """A Link, a method of one, an old-style Function, or one of `chainer.functions`."""
    if isinstance(owner_of(obj), (chainer.Link, chainer.Function)):
        return True
    return isinstance(obj, FunctionType) and str(obj.__module__).split(".")[0] == "chainer"


def signed(obj: Any) -> Any:
    """See `Framework.signed`: a link's `forward` where it has no `__call__` of its own."""
    if is_link(obj) and type(obj).__call__ is chainer.Link.__call__ and hasattr(obj, "forward"):
        return obj.forward
    return obj


other_random_state = invoke.other_random_state

# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Runs a link or a function once, watching `FunctionNode.apply`."""
    paths = tuple(flatten_inputs(inputs))

    def recorded(wrapped: bool) -> tuple[Tape, Sequence[str]]:
        variables = paths if wrapped else ()
        return _record(model, inputs, variables), variables

    tape, variables = _either(recorded)
    return with_host_arrays(tape, inputs, lambda other: _record(model, other, variables))


def _either(run: Callable[[bool], T]) -> T:
    """What it gives with Variables as inputs; with arrays, for a model that takes those alone.

    NumPy's functions and comparisons refuse Variables.
    """
    try:
        return run(True)
    except ModelError as error:
        if error.__cause__ is None:
            raise
        try:
            return run(False)
        except ModelError:
            raise error from error.__cause__


def _record(model: Model, inputs: Inputs, wrapped: Collection[str]) -> Tape:
    """The tape of a run on inputs of which some, by their paths, are Variables."""
    links = links_of(model.obj)
    _check_device(model, links.values())
    paths = {id(link): path for path, link in links.items()}
    recorder = Recorder(_ADAPTER, is_link, paths, links.get(""), separator="/")
    dtype = _dtype_of(links.values())
    given = {id(array) for path, array in flatten_inputs(inputs).items() if path in wrapped}
    native = map_arrays(lambda array: _as_input(array, dtype, id(array) in given), inputs)
    ids = {
        path: recorder.leaf(array_of(item), "input", path, item.shape, item.dtype.name)
        for path, item in flatten_inputs(native).items()
    }
    floating = {
        path: item for path, item in flatten_inputs(native).items() if item.dtype.kind == "f"
    }
    arrays = {path: item for path, item in floating.items() if path not in wrapped}
    if arrays:
        recorder.how_it_reads = "reads its inputs as NumPy arrays and computes with them"
        recorder.instead = "Compute with Chainer's functions on Variables"
    sites = None if model.cotangents is None else BackwardSites(recorder, ids)
    watch = Watch(recorder, links, model.obj, sites)
    native = map_arrays(watch.followed, native)
    host = recorder.host.watching(model.obj, *links.values())
    args, kwargs = bound(model, native)
    with _set_up(model), _updates(watch):
        with host, watch.applying(), _States(recorder):
            result, found = _called(model, native, args, kwargs, sites)
        outputs = {
            path: recorder.output(item, lambda one: watch.value(array_of(one)))
            for path, item in found.items()
        }
    if found.none_of_its_own(recorder.ops):
        raise no_tensors(model, result)
    if watch.outside:
        recorder.caveats.append(
            f"{model.name} computes {len(watch.outside)} array(s) outside Chainer's functions, "
            f"first used at {watch.outside[0]}: in replays they stay as they were"
        )
    return recorder.tape(model.name, ids, outputs, found)


class _States(chainer.LinkHook):  # type: ignore[name-defined]
    """Notes the states that Chainer's recurrent links give, with an axis of layers."""

    name = "parity-states"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def forward_postprocess(self, args: Any) -> None:
        kind = chainer.links.rnn.n_step_rnn.NStepRNNBase
        if isinstance(args.link, kind) and is_librarys(type(args.link), "forward"):
            self._recorder.gives_states(map(array_of, args.out[:-1]))


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """Runs a link or a function as `record` does; see `Framework.plain`."""
    links = links_of(model.obj)
    dtype = _dtype_of(links.values())
    arrays_alone = False  # once it was seen that it takes nothing else

    def outputs(inputs: Inputs, wrapped: bool) -> dict[str, Array]:
        native = map_arrays(lambda array: _as_input(array, dtype, wrapped), inputs)
        args, kwargs = bound(model, native)
        with _set_up(model):
            _, found = _called(model, native, args, kwargs)
            return found.as_arrays(array_of)

    def either(inputs: Inputs) -> dict[str, Array]:
        def tried(wrapped: bool) -> dict[str, Array]:
            nonlocal arrays_alone
            found = outputs(inputs, wrapped)
            arrays_alone = not wrapped
            return found

        return tried(False) if arrays_alone else _either(tried)

    return either


def _called(
    model: Model,
    inputs: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sites: BackwardSites | None = None,
) -> tuple[Any, structure.Outputs]:
    """What a model gives, and its arrays, with their gradients where these are asked for."""
    result = run(model, lambda: model.obj(*args, **kwargs))
    flat = run(model, lambda: structure.flatten(result, _is_variable))
    if model.cotangents is not None:
        found = gradients(flat, inputs, model.obj, model.cotangents, sites)
        flat.add_gradients(found, _is_variable)
    return result, flat


def _is_variable(obj: object) -> bool:
    return isinstance(obj, chainer.Variable)


def _check_device(model: Model, links: Any) -> None:
    for link in links:
        if link.xp is not np:
            raise ModelError(
                f"{model.name} (chainer) is on {link.device}: parity reads Chainer models on the "
                "CPU. Copy it there first: model.to_device('@numpy')."
            )


def _dtype_of(links: Any) -> Any:
    """The floating dtype of the model's parameters, for its inputs."""
    for link in links:
        for parameter in link.params(include_uninit=False):
            if parameter.dtype.kind == "f":
                return parameter.dtype
    return chainer.get_dtype()


def _as_input(array: Array, dtype: Any, wrapped: bool) -> Any:
    """A Variable, so that operators on it are seen; integers stay arrays, as indices must be."""
    if array.dtype.kind != "f":
        return np.array(array)
    given = np.array(array, dtype)  # of a single number NumPy's arithmetic makes no array
    return chainer.Variable(given) if wrapped else given


@contextmanager
def _set_up(model: Model) -> Iterator[None]:
    """Sets the mode, and leaves all as it was afterwards."""
    with left_as_it_was(model.obj), chainer.using_config("use_static_graph", False):
        with chainer.using_config("train", model.mode == "train"):
            yield


@contextmanager
def _updates(watch: Watch) -> Iterator[None]:
    """Keeps what is read of arrays that an optimizer, or the model itself, changes in place."""
    rule = chainer.optimizer.UpdateRule
    original = rule.update

    def update(own: Any, parameter: Any) -> Any:
        if isinstance(parameter.array, np.ndarray):
            watch.changing(parameter.array)
        return original(own, parameter)

    try:
        with patched(rule, update=update):
            yield
    finally:
        watch.settle()


# --- how state is kept --------------------------------------------------------------------------


def holders() -> tuple[type, ...]:
    optimizers = chainer.Optimizer, chainer.optimizer.UpdateRule, chainer.optimizer.Hyperparameter
    return (chainer.Link, chainer.Variable, chainer.Function, *optimizers)


def makes(owner: Any, name: Any, before: Any, now: Any) -> bool:
    """What was not yet initialised stays as the first call made it."""
    if isinstance(owner, chainer.Parameter) and before in (None, [None]):
        return name in ("_data", 0)  # the array, and the place in the list that holds it
    if isinstance(owner, chainer.Link) and name in owner._persistent:
        return before is None
    return isinstance(now, (chainer.Link, chainer.Parameter))


def fills(owner: Any) -> bool:
    return isinstance(owner, chainer.Parameter)  # an LSTM's biases, with its weights


def settings() -> list[Put]:
    configs = vars(chainer.config._local), vars(chainer.global_config)
    before = [(place, dict(place)) for place in (*configs, chainer.get_function_hooks())]

    def put_back() -> None:
        for place, held in before:
            if place != held:
                place.clear()
                place.update(held)

    return [put_back]


# --- what is particular to it --------------------------------------------------------------------


def readable(thing: Any) -> Any:
    return thing.array if isinstance(thing, chainer.Variable) else thing


def switches() -> dict[str, str]:
    names = {"train": "train", "cudnn deterministic": "cudnn_deterministic", "autotune": "autotune"}
    return {name: "on" if getattr(chainer.config, key) else "off" for name, key in names.items()}


def versions() -> dict[str, str]:
    return {
        "chainer": chainer.__version__,
        "numpy": np.__version__,
        "dtype": str(chainer.get_dtype()),
        "use_ideep": str(chainer.config.use_ideep),
        "ideep": str(chainer.backends.intel64.is_ideep_available()),
    }


TRAITS = Traits(
    state=StateRules(holders=holders, settings=settings, makes=makes, fills=fills),
    settings=SETTINGS,
    weights=WEIGHTS,
    window=window,
    padding=padding,
    product=product,
    gates=lambda op: "aifo" if op.kind == "LSTM" else "",
    is_foreign=is_foreign,
    readable=readable,
    parameters=parameters,
    switches=switches,
    divergences="chainer",
)
_ADAPTER = sys.modules[__name__]
