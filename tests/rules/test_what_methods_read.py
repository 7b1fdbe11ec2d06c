"""What an object keeps to itself and its methods read, no number; settings by other names."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.rules.test_outputs_are_all_compared import Build, compared, in_tensorflow, in_torch


class Keeps:
    """A value, and what its method computes from it."""

    def __init__(self, value: Any, how: Any) -> None:
        self.value, self._how = value, how

    def answer(self) -> Any:
        return self._how, self.value


class Aside:
    """Keeps it, and reads it nowhere."""

    def __init__(self, value: Any, how: Any) -> None:
        self.value, self._how = value, how


@dataclasses.dataclass
class Motor:
    name: str
    gain: float = dataclasses.field(compare=False)
    xp: Any = None


class Tanh:
    pass


class Identity:
    pass


def squash(z: Any) -> Any:
    return np.tanh(z)


def soften(z: Any) -> Any:
    return z / (1 + abs(z))


PAIRS = [
    (squash, squash, soften),
    ("radians", "radians", "degrees"),
    (math.tanh, math.tanh, math.atan),
    (Tanh(), Tanh(), Identity()),
    (Motor("hip", 0.5, np), Motor("hip", 0.5, tf), Motor("hip", 0.25, tf)),
    ([Motor("m", 1.0, "m")], [Motor("m", 1.0, "m")], [Motor("m", 1.0, "km")]),
]


@pytest.mark.parametrize(
    ("kept", "same", "other"), PAIRS, ids="function text librarys object equal-by-name list".split()
)
def test_what_a_method_reads_is_the_same_or_not_verified(kept: Any, same: Any, other: Any) -> None:
    def verdict(how: Any, kind: Any = Keeps) -> str:
        reference = in_torch(lambda h: kind(h, kept))
        return compared(reference, in_tensorflow(lambda h: kind(h, how))).verdict

    assert verdict(same) == "parity"
    assert verdict(other) == "unverified"
    assert verdict(other, Aside) == "parity"


def test_a_device_or_a_module_says_nothing_of_a_method() -> None:
    for reference, candidate in (("cpu", "/device:CPU:0"), (np, tf)):
        models = (
            in_torch(lambda h, how=reference: Keeps(h, how)),
            in_tensorflow(lambda h, how=candidate: Keeps(h, how)),
        )
        assert compared(*models).verdict == "parity"


class Settings:
    def __init__(self, value: Any, **settings: Any) -> None:
        self.value = value
        vars(self).update(settings)


def of(**settings: Any) -> Build:
    return lambda h: Settings(h, **settings)


@pytest.mark.parametrize(
    ("reference", "same", "other"),
    [
        (of(rows=3, columns=8), of(height=3, width=8), of(height=8, width=3)),
        (of(steps=12), of(horizon=12, version=2), of(horizon=3, version=2)),
        (of(unit="m"), of(measure="m"), of(measure="km")),
        (of(name="a"), of(title="b", kind="c"), None),
    ],
    ids=["exchanged", "more", "text", "names"],
)
def test_settings_of_other_names_are_the_same_in_their_order(
    reference: Build, same: Build, other: Build | None
) -> None:
    assert compared(in_torch(reference), in_tensorflow(same)).verdict == "parity"
    if other is not None:
        assert compared(in_torch(reference), in_tensorflow(other)).verdict == "unverified"


def events(count: int) -> Build:
    return lambda h: ["start", *[None] * count]


def test_none_at_the_end_of_a_list_counts_in_its_length() -> None:
    assert compared(in_torch(events(3)), in_tensorflow(events(3))).verdict == "parity"
    assert compared(in_torch(events(3)), in_tensorflow(events(1))).verdict == "unverified"


def test_none_in_a_tuple_of_tensors_is_a_state_that_a_model_has_not() -> None:
    found = compared(in_torch(lambda h: (h, None)), in_tensorflow(lambda h: (h,)))
    assert found.verdict == "parity"


@dataclasses.dataclass
class Push:
    force: Any


@dataclasses.dataclass
class Pull:
    force: Any


@dataclasses.dataclass
class TorchPush:
    force: Any


@dataclasses.dataclass
class TensorFlowPush:
    force: Any


@dataclasses.dataclass
class GentlePush:
    force: Any


def test_two_classes_of_one_module_may_be_all_the_difference() -> None:
    assert compared(in_torch(Push), in_tensorflow(Push)).verdict == "parity"
    found = compared(in_torch(Push), in_tensorflow(Pull))
    assert found.verdict == "unverified"
    assert "is a Push in torch and a Pull in tensorflow" in found.reasons[0]


def test_a_class_that_only_names_its_framework_is_the_ports_own() -> None:
    assert compared(in_torch(TorchPush), in_tensorflow(Push)).verdict == "parity"
    assert compared(in_torch(TorchPush), in_tensorflow(TensorFlowPush)).verdict == "parity"


def test_a_class_whose_name_is_anothers_and_a_word_is_the_ports_own() -> None:
    assert compared(in_torch(Push), in_tensorflow(GentlePush)).verdict == "parity"


def test_classes_of_two_modules_are_each_models_own() -> None:
    elsewhere = dataclasses.make_dataclass("Pull", ["force"], namespace={"__module__": "port"})
    assert compared(in_torch(Push), in_tensorflow(elsewhere)).verdict == "parity"


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (of(training=True), of(frozen=False, jit=False)),
        (of(steps=3), of(fast=True)),
        (of(gain=2, rows=3, columns=8), of(height=3, gain=2, width=8)),
        (of(gain=2.0), lambda h: Settings(h, gain=tf.constant(2.0), depth=7)),
    ],
    ids=["flags of one model alone", "a flag is no number", "a name of both", "a tensor by it"],
)
def test_settings_that_say_nothing_of_others(reference: Build, candidate: Build) -> None:
    assert compared(in_torch(reference), in_tensorflow(candidate)).verdict == "parity"
