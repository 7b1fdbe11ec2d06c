"""Layers and states are found wherever Python can hold them: modules, classes, caches, proxies."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections import ChainMap, UserDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks.chainer_numpy import import_chainer
from tests import frameworks as package
from tests.frameworks import of_a_module, of_another_module

tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
L = chainer.links
X = np.random.default_rng(0).standard_normal((4, 3)).astype("f")


class Holder:
    """Holds something, and runs what `get` finds in it."""

    def __init__(self, held: Any, get: Callable[[Any], Any]) -> None:
        self.held, self.get = held, get

    def __call__(self, x: Any) -> Any:
        return self.get(self.held)(x)


@dataclass(slots=True)
class Slotted:
    layer: Any

    def __call__(self, x: Any) -> Any:
        return self.layer(x)


class Shared:
    layer: Any = None

    @classmethod
    def act(cls, x: Any) -> Any:
        return cls.layer(x)

    @staticmethod
    def step(x: Any) -> Any:
        return Shared.layer(x)

    @property
    def own(self) -> Any:
        return shared.held

    def __call__(self, x: Any) -> Any:
        return self.own(x)


shared = types.SimpleNamespace(held=None)


def by_a_global(x: Any) -> Any:
    return shared.held(x)


def by_a_module(x: Any) -> Any:
    return of_a_module.held["layer"](x)


def by_a_modules_function(x: Any) -> Any:
    return of_a_module.run(x)


def by_an_import(x: Any) -> Any:
    from tests.frameworks.of_a_module import held

    return held["layer"](x)


def cached(layer: Any) -> Any:
    @functools.lru_cache
    def made(_: int) -> Any:
        return layers.pop()

    layers = [layer]
    made(1)  # from now on the cache alone holds it
    return lambda x: made(1)(x)


def nested(layer: Any) -> Any:
    held = types.SimpleNamespace(held=layer)
    for _ in range(12):
        held = types.SimpleNamespace(held=held)

    def get(one: Any) -> Any:
        return get(one.held) if hasattr(one, "held") else one

    return Holder(held, get)


def in_shared(layer: Any) -> Any:
    Shared.layer = shared.held = of_a_module.held["layer"] = layer
    return Shared()


HELD: dict[str, Callable[[Any], Any]] = {
    "slots": Slotted,
    "deque": lambda it: Holder(deque([it]), lambda held: held[0]),
    "set": lambda it: Holder({it}, lambda held: next(iter(held))),
    "tuple as a key": lambda it: Holder({("a", 1): it}, lambda held: held["a", 1]),
    "weak reference": lambda it: Holder(weakref.ref(it), lambda held: held()),
    "read-only dict": lambda it: Holder(types.MappingProxyType({"a": it}), lambda held: held["a"]),
    "UserDict": lambda it: Holder(UserDict(a=it), lambda held: held["a"]),
    "ChainMap": lambda it: Holder(ChainMap({}, {"a": it}), lambda held: held["a"]),
    "object array": lambda it: Holder(np.array([it, None], object), lambda held: held[0]),
    "class attribute": lambda it: in_shared(it).act,
    "class method": lambda it: (in_shared(it), Shared.act)[1],
    "static method": lambda it: in_shared(it).step,
    "property": in_shared,
    "global object": lambda it: (in_shared(it), by_a_global)[1],
    "module": lambda it: (in_shared(it), by_a_module)[1],
    "function of a module": lambda it: (in_shared(it), by_a_modules_function)[1],
    "import in a function": lambda it: (in_shared(it), by_an_import)[1],
    "cache": cached,
    "far down": nested,
}


@pytest.mark.parametrize("held", HELD)
def test_a_norm_runs_in_the_mode_that_was_asked_for(held: str) -> None:
    layer, alone = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).eval()
    model = parity.wrap(HELD[held](layer), framework="torch", name="holds it")
    assert parity.compare(alone, model, inputs=X).verdict == "parity"
    assert layer.training and int(layer.num_batches_tracked) == 0


@pytest.mark.parametrize("held", HELD)
def test_its_statistics_are_put_back(held: str) -> None:
    link = L.BatchNormalization(3)
    before = link.avg_mean.copy()
    model = parity.wrap(HELD[held](link), framework="chainer", mode="train", name="holds it")
    parity.compare(parity.wrap(link, mode="train"), model, inputs=X)
    assert np.array_equal(link.avg_mean, before) and int(link.N) == 0


@pytest.mark.parametrize("held", HELD)
def test_a_variable_is_put_back(held: str) -> None:
    variable = tf.Variable(np.ones(3, "f"))

    class Adding(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.variable = variable

        def __call__(self, x: Any) -> Any:
            return x * variable.assign_add(tf.ones(3))

    adding = Adding()
    model = parity.wrap(HELD[held](adding), framework="tensorflow", name="holds it")
    assert parity.compare(model, model, inputs=X).verdict == "parity"
    assert variable.numpy().tolist() == [1, 1, 1]


def test_layers_of_one_name_are_all_found() -> None:
    layers = [torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)]

    def calling(layer: Any) -> Any:
        return lambda x: layer(x)

    both = [calling(layer) for layer in layers]
    model = parity.wrap(lambda x: both[1](both[0](x)), framework="torch")
    alone = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3))
    assert parity.compare(alone, model, inputs=X).verdict == "parity"
    assert all(int(layer.num_batches_tracked) == 0 for layer in layers)


# --- states in modules, and attributes that a run makes ------------------------------------------


def through_a_module(x: Any) -> Any:
    return of_a_module.step(x)


def deep_in_modules(x: Any) -> Any:
    return of_a_module.of_another_module.step(x)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "chainer", "numpy"])
@pytest.mark.parametrize("function", [through_a_module, deep_in_modules])
def test_what_modules_keep_is_put_back(framework: str, function: Any) -> None:
    def kept() -> Any:
        listed, array = of_a_module.listed, of_a_module.array
        return of_a_module.calls, of_another_module.calls, list(listed), array.tolist()

    before = kept()
    model = parity.wrap(function, framework=framework)
    assert parity.compare(model, model, inputs=X).verdict == "parity"
    assert kept() == before


class Counted:
    def __call__(self, x: Any) -> Any:
        Counted.calls = getattr(Counted, "calls", 0) + 1  # type: ignore[attr-defined]
        return x * 2


def counted(x: Any) -> Any:
    counted.calls = getattr(counted, "calls", 0) + 1  # type: ignore[attr-defined]
    return x * 2


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "chainer", "numpy"])
@pytest.mark.parametrize("model", [counted, Counted()])
def test_attributes_that_a_run_makes_are_gone(framework: str, model: Any) -> None:
    wrapped = parity.wrap(model, framework=framework)
    assert parity.compare(wrapped, wrapped, inputs=X).verdict == "parity"
    assert not hasattr(counted, "calls") and not hasattr(Counted, "calls")


def test_what_a_function_imports_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an import binds in a package is bound but once."""

    def model(x: Any) -> Any:
        import tests.frameworks.of_another_module as _  # noqa: F401

        return package.of_another_module.step(x)

    monkeypatch.delitem(sys.modules, of_another_module.__name__)
    monkeypatch.delattr(package, "of_another_module")
    wrapped = parity.wrap(model, framework="numpy")
    assert parity.compare(wrapped, wrapped, inputs=X).verdict == "parity"
    assert hasattr(package, "of_another_module")
