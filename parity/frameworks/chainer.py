"""Chainer: each `FunctionNode` that runs is one operation; replayed by a copy of the node."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parity.code_owners import is_librarys
from parity.draws.host import Host
from parity.errors import ModelError, NoFloat64
from parity.frameworks import invoke
from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_traits import TRAITS as TRAITS
from parity.frameworks.chainer_watcher import (
    Call,
    Watch,
    array_of,
    copy_of,
    is_link,
    is_of_users,
    owner_of,
    path_of,
    state_of,
)
from parity.frameworks.chainer_words import WORDS as WORDS
from parity.frameworks.invoke import no_tensors, run
from parity.inputs.binding import bound
from parity.keeping import left_as_it_was
from parity.model import flatten_inputs, map_arrays
from parity.outputs import flatten as structure
from parity.recorder import Recorder, discover
from parity.tape import Array, LeafKind, Native, Op, Precision, Tape
from parity.weights.tensors import Tensor

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
    return _either(lambda wrapped: _record(model, inputs, wrapped))


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


def _record(model: Model, inputs: Inputs, wrapped: bool) -> Tape:
    links = _links(model.obj)
    _check_device(model, links.values())
    paths = {id(link): path for path, link in links.items()}
    recorder = Recorder(_ADAPTER, is_link, paths, links.get(""), separator="/")
    dtype = _dtype_of(links.values())
    native = map_arrays(lambda array: _as_input(array, dtype, wrapped), inputs)
    ids = {
        path: recorder.leaf(array_of(item), "input", path, item.shape, item.dtype.name)
        for path, item in flatten_inputs(native).items()
    }
    if not wrapped:
        recorder.how_it_reads = "reads its inputs as NumPy arrays and computes with them"
        recorder.instead = "Compute with Chainer's functions on Variables"
        for path, item in flatten_inputs(native).items():
            if item.dtype.kind == "f":
                recorder.host_read(ids[path], item.copy())
    watch = Watch(recorder, links, model.obj)
    host = recorder.host.watching(model.obj, *links.values())
    args, kwargs = bound(model, native)
    with _set_up(model), _updates(watch):
        with host, watch.applying(), _States(recorder):
            result = run(model, lambda: model.obj(*args, **kwargs))
            found = run(model, lambda: structure.flatten(result, _is_variable))
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
    """Tells of the states that Chainer's recurrent links give, with an axis of layers."""

    name = "parity-states"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def forward_postprocess(self, args: Any) -> None:
        kind = chainer.links.rnn.n_step_rnn.NStepRNNBase
        if isinstance(args.link, kind) and is_librarys(type(args.link), "forward"):
            self._recorder.gives_states(map(array_of, args.out[:-1]))


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """Runs a link or a function as `record` does; see `Framework.plain`."""
    links = _links(model.obj)
    dtype = _dtype_of(links.values())

    def outputs(inputs: Inputs, wrapped: bool) -> dict[str, Array]:
        native = map_arrays(lambda array: _as_input(array, dtype, wrapped), inputs)
        args, kwargs = bound(model, native)
        with _set_up(model):
            result = run(model, lambda: model.obj(*args, **kwargs))
            found = run(model, lambda: structure.flatten(result, _is_variable))
            return found.as_arrays(array_of)

    return lambda inputs: _either(lambda wrapped: outputs(inputs, wrapped))


def _is_variable(obj: object) -> bool:
    return isinstance(obj, chainer.Variable)


def _links(obj: object) -> dict[str, Any]:
    """Links by path: `/l1` below a link that is the model, `/net/l1` where something holds it."""
    found: dict[str, Any] = {}

    def add(path: str, link: Any) -> None:
        for below, child in link.namedlinks():
            found.setdefault(path + below.rstrip("/"), child)

    if is_link(owner_of(obj)):
        add("", owner_of(obj))
    else:
        for held, link in discover(obj, is_link).items():
            add(path_of(held), link)
    for path, link in list(found.items()):  # links that are attributes and not children
        for held, item in discover(dict(vars(link)), is_link).items():
            if all(item is not known for known in found.values()):
                add(path + path_of(held), item)
    return found


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

    rule.update = update
    try:
        yield
    finally:
        rule.update = original
        watch.settle()


# --- tensors -----------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    """What is not initialised yet has no shape and is left out: run the model first."""
    names: dict[int, list[str]] = {}
    held: dict[int, tuple[Array, LeafKind, bool, float | None]] = {}
    for path, link in _links(obj).items():
        for key in sorted(link._params) + sorted(link._persistent):
            item = vars(link)[key]
            array = item.array if isinstance(item, chainer.Variable) else item
            if isinstance(array, np.ndarray):
                kind: LeafKind = "parameter" if key in link._params else "buffer"
                rule = getattr(item, "update_rule", None)  # None without an optimizer
                trains = kind == "parameter" and (rule is None or rule.enabled)
                kept = link.decay if key in ("avg_mean", "avg_var") else None
                held.setdefault(id(array), (array, kind, trains, kept))
                names.setdefault(id(array), []).append(f"{path}/{key}")
    return [_tensor(tuple(names[key]), *held[key]) for key in held]


def _tensor(
    names: tuple[str, ...], array: Array, kind: LeafKind, trains: bool, kept: float | None
) -> Tensor:
    def write(contents: Array) -> None:
        array[...] = contents

    name = array.dtype.name
    return Tensor(names, array.shape, name, kind, trains, lambda: array, write, kept, array)


# --- replay ------------------------------------------------------------------------------------


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Runs the forward pass of a copy of the node.

    Raises:
        NoFloat64: in float64 the function gave something narrower.
    """
    call: Call = op.call
    node = copy_of(call.node)
    count = len(arguments) - len(call.held) - call.draws
    noise = arguments[len(arguments) - call.draws :]
    for key, array in zip(call.held, arguments[count:], strict=False):
        setattr(state_of(node), key, array.copy())
    if precision and op.kind == "Cast" and np.dtype(node.type).kind == "f":
        node.type = np.dtype(precision)
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))  # the user's own run has warned
        for key, item in call.settings.items():
            if getattr(chainer.config, key) != item:
                stack.enter_context(chainer.using_config(key, item))
        if call.draws:
            stack.enter_context(Host(noise).watching(node))
        outputs = node.forward(tuple(arguments[:count]))
    results = [array for array, kept in zip(outputs, call.kept, strict=True) if kept]
    results += [getattr(state_of(node), key) for key in call.changed]
    for result in results:
        if precision and result.dtype.kind == "f" and result.dtype != precision:
            raise NoFloat64(f"{op.kind} gives {result.dtype} for {precision}")
    return results


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and array.dtype.kind == "f":
        return array.astype(precision)
    return array


def to_numpy(array: Native) -> Array:
    return np.asarray(array)


def from_numpy(array: Array) -> Native:
    return np.asarray(array)


# --- versions ----------------------------------------------------------------------------------


def to_bfloat16(array: Native) -> Native:
    return array  # Chainer has no bfloat16


def is_foreign(op: Op) -> bool:
    node = getattr(op.call, "node", None)
    return node is not None and is_of_users(node)


def versions() -> dict[str, str]:
    return {
        "chainer": chainer.__version__,
        "numpy": np.__version__,
        "dtype": str(chainer.get_dtype()),
        "use_ideep": str(chainer.config.use_ideep),
        "ideep": str(chainer.backends.intel64.is_ideep_available()),
    }


_ADAPTER = sys.modules[__name__]
