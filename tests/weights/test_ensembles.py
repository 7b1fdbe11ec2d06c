"""Members of an ensemble: one tensor in one model, layers of their own in the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.weights.units import Unit, sliced, whole

MEMBERS, WIDTH, HIDDEN, QUANTILES = 3, 5, 8, 4


class Stacked(torch.nn.Module):
    """Two ensembles whose members are multiplied together."""

    def __init__(self):
        super().__init__()
        sizes = (WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, QUANTILES)
        draw = lambda *shape: torch.nn.Parameter(torch.randn(shape) * 0.5)  # noqa: E731
        for name in ("online", "target"):
            kernels = [draw(MEMBERS, *size) for size in sizes]
            biases = [draw(MEMBERS, 1, size[1]) for size in sizes]
            self.register_module(name, torch.nn.ParameterList([*kernels, *biases]))

    def _values(self, ensemble, x):
        h = x[None].expand(MEMBERS, -1, -1)
        for layer in range(3):
            h = torch.bmm(h, ensemble[layer]) + ensemble[3 + layer]
            h = h.relu() if layer < 2 else h
        return h.transpose(0, 1)

    def forward(self, x):
        return self._values(self.online, x), _lowest(self._values(self.target, x).flatten(1))


class Separate(torch.nn.Module):
    """The same with a network for each member."""

    def __init__(self):
        super().__init__()
        for name in ("online", "target"):
            self.register_module(name, torch.nn.ModuleList(_member() for _ in range(MEMBERS)))

    def forward(self, x):
        online, target = (
            torch.stack([member(x) for member in one], 1) for one in (self.online, self.target)
        )
        return online, _lowest(target.flatten(1))


def _member():
    layers = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN)
    relu = torch.nn.ReLU()
    return torch.nn.Sequential(layers[0], relu, layers[1], relu, torch.nn.Linear(HIDDEN, QUANTILES))


def _lowest(values):
    """The pool of all members' quantiles without the largest: members may be exchanged."""
    return values.sort(dim=1).values[:, : MEMBERS * (QUANTILES - 1)].cumsum(1)


@pytest.fixture
def inputs():
    return np.random.default_rng(2).normal(size=(6, WIDTH)).astype("float32")


@pytest.mark.parametrize("into", ["layers", "one tensor"])
def test_members_of_an_ensemble(into, inputs):
    torch.manual_seed(0)
    models = [Stacked(), Separate()]
    source, target = models if into == "layers" else models[::-1]
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "parity" and not any(result.pairing.left)
    stacked, separate = models
    for place, member in enumerate(separate.online):  # which of them is which shows
        assert torch.equal(stacked.online[0][place], member[0].weight.T)
        assert torch.equal(stacked.online[4][place, 0], member[2].bias)


def test_members_that_may_be_exchanged_are_listed(inputs):
    torch.manual_seed(0)
    result = parity.transfer(Stacked(), Separate(), inputs=inputs)
    alike = [note for note in result.pairing.notes if "each may be the other" in note]
    assert len(alike) == MEMBERS - 1 and all("target" in note for note in alike)
    assert not any("online" in note for note in alike)


def test_an_ensemble_that_computes_something_else_is_left_as_it_was(inputs):
    torch.manual_seed(0)
    source, target = Stacked(), Separate()
    target.target[1][1] = torch.nn.Tanh()
    before = [own.clone() for own in target.parameters()]
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "diverged" and not result.written
    assert all(map(torch.equal, before, target.parameters()))


class _Sizes:
    def __init__(self, *shapes):
        self.tensors = [_Shape(shape) for shape in shapes]

    @property
    def units(self):
        return [Unit(number) for number in range(len(self.tensors))]


class _Shape:
    def __init__(self, shape):
        self.shape = shape


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([(3, 4, 2)], [(4, 2)] * 3, True),
        ([(3, 4, 2), (8,)], [(2, 4)] * 3 + [(8,)], True),
        ([(3, 4, 2)], [(4, 2)] * 2, False),  # too few
        ([(3, 4)], [(4, 3)], False),  # the whole has a partner
        ([(6,)], [()] * 6, False),
    ],
)
def test_which_tensors_are_taken_by_their_slices(left, right, expected):
    sides = _Sizes(*left), _Sizes(*right)
    found = sliced(sides, (sides[0].units, sides[1].units))
    assert (found is not None) == expected
    if found is not None:
        assert found[0][:3] == [Unit(0, place) for place in range(3)]
        assert found[1] == sides[1].units


def test_a_slice_is_written_into_its_tensor():
    held = {0: np.zeros((2, 3))}
    changed = {Unit(0, 1): np.ones(3)}
    assert np.array_equal(whole(held, changed)[0], [[0, 0, 0], [1, 1, 1]])
    assert not held[0].any()
