"""Weights that show nothing as long as all else is alike, and sums and gates that no step reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import parity
from parity.weights.arrangements import layouts
from parity.weights.effect_groups import in_order_of_members, in_their_order
from parity.weights.units import Unit

IN, HIDDEN, BINS, MEMBERS = 5, 8, 6, 4


# --- an ensemble behind norms and softmax, of which a minimum shows two ---


def _norm(x):
    x = x - x.mean(-1, keepdim=True)
    return x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt()


def _expected(logits):
    return (logits.softmax(-1) * torch.linspace(-1.0, 1.0, BINS)).sum(-1)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList(
            nn.Sequential(nn.Linear(IN, HIDDEN), nn.LayerNorm(HIDDEN), nn.Tanh(),
                          nn.Linear(HIDDEN, BINS))
            for _ in range(MEMBERS)
        )  # fmt: skip
        _draw(self)

    def forward(self, x):
        out = _expected(torch.stack([member(x) for member in self.members]))
        return torch.minimum(out[1], out[3])


class OneTensor(nn.Module):
    def __init__(self):
        super().__init__()
        draw = lambda *shape: nn.Parameter(torch.randn(MEMBERS, *shape))  # noqa: E731
        self.w1, self.b1 = draw(IN, HIDDEN), draw(HIDDEN)
        self.gamma, self.beta = draw(HIDDEN), draw(HIDDEN)
        self.w2, self.b2 = draw(HIDDEN, BINS), draw(BINS)

    def forward(self, x):
        h = _norm(x[None] @ self.w1 + self.b1[:, None])
        h = torch.tanh(h * self.gamma[:, None] + self.beta[:, None])
        out = _expected(h @ self.w2 + self.b2[:, None])
        return out[[1, 3]].amin(0)


def _draw(model, seed=3):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for own in model.parameters():
            own.copy_(torch.randn(own.shape, generator=generator))


@pytest.fixture
def inputs():
    return np.random.default_rng(5).normal(size=(12, IN)).astype("float32")


def test_members_of_an_ensemble_behind_norms_and_a_minimum(inputs):
    layers, stacked = Layers(), OneTensor()
    result = parity.transfer(layers, stacked, inputs=inputs)
    assert result.verdict == "parity" and not any(result.pairing.left)
    for place, member in enumerate(layers.members):  # of those that are not read too
        assert torch.equal(stacked.w1[place], member[0].weight.T)
        assert torch.equal(stacked.gamma[place], member[1].weight)
        assert torch.equal(stacked.b2[place], member[3].bias)
    assert any("nothing that they hold changes" in note for note in result.pairing.notes)


def test_an_ensemble_with_another_minimum_is_left_as_it_was(inputs):
    stacked = OneTensor()
    stacked.forward = lambda x: OneTensor.forward(stacked, x) * 1.1
    before = [own.clone() for own in stacked.parameters()]
    result = parity.transfer(Layers(), stacked, inputs=inputs)
    assert result.verdict == "diverged" and not result.written
    assert all(map(torch.equal, before, stacked.parameters()))


# --- the biases and the gates of cells ---


class OwnCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(IN, HIDDEN), nn.LSTMCell(HIDDEN, HIDDEN)
        _draw(self)

    def forward(self, x, gate):
        h = self.gru(x, gate)
        h = self.gru(x * 0.5, h * gate)
        out, c = self.lstm(h, (gate, gate))
        return self.lstm(out * gate, (out, c))[0]


class WrittenCells(nn.Module):
    """Gates z, r, n, and of the other cell one bias."""

    def __init__(self):
        super().__init__()
        draw = lambda *shape: nn.Parameter(torch.randn(*shape) * 0.3)  # noqa: E731
        self.w, self.u = draw(IN, 3 * HIDDEN), draw(HIDDEN, 3 * HIDDEN)
        self.bw, self.bu = draw(3 * HIDDEN), draw(3 * HIDDEN)
        self.lw, self.lu, self.lb = (
            draw(HIDDEN, 4 * HIDDEN),
            draw(HIDDEN, 4 * HIDDEN),
            draw(4 * HIDDEN),
        )

    def gru_step(self, x, h):
        xz, xr, xn = (x @ self.w + self.bw).chunk(3, -1)
        hz, hr, hn = (h @ self.u + self.bu).chunk(3, -1)
        z = (xz + hz).sigmoid()
        return z * h + (1 - z) * (xn + (xr + hr).sigmoid() * hn).tanh()

    def lstm_step(self, x, h, c):
        i, f, g, o = (x @ self.lw + h @ self.lu + self.lb).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def forward(self, x, gate):
        h = self.gru_step(x, gate)
        h = self.gru_step(x * 0.5, h * gate)
        out, c = self.lstm_step(h, gate, gate)
        return self.lstm_step(out * gate, out, c)[0]


@pytest.fixture
def by_effect_alone(monkeypatch):
    """Steps that pair nothing, as those of a spelling that they do not know."""
    monkeypatch.setattr("parity.weights.pairing.align", lambda *_: {})
    monkeypatch.setattr("parity.weights.pairing.align_by_products", lambda *_: {})
    monkeypatch.setattr("parity.weights.pairing.pair_cells", lambda *_: ())


@pytest.mark.parametrize("into", ["two biases", "one bias"])
def test_biases_of_which_the_sum_counts_and_gates_in_another_order(into, inputs, by_effect_alone):
    torch.manual_seed(0)
    own, written = OwnCells(), WrittenCells()
    gate = np.random.default_rng(6).uniform(0.3, 0.9, (12, HIDDEN)).astype("float32")
    both = (written, own) if into == "two biases" else (own, written)
    result = parity.transfer(*both, inputs=(inputs, gate))
    assert result.verdict == "parity" and not any(result.pairing.left)
    assert torch.allclose(written.lb, own.lstm.bias_ih + own.lstm.bias_hh)
    r, z, n = own.gru.weight_ih.chunk(3)
    assert torch.equal(written.w, torch.cat([z, r, n]).T)
    assert any("only their sum counts" in note for note in result.pairing.notes)


@pytest.mark.parametrize("gates", [True, False])
def test_gates_in_another_order_come_last(gates):
    own = np.arange(24.0).reshape(2, 12)
    found = [lay([own])[0] for lay in layouts([(2, 12)], [(12, 2)], gates=gates)]
    first, second, third = np.split(own.T, 3)
    other = np.concatenate([second, first, third])
    assert any(np.array_equal(one, other) for one in found) == gates
    assert np.array_equal(found[0], own.T)


# --- what no output shows ---


class _Side:
    def __init__(self, *shapes, read=()):
        self.tensors = [_Shape(shape) for shape in shapes]
        self.leaves = {n: number for n, number in enumerate(read)}

    def tensors_in(self, own):
        return [int(own.flat[0])]


class _Shape:
    def __init__(self, shape):
        self.shape = shape


def test_several_that_are_one_and_show_nothing_follow_those_of_one_size():
    sides = _Side((6, 2), (3,)), _Side((3,), (2, 2), (2, 2), (2, 2))
    units = [Unit(0), Unit(1)], [Unit(n) for n in range(4)]
    found = in_their_order(sides, units)
    assert found == [
        ((Unit(1),), (Unit(0),)),
        ((Unit(0),), (Unit(1), Unit(2), Unit(3))),
    ]


@pytest.mark.parametrize("read", [[0, 1, 2, 3, 4, 5], [0, 3, 1, 4, 2, 5]], ids=["member", "layer"])
def test_members_that_show_nothing_stand_as_those_that_do(read):
    """Of two tensors of three members the source's are 0 and 1, 2 and 3, 4 and 5."""
    by_member = read == sorted(read)
    source = _Side(*[(4,)] * 6, read=range(6))
    at = (
        (lambda tensor, member: 2 * member + tensor)
        if by_member
        else (lambda tensor, member: 3 * tensor + member)
    )
    known = [(Unit(n, m), np.array([at(n, m)])) for n in (0, 1) for m in (0, 2)]
    found = in_order_of_members((source, source), [Unit(1, 1), Unit(0, 1)], known)
    assert found == [Unit(0, 1), Unit(1, 1)]
