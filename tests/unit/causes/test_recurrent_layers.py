"""A cell written by hand, step by step, beside a ready-made layer or another such cell."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import parity
from tests.unit.causes.compared_pairs import Values, tensor

values = Values()
INPUTS, UNITS = 4, 5
SEQUENCE = values(3, 6, INPUTS)


def weights(gates):
    """As torch has them: both kernels, both biases."""
    rows = gates * UNITS
    shapes = (rows, INPUTS), (rows, UNITS), (rows,), (rows,)
    return [tensor(values(*shape, scale=0.5)) for shape in shapes]


LSTM, GRU = weights(4), weights(3)


class ReadyMade(nn.Module):
    def __init__(self, layer, arrays):
        super().__init__()
        self.layer = layer(INPUTS, UNITS, batch_first=True)
        with torch.no_grad():
            for own, array in zip(self.layer.parameters(), arrays, strict=True):
                own.copy_(array)

    def forward(self, x):
        return self.layer(x)[0]


def lstm(output=torch.sigmoid, new=torch.tanh, shown=torch.tanh, own_bias=1, carried=1.0):
    w, u, b, ub = LSTM

    def run(x):
        h = c = torch.zeros(len(x), UNITS)
        found = []
        for step in x.unbind(1):
            i, f, g, o = (step @ w.T + h @ u.T + (b + own_bias * ub)).chunk(4, 1)
            c = carried * torch.sigmoid(f) * c + torch.sigmoid(i) * new(g)
            h = output(o) * shown(c)
            found.append(h)
        return torch.stack(found, 1)

    return run


def gru(new=torch.tanh, inverted=False):
    w, u, b, ub = GRU

    def run(x):
        h = torch.zeros(len(x), UNITS)
        found = []
        for step in x.unbind(1):
            (ar, az, an), (br, bz, bn) = (step @ w.T + b).chunk(3, 1), (h @ u.T + ub).chunk(3, 1)
            r, z = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
            n = new(an + r * bn)
            h = z * n + (1 - z) * h if inverted else (1 - z) * n + z * h
            found.append(h)
        return torch.stack(found, 1)

    return run


def nothing(x):
    return x


FAULTS = [
    (nn.LSTM, LSTM, lstm, {"new": torch.relu}, "recurrent-activation", ("tanh", "relu")),
    (nn.LSTM, LSTM, lstm, {"shown": torch.relu}, "recurrent-activation", ("tanh", "relu")),
    (nn.LSTM, LSTM, lstm, {"new": nothing}, "activation-missing", ("tanh", None)),
    (nn.LSTM, LSTM, lstm, {"shown": nothing}, "activation-missing", ("tanh", None)),
    (nn.LSTM, LSTM, lstm, {"output": nothing}, "activation-missing", ("sigmoid", None)),
    (nn.LSTM, LSTM, lstm, {"own_bias": 0}, "bias-missing", (1, 0)),
    (nn.LSTM, LSTM, lstm, {"own_bias": 2}, "bias-doubled", (1, 2)),
    (nn.GRU, GRU, gru, {"new": torch.relu}, "recurrent-activation", ("tanh", "relu")),
    (nn.GRU, GRU, gru, {"inverted": True}, "gate-inverted", ("z", "1 - z")),
]


@pytest.mark.parametrize(("layer", "arrays", "by_hand", "fault", "kind", "parameter"), FAULTS)
@pytest.mark.parametrize("beside", ["a ready-made layer", "a cell by hand"])
def test_what_a_cell_by_hand_has_otherwise(beside, layer, arrays, by_hand, fault, kind, parameter):
    ready = ReadyMade(layer, arrays) if beside == "a ready-made layer" else by_hand()
    (found,) = _divergences(ready, by_hand(**fault))
    # an activation is one of a cell's where a gate goes through it
    assert found.cause.kind.replace("activation-kind", "recurrent-activation") == kind
    assert found.cause.confirmed, found.cause.unproved
    assert tuple(found.cause.parameters.values()) == (parameter,)


@pytest.mark.parametrize(
    ("fault", "kind", "parameter"),
    [
        ({"new": torch.relu}, "recurrent-activation", ("relu", "tanh")),
        ({"shown": nothing}, "activation-extra", (None, "tanh")),
        ({"own_bias": 0}, "bias-missing", (0, 1)),
        ({"carried": 0.0}, "state-not-carried", (False, True)),
    ],
)
def test_what_the_reference_has_otherwise_than_a_ready_made_layer(fault, kind, parameter):
    (found,) = _divergences(lstm(**fault), ReadyMade(nn.LSTM, LSTM))
    assert found.cause.kind == kind
    assert found.cause.confirmed, found.cause.unproved
    assert tuple(found.cause.parameters.values()) == (parameter,)


@pytest.mark.parametrize(
    ("layer", "arrays", "by_hand"), [(nn.LSTM, LSTM, lstm), (nn.GRU, GRU, gru)]
)
def test_the_same_cell_by_hand_is_none(layer, arrays, by_hand):
    ready, own = ReadyMade(layer, arrays), parity.wrap(by_hand(), framework="torch")
    assert parity.compare(ready, own, inputs=SEQUENCE).verdict == "parity"


def test_two_things_at_once_are_not_one_of_them():
    for one in _divergences(ReadyMade(nn.LSTM, LSTM), lstm(new=torch.relu, own_bias=0)):
        assert one.cause is None or not one.cause.confirmed


def _divergences(reference, candidate):
    models = (
        one if isinstance(one, nn.Module) else parity.wrap(one, framework="torch")
        for one in (reference, candidate)
    )
    report = parity.compare(*models, inputs=SEQUENCE)
    assert report.verdict == "diverged"
    return report.divergences


@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("state_first", [False, True])
def test_a_bias_that_is_added_in_both_products(steps, state_first):
    """The one bias of a cell, loaded into both of another."""
    w, u, b, _ = LSTM
    other = b.clone()

    def cell(doubled):
        def run(x):
            h = torch.tanh(x[:, -1] @ w.T[:, :UNITS])
            for step in x[:, :steps].unbind(1):
                if doubled:
                    given, kept = torch.addmm(b, step, w.T), torch.addmm(other, h, u.T)
                else:
                    given, kept = step @ w.T, h @ u.T
                z = kept + given if state_first else given + kept
                i, f, g, o = (z if doubled else z + b).chunk(4, 1)
                h = torch.sigmoid(o) * torch.tanh(torch.sigmoid(i) * torch.tanh(g) + f)
            return h

        return run

    (found,) = _divergences(cell(False), cell(True))
    assert (found.cause.kind, found.cause.parameters) == ("bias-doubled", {"bias": (1, 2)})
    assert found.cause.confirmed, found.cause.unproved
