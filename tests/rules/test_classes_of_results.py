"""Two classes of one file: each a model's own, or two kinds between which code chooses."""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any, NamedTuple

import pytest

from parity.diagnosis.class_checks import told_apart
from tests.rules.test_outputs_are_all_compared import compared, in_tensorflow, in_torch

BOTH = """
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

class Base: pass

class Carry(NamedTuple):
    h: Any

class Memory(NamedTuple):
    h: Any
"""
APART = {
    "one function chooses": "def act(x): return Carry(x) if x > 0 else Memory(x)",
    "one class has both": """
class Model:
    def first(self, x): return Carry(x)
    def second(self, x): return Memory(x)
""",
    "a hint": "def step(state: 'Carry | Memory'): return isinstance(state, Carry)",
    "a union": "State = Union[Carry, Memory]",
    "a new union": "State = Carry | Memory",
    "a table": "KINDS = {'carry': Carry, 'memory': Memory}",
    "a list": "KINDS = [Carry, Memory]",
    "one base": """
@dataclass
class Carry(Base):
    h: Any

@dataclass
class Memory(Base):
    h: Any
""",
}
OWN = {
    "nothing": "",
    "each model names its own": """
class InTorch:
    def forward(self, x): return Carry(x)

class InKeras:
    def call(self, x): return Memory(x)
""",
    "functions beside each other": """
def made():
    def torch_model(x): return Carry(x)
    def keras_model(x): return Memory(x)
    return torch_model, keras_model
""",
}
numbers = itertools.count()


def of_a_module(code: str) -> tuple[type, type]:
    module = types.ModuleType(f"ported_{next(numbers)}")
    sys.modules[module.__name__] = module
    exec(BOTH + code, vars(module))
    return module.Carry, module.Memory


@pytest.mark.parametrize("code", APART.values(), ids=APART)
def test_code_that_knows_both_distinguishes_them(code: str) -> None:
    assert told_apart(*of_a_module(code))


@pytest.mark.parametrize("code", OWN.values(), ids=OWN)
def test_classes_that_only_their_models_know_say_nothing(code: str) -> None:
    assert not told_apart(*of_a_module(code))


@pytest.mark.parametrize("code", ["", APART["one function chooses"]], ids=["own", "apart"])
def test_the_verdict_follows(code: str) -> None:
    reference, candidate = of_a_module(code)
    found = compared(in_torch(reference), in_tensorflow(candidate))
    assert found.verdict == ("unverified" if code else "parity")
    expected = f"is a Carry in torch and a Memory in tensorflow, and code of {reference.__module__}"
    assert not code or expected in found.reasons[0]


class TS(NamedTuple):
    h: Any


class KS(NamedTuple):
    h: Any


class TState(NamedTuple):
    h: Any


class StateK(NamedTuple):
    h: Any


@pytest.mark.parametrize("kinds", [(TS, KS), (TState, StateK)], ids=["TS, KS", "TState, StateK"])
def test_a_class_that_names_its_framework_by_a_letter_is_the_ports_own(kinds: Any) -> None:
    assert told_apart(TS, KS)
    assert compared(in_torch(kinds[0]), in_tensorflow(kinds[1])).verdict == "parity"
