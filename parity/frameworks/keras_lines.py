"""Which of the user's lines each step of a functional Keras model comes from.

Such a model runs in Keras' code alone: the user's lines ran when it was built. So from the import
of Keras on, the line is kept at which a layer or an operation is called on a symbolic tensor, and
given when the model comes to that step. In a `Sequential`, which calls its layers itself, it is the
line at which the layer was made.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from parity.callstack import GRAPH_RUNNERS, is_users
from parity.site import Frame

_KERAS = "keras.src."
_called: WeakKeyDictionary[object, Frame] = WeakKeyDictionary()  # by node
_made: WeakKeyDictionary[object, Frame] = WeakKeyDictionary()  # by layer or operation


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Has lines kept from the end of Keras' import on."""
    yield
    keep()


def keep() -> None:
    """Has lines kept from now on, where Keras is imported and is as it is known to be."""
    modules: list[Any] = [sys.modules.get(_KERAS + name) for name in _MODULES]
    if None in modules:
        return
    node, operation, function, sequential = modules
    runner = getattr(function.Function, "_run_through_graph", None)
    if runner is None or id(runner.__code__) in GRAPH_RUNNERS:
        return
    GRAPH_RUNNERS[id(runner.__code__)] = (runner.__code__, _step)
    node.Node.__init__ = _noting_calls(node.Node.__init__, sequential.Sequential)
    operation.Operation.__new__ = staticmethod(_noting_makers(operation.Operation.__new__))


_MODULES = "ops.node", "ops.operation", "ops.function", "models.sequential"


def _step(frame: FrameType) -> tuple[object, Frame | None]:
    """The step that a running graph is at, and its line."""
    node = frame.f_locals.get("node")
    return node, _called.get(node) if node is not None else None


def _noting_calls(init: Callable[..., None], sequential: type) -> Callable[..., None]:
    @wraps(init)
    def noting(self: Any, operation: Any, *args: Any, **kwargs: Any) -> None:
        init(self, operation, *args, **kwargs)
        line = _users_line(sys._getframe(1), sequential) or _made.get(operation)
        if line is not None:
            _called[self] = line

    return noting


def _noting_makers(new: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(new)
    def noting(cls: type, *args: Any, **kwargs: Any) -> Any:
        made = new(cls, *args, **kwargs)
        line = _users_line(sys._getframe(1), ())
        if line is not None:
            _made[made] = line
        return made

    return noting


def _users_line(frame: FrameType | None, but: type | tuple[()]) -> Frame | None:
    """The user's line that a frame was called from; none if an object of a class called it."""
    while frame is not None:
        code = frame.f_code
        if is_users(code):
            return Frame(code.co_filename, frame.f_lineno, code.co_name)
        if but and isinstance(frame.f_locals.get("self"), but):
            return None
        frame = frame.f_back
    return None
