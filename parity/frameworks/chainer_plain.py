"""Functions of Chainer's that compute with arrays, as operations that can be followed.

`F.sign`, `F.ceil`, `F.floor` and `F.fix` ask for their variable's array and have NumPy's function
of it: no `FunctionNode` runs. While a model is recorded the module that they ask for is one whose
functions apply a node, so that whoever holds them, and by whichever name, is seen.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()

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


def is_plain(node: object) -> bool:
    """Whether a node stands for one of these functions."""
    return isinstance(node, _Elementwise)


@contextmanager
def as_nodes() -> Iterator[None]:
    """Within it these functions are applied as nodes."""
    modules: dict[str, Any] = {
        name: importlib.import_module(f"chainer.functions.math.{name}") for name in _NAMES
    }
    before = {name: module.backend for name, module in modules.items()}
    try:
        for name, module in modules.items():
            module.backend = _Backend(name, before[name])
        yield
    finally:
        for name, module in modules.items():
            module.backend = before[name]


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
