"""What a result says besides its values: the order of fields, members as keys, classes."""

from __future__ import annotations

import enum
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import parity
from tests.rules.pairs import FIRST, X, compare
from tests.rules.test_outputs_are_all_compared import compared, in_tensorflow, in_torch

Moments = namedtuple("Moments", "mean spread")
Turned = namedtuple("Moments", "spread mean")


class Renamed(NamedTuple):
    mu: Any
    sigma: Any


@pytest.mark.parametrize(
    ("kind", "verdict"), [(Moments, "parity"), (Turned, "unverified"), (dict, "parity")]
)
def test_the_order_of_a_named_tuple_counts_where_both_are_such(kind: Any, verdict: str) -> None:
    report = compared(
        in_torch(lambda z: Moments(mean=z, spread=2 * z)),
        in_tensorflow(lambda z: kind(mean=z, spread=2 * z)),
    )
    assert report.verdict == verdict


def test_fields_of_other_names_have_no_order_in_common() -> None:
    def net(x: Any) -> Any:
        z = torch.tanh(x @ FIRST)
        return Moments(mean=z, spread=2 * z)

    def port(x: Any) -> Any:
        z = torch.tanh(x @ FIRST)
        return Renamed(mu=z, sigma=2 * z)

    assert compare(net, port).verdict == "parity"


@pytest.mark.parametrize(("left", "verdict"), [(0, "parity"), (1, "diverged")])
def test_members_that_are_keys_have_their_numbers(left: int, verdict: str) -> None:
    def by_action(**numbers: int) -> Any:
        action = enum.Enum("Action", numbers)
        return lambda z: {action.LEFT: z, action.RIGHT: 2 * z}

    report = compared(
        in_torch(by_action(LEFT=0, RIGHT=1)), in_tensorflow(by_action(LEFT=left, RIGHT=1 - left))
    )
    assert report.verdict == verdict


class Half:
    _gain = 0.5

    def __init__(self, value: Any) -> None:
        self.value = value

    def force(self) -> Any:
        return self._gain * self.value


class Quarter(Half):
    _gain = 0.25


class Unread:
    _gain = 0.125  # no method computes anything from it

    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.mark.parametrize(
    ("kind", "verdict"), [(Half, "parity"), (Quarter, "unverified"), (Unread, "parity")]
)
def test_a_private_number_of_a_class_counts_if_a_method_reads_it(kind: Any, verdict: str) -> None:
    def build(cls: Any) -> Any:
        return type("Force", (cls,), {})

    report = compared(in_torch(build(Half)), in_tensorflow(build(kind)))
    assert report.verdict == verdict


class Torque(np.ndarray):
    """Torques and their unit."""

    def __array_finalize__(self, other: Any) -> None:
        self._unit = getattr(other, "_unit", "Nm")

    def newton_metres(self) -> Any:
        return np.asarray(self) * {"Nm": 1.0, "kNm": 1e3}[self._unit]


@pytest.mark.parametrize(("unit", "verdict"), [("Nm", "parity"), ("kNm", "unverified")])
def test_what_an_array_of_the_users_class_keeps_counts(unit: str, verdict: str) -> None:
    def script(unit: str) -> Any:
        def model(x: Any) -> Any:
            torque = np.tanh(x @ FIRST.numpy()).view(Torque)
            torque._unit = unit
            return torque

        return parity.wrap(model, framework="numpy", name=unit)

    assert parity.compare(script("Nm"), script(unit), inputs=X).verdict == verdict


def test_two_distributions_of_one_library_are_not_one() -> None:
    from torch.distributions import Independent, Normal

    def policy(wrapped: bool) -> Any:
        def model(x: Any) -> Any:
            normal = Normal(torch.tanh(x @ FIRST), torch.ones(()))
            return Independent(normal, 1) if wrapped else normal

        return parity.wrap(model, framework="torch", name="policy")

    assert parity.compare(policy(True), policy(True), inputs=X).verdict == "parity"
    report = parity.compare(policy(True), policy(False), inputs=X)
    assert report.verdict == "unverified"
    assert "is of class Independent in policy" in " ".join(str(report).split())


def test_a_conjugate_of_torchs_is_read_where_a_script_returns_it() -> None:
    def script(conjugate: bool) -> Any:
        def model(x: Any) -> Any:
            found = torch.fft.rfft(torch.from_numpy(x), dim=1)
            return {"energy": np.square(x).sum(1), "spectrum": found.conj() if conjugate else found}

        return parity.wrap(model, framework="numpy", name="script")

    def reference(x: Any) -> Any:
        found = torch.conj_physical(torch.fft.rfft(x, dim=1))
        return {"energy": x.square().sum(1), "spectrum": found}

    net = parity.wrap(reference, framework="torch", name="net")
    assert parity.compare(net, script(True), inputs=X).verdict == "parity"
    assert parity.compare(net, script(False), inputs=X).verdict == "diverged"
