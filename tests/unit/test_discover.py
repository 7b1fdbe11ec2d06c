"""Layers that a plain function or object holds, found under the names by which it holds them."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from parity.recorder import discover


class Layer:
    def __init__(self, name: str = "") -> None:
        self.own = name

    def __call__(self, x: Any) -> Any:
        return x


def names(thing: Any) -> dict[str, Any]:
    return discover(thing, lambda item: isinstance(item, Layer))


GLOBAL, TABLE, UNUSED = Layer(), {"a": Layer(), 3: Layer(), None: Layer()}, Layer()


def reads_globals(x: Any) -> Any:
    return TABLE["a"](GLOBAL(x))


def calls_another(x: Any) -> Any:
    return reads_globals(x)


def test_a_layer_itself() -> None:
    layer = Layer()
    assert names(layer) == {"Layer": layer}
    assert names([layer, Layer()])["0"] is layer


def test_closures_and_defaults() -> None:
    conv, head, extra = Layer(), Layer(), Layer()

    def model(x: Any, out: Any = head, *, more: Any = extra) -> Any:
        return more(out(conv(x)))

    assert names(model) == {"conv": conv, "out": head, "more": extra}


def test_globals_that_are_read_and_no_others() -> None:
    expected = {"GLOBAL": GLOBAL, **{f"TABLE.{key}": layer for key, layer in TABLE.items()}}
    assert names(reads_globals) == expected
    assert names(calls_another) == expected


def test_objects_methods_and_partials() -> None:
    class Agent:
        def __init__(self) -> None:
            self.body, self.heads = Layer(), [Layer(), Layer()]
            self.itself = self

        def act(self, x: Any) -> Any:
            return self.heads[0](self.body(x))

        def __call__(self, x: Any) -> Any:
            return self.act(x)

    agent = Agent()
    expected = {"body": agent.body, "heads.0": agent.heads[0], "heads.1": agent.heads[1]}
    assert names(agent) == names(agent.act) == expected
    found = names(functools.partial(lambda net, x: net(x), agent.body))
    assert list(found.values()) == [agent.body]
    assert names(functools.partial(agent.act, extra=agent.body)) == expected
    assert names(lambda x: agent.act(x)) == {f"agent.{path}": it for path, it in expected.items()}


def test_a_layer_held_twice_has_one_name() -> None:
    layer = Layer()
    assert list(names({"first": layer, "again": layer}).values()) == [layer]


def test_a_variable_not_yet_bound_is_no_error() -> None:
    def model(x: Any) -> Any:
        return later(x)

    assert names(model) == {}
    later = Layer()
    assert names(model) == {"later": later}


@pytest.mark.parametrize("thing", [3, None, "text", len, int, object()])
def test_other_things_hold_none(thing: Any) -> None:
    assert names(thing) == {}
