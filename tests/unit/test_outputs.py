"""Outputs of any structure: every tensor in them is found, under a name that a person knows."""

from __future__ import annotations

import types
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from parity.outputs.flatten import flatten

A, B, C = (np.full(2, float(n)) for n in range(3))
ONE = np.asarray(2.5)  # stands for a Python number, which becomes an array
Heads = namedtuple("Heads", ["q", "value"])


@dataclass
class Step:
    q: Any
    state: Any = field(default_factory=tuple)


class ActionValue:
    """As PFRL keeps them: arrays as attributes, private ones, and answers worked out when asked."""

    def __init__(self) -> None:
        self.quantiles, self.n_actions, self._cache = B, 3, C

    @property
    def q_values(self) -> Any:
        return A

    @property
    def greedy_actions(self) -> Any:
        raise AssertionError("nobody asked for it")

    def evaluate(self) -> Any:
        raise AssertionError("nobody asked for it")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (A, {"output": A}),
        (2.5, {"output": ONE}),
        ((A, B), {"0": A, "1": B}),
        ([A, (B, C)], {"0": A, "1/0": B, "1/1": C}),
        (OrderedDict(q=A, state={"h": B, "c": C}), {"q": A, "state/h": B, "state/c": C}),
        (Heads(A, (B, C)), {"q": A, "value/0": B, "value/1": C}),
        (Step(A, [B]), {"q": A, "state/0": B}),
        (types.SimpleNamespace(q=A, note="text"), {"q": A}),
        (ActionValue(), {"quantiles": B, "q_values": A}),
        (
            {"q": A, "extra": None, "name": "text", "flag": True, "kind": Step},
            {"q": A, "flag": ONE},
        ),
        ({1: A, 2: B}, {"1": A, "2": B}),
        (None, {}),
        ("text", {}),
        ((), {}),
    ],
)
def test_every_tensor_is_found_by_name(output: Any, expected: dict[str, Any]) -> None:
    found = flatten(output, lambda _: False)
    assert list(found) == list(expected) or set(found) == set(expected)
    assert all(found[name] is expected[name] for name in expected if expected[name] is not ONE)


def test_a_frameworks_tensors_are_leaves_whatever_they_hold() -> None:
    class Tensor(list):
        pass

    tensor = Tensor([A])
    assert flatten((tensor, B), lambda thing: isinstance(thing, Tensor)) == {"0": tensor, "1": B}


def test_an_object_that_holds_itself_ends() -> None:
    thing = types.SimpleNamespace(q=A)
    thing.me = thing
    assert flatten(thing, lambda _: False)["q"] is A
