"""One divergence in many places: found in one run, and nowhere that it is not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from parity.diagnosis import divergences, locate
from parity.diagnosis import recurring as recurring_module
from parity.diagnosis.cut_search import CutSearch
from parity.diagnosis.recurring import recurring
from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()
UNITS, STEPS = 5, 12
W, U = tensor(values(3, 4 * UNITS)), tensor(values(UNITS, 4 * UNITS, scale=0.3))
SEQUENCE, ROWS = values(2, STEPS, 3), values(16, 6)
WEIGHTS = [tensor(values(6, 6, scale=0.5)) for _ in range(4)]


@pytest.fixture
def searches(monkeypatch):
    """The searches for a place that were made."""
    made = []
    search = CutSearch.first_mismatch

    def counted(self):
        made.append(self)
        return search(self)

    monkeypatch.setattr(CutSearch, "first_mismatch", counted)
    return made


def lstm(forget_bias):
    def run(x):
        h = c = torch.zeros(len(x), UNITS)
        for step in x.unbind(1):
            i, f, g, o = (step @ W + h @ U).chunk(4, 1)
            f = f + forget_bias if forget_bias else f
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h

    return run


def test_a_fault_at_every_step_is_one_finding_and_one_search(searches):
    (found,) = compared(lstm(0.0), lstm(1.0), SEQUENCE).divergences
    assert (found.cause.kind, found.cause.parameters) == ("forget-bias", {"bias": (0.0, 1.0)})
    assert found.cause.confirmed
    assert found.times == STEPS - 1  # at the first step the state is zero, whatever the gate
    assert len(searches) == 1


def test_a_fault_of_every_layer_is_one_finding_with_its_places(searches):
    def net(epsilon):
        torch.manual_seed(0)
        layers = [nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6, eps=epsilon)) for _ in range(9)]
        return nn.Sequential(*layers)

    (found,) = compared(net(1e-5), net(1e-2), ROWS).divergences
    assert found.cause.kind == "norm-epsilon"
    assert found.cause.confirmed
    assert len({(one.reference, one.candidate) for one in [found]} | {*found.places}) == 9
    assert len(searches) == 1


def layers(*activations):
    def run(x):
        for weight, activation in zip(WEIGHTS, activations, strict=True):
            x = activation(x @ weight)
        return x

    return run


def leaky(slope):
    return lambda x: F.leaky_relu(x, slope)


def test_the_same_operation_with_another_number_is_another_finding():
    reference = layers(*map(leaky, (0.01, 0.01, 0.01, 0.01)))
    candidate = layers(*map(leaky, (0.1, 0.2, 0.1, 0.01)))
    first, second = compared(reference, candidate, ROWS).divergences
    assert [one.cause.parameters["slope"] for one in (first, second)] == [(0.01, 0.1), (0.01, 0.2)]
    assert (first.times, second.times) == (2, 1)


def test_what_is_put_right_by_what_follows_is_none():
    def corrected(x):
        steep = F.leaky_relu(x, 0.2)
        return torch.where(steep < 0, steep * 0.05, steep)

    reference = layers(*map(leaky, (0.01, 0.01, 0.01, 0.01)))
    candidate = layers(leaky(0.2), leaky(0.01), corrected, leaky(0.01))
    (found,) = compared(reference, candidate, ROWS).divergences
    assert found.cause.parameters == {"slope": (0.01, 0.2)}
    assert found.places == ()


@pytest.mark.parametrize("state_first", [False, True])
def test_a_bias_in_either_product_is_no_fault_of_each(state_first, monkeypatch):
    """The one with a bias is right if the other one has none: which one differs cannot be said."""
    bias = tensor(values(4 * UNITS))

    def cell(doubled):
        def run(x):
            h = torch.zeros(len(x), UNITS)
            for step in x.unbind(1):
                if doubled:
                    given, kept = torch.addmm(bias, step, W), torch.addmm(bias, h, U)
                else:
                    given, kept = step @ W, h @ U
                z = kept + given if state_first else given + kept
                h = torch.tanh(z if doubled else z + bias)[:, :UNITS]
            return h

        return run

    again = []

    def recorded(found, mismatch):
        places, repaired = recurring(found, mismatch)
        again.extend(places)
        return places, repaired

    monkeypatch.setattr(locate, "recurring", recorded)
    assert compared(cell(False), cell(True), SEQUENCE).divergences
    assert again == []


def test_a_later_split_may_have_fewer_parts():
    """Of three steps, and of two: what differs is the last part of the first one."""

    def parts(x, swapped):
        steps = x.split([1, 1, 1], 0)
        return torch.cat([steps[0], steps[2], steps[1]] if swapped else steps, 0)

    def model(swapped):
        def run(x):
            h = parts(torch.tanh(x @ WEIGHTS[0]).reshape(3, 5, 6), swapped)
            halves = torch.tanh(h.reshape(15, 6) @ WEIGHTS[1]).split([9, 6], 0)
            return torch.cat([half @ WEIGHTS[2] for half in halves], 0)

        return run

    assert compared(model(False), model(True), values(15, 6)).divergences
    words = recurring_module._Words.__new__(recurring_module._Words)
    words._last, words._at = "split", 2
    assert words.given_by(SimpleNamespace(word="split", static=False, outputs=(3, 4))) is None
    assert words.given_by(SimpleNamespace(word="split", static=False, outputs=(3, 4, 5))) == 5


def test_zero_has_no_sign_in_a_parameter():
    assert repr(divergences._as_stated(-0.0, 1.0)) == "(0.0, 1.0)"
    assert divergences._as_stated(None, True) == (None, True)
    assert isinstance(divergences._as_stated(np.float32(1), 1)[1], int)
