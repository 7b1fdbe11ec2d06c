"""Runs Chainer's functions again, as copies of the nodes that ran.

`F.sign`, `F.ceil`, `F.floor` and `F.fix` ask for their variable's array and have NumPy's function
of it: no `FunctionNode` runs. While a model is recorded the module that they ask for is one whose
functions apply a node, so that whoever holds them, and by whichever name, is seen.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from parity.draws.host import Host
from parity.errors import NoFloat64
from parity.frameworks.chainer_numpy import import_chainer
from parity.patching import patched
from parity.tape import Native, Op, Precision

chainer = import_chainer()


@dataclass(frozen=True)
class Call:
    """A function as it was before it ran.

    Attributes:
        held: attributes of the node that are values of the tape: the last of the op's inputs.
        kept: which of its outputs are arrays; the others are None.
        draws: how often it drew with NumPy: what it drew are the last of the op's inputs.
        changed: those of `held` that it changes in place, as running statistics: what they are
            then are the last of the op's outputs.
        missing: places of its arguments that were None, as a gradient of what nothing reads is.
        of: of a gradient the attribute that is the function which it differentiates, and that
            function: it keeps what its forward pass found, as where the largest values were. What
            that reads is read first of all.
    """

    node: Any
    held: tuple[str, ...]
    kept: tuple[bool, ...]
    settings: dict[str, Any]
    draws: int = 0
    changed: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    of: tuple[str, Op] | None = None


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Runs the forward pass of a copy of the node.

    Raises:
        NoFloat64: in float64 the function gave something narrower.
    """
    call: Call = op.call
    node = copy_of(call.node)
    if call.of is not None:
        key, forward = call.of
        found = copy_of(forward.call.node)
        given, arguments = arguments[: len(forward.inputs)], arguments[len(forward.inputs) :]
        _forward(found, forward.call, given, precision)
        setattr(node, key, found)
    return _forward(node, call, arguments, precision, op.kind)


def _forward(
    node: Any, call: Call, arguments: Sequence[Native], precision: Precision, kind: str = ""
) -> list[Native]:
    """Runs the forward pass of a node, which keeps what it finds."""
    count = len(arguments) - len(call.held) - call.draws
    noise = arguments[len(arguments) - call.draws :]
    for key, array in zip(call.held, arguments[count:], strict=False):
        setattr(state_of(node), key, array.copy())
    if precision and type(node).__name__ == "Cast" and np.dtype(node.type).kind == "f":
        node.type = np.dtype(precision)
    if precision and not is_of_users(node):  # what a gradient is cast to, as a weight's
        for key, item in vars(node).items():
            if isinstance(item, np.dtype) and item.kind == "f":
                setattr(node, key, np.dtype(precision))
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))  # the user's own run has warned
        for key, item in call.settings.items():
            if getattr(chainer.config, key) != item:
                stack.enter_context(chainer.using_config(key, item))
        if call.draws:
            stack.enter_context(Host(noise).watching(node))
        given = list(arguments[:count])
        for place in call.missing:
            given.insert(place, None)
        outputs = node.forward(tuple(given))
    results = [array for array, kept in zip(outputs, call.kept, strict=True) if kept]
    results += [getattr(state_of(node), key) for key in call.changed]
    for result in results:
        if precision and result.dtype.kind == "f" and result.dtype != precision:
            raise NoFloat64(f"{kind} gives {result.dtype} for {precision}")
    return results


def is_foreign(op: Op) -> bool:
    node = getattr(op.call, "node", None)
    return node is not None and is_of_users(node)


def is_of_users(node: Any) -> bool:
    """Whether a function is none of Chainer's own."""
    return not (type(node).__module__.startswith("chainer.") or isinstance(node, _Elementwise))


def copy_of(node: Any) -> Any:
    """A node of the same settings; what its forward pass keeps stays its own."""
    copied = object.__new__(type(node))
    vars(copied).update(
        (key, item.copy() if isinstance(item, np.ndarray) else item)
        for key, item in vars(node).items()
    )
    if isinstance(node, chainer.FunctionAdapter):
        copied._function = copy_of(node.function)
        copied._function._node = weakref.ref(copied)
        copied._function._owned_node = None
        copied._weak_function = None
    return copied


def state_of(node: Any) -> Any:
    """The object that has a node's settings: an old-style function's are its own."""
    return node.function if isinstance(node, chainer.FunctionAdapter) else node


# --- functions that apply no node ----------------------------------------------------------------

_NAMES = ("sign", "ceil", "floor", "fix")


class _Elementwise(chainer.FunctionNode):  # type: ignore[name-defined]
    """One of NumPy's functions of each element by itself."""

    function: Callable[[Any], Any]

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (np.asarray(type(self).function(inputs[0])),)


_NODES = {
    name: type(name.title(), (_Elementwise,), {"function": staticmethod(getattr(np, name))})
    for name in _NAMES
}


@contextmanager
def as_nodes() -> Iterator[None]:
    """Within it these functions are applied as nodes."""
    with ExitStack() as stack:
        for name in _NAMES:
            module: Any = importlib.import_module(f"chainer.functions.math.{name}")
            stack.enter_context(patched(module, backend=_Backend(name, module.backend)))
        yield


class _Backend:
    """Chainer's `backend` for one function: the module that it has for an array of NumPy's."""

    def __init__(self, name: str, backend: Any) -> None:
        self._name = name
        self._backend = backend

    def get_array_module(self, *arrays: Any) -> Any:
        found = self._backend.get_array_module(*arrays)
        return SimpleNamespace(**{self._name: self._applied}) if found is np else found

    def _applied(self, array: Any) -> Any:
        return _NODES[self._name]().apply((array,))[0].array
