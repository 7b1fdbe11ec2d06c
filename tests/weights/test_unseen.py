"""Weights that a model reads in code of its own, where no tape sees them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import load
from parity.frameworks.chainer import chainer
from parity.weights import known_pairs

F, L = chainer.functions, chainer.links
WIDTH, OUT = 6, 4


def _fill(model, seed):
    """Other numbers in each of its tensors, positive as variances are."""
    random = np.random.default_rng(seed)
    for tensor in load("chainer" if isinstance(model, chainer.Link) else "torch").tensors(model):
        if tensor.is_floating:
            tensor.write(random.uniform(0.3, 1.5, tensor.shape).astype("float32"))
    return model


class Noisy(chainer.Chain):
    """Linear layers whose noise is NumPy's, as are the statistics of the inputs."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first, self.last = L.Linear(WIDTH, WIDTH), L.Linear(WIDTH, OUT)
            self.sigma = chainer.Parameter(0.1, (WIDTH, WIDTH))
        for name in ("eps_in", "eps_out", "var", "mean"):
            self.add_persistent(name, np.ones(WIDTH, "f"))
        self.add_persistent("scale", np.ones((), "f"))
        self.add_persistent("unused", np.ones(WIDTH, "f"))

    def __call__(self, x):
        x = (x - self.mean) / np.sqrt(self.var + 1e-5)
        noise = np.outer(np.sqrt(np.abs(self.eps_out)), self.eps_in)
        h = F.tanh(F.linear(x, self.first.W + self.sigma * noise, self.first.b))
        return self.last(h) / float(np.sqrt(self.scale))


class Ported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, OUT)
        self.sigma = torch.nn.Parameter(torch.ones(WIDTH, WIDTH))
        for name in ("noise_in", "noise_out", "average", "variance", "unread"):
            self.register_buffer(name, torch.ones(WIDTH))
        self.register_buffer("divisor", torch.ones(()))

    def forward(self, x):
        x = (x - self.average) / torch.sqrt(self.variance + 1e-5)
        noise = torch.outer(self.noise_out.abs().sqrt(), self.noise_in)
        weight = self.first.weight + self.sigma * noise
        h = torch.tanh(torch.nn.functional.linear(x, weight, self.first.bias))
        return self.last(h) / self.divisor.sqrt()


NAMES = {
    "eps_in": "noise_in",
    "eps_out": "noise_out",
    "mean": "average",
    "var": "variance",
    "scale": "divisor",
}


@pytest.fixture
def inputs():
    return np.random.default_rng(2).normal(size=(4, WIDTH)).astype("float32")


def _models(into):
    both = _fill(Noisy(), 0), _fill(Ported(), 1)
    return both if into == "torch" else both[::-1]


@pytest.mark.parametrize("into", ["torch", "chainer"])
def test_persistents_go_with_buffers(into, inputs):
    source, target = _models(into)
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "parity" and not any(result.pairing.left)
    linked, ported = (source, target) if into == "torch" else (target, source)
    for one, other in NAMES.items():
        assert np.array_equal(getattr(linked, one), getattr(ported, other).numpy())
    # what nothing reads is neither paired nor written
    assert not np.array_equal(linked.unused, ported.unread.numpy())
    assert "/unused" in result.pairing.dead[into != "torch"]


def test_without_the_runs_of_the_model_they_are_left(inputs, monkeypatch):
    monkeypatch.setattr(known_pairs, "unseen", lambda side: [])
    assert parity.transfer(*_models("torch"), inputs=inputs).verdict == "diverged"


def test_the_source_holds_afterwards_what_it_held(inputs):
    source, target = _models("torch")
    before = [np.array(one.read()) for one in load("chainer").tensors(source)]
    parity.transfer(source, target, inputs=inputs)
    after = [one.read() for one in load("chainer").tensors(source)]
    assert all(map(np.array_equal, before, after))


def test_persistents_of_a_port_that_computes_something_else(inputs):
    source, target = _models("chainer")
    target.first.b.array[...] = 5  # saturated
    source.forward = lambda x: Ported.forward(source, x) + source.average.cumsum(0)[:OUT]
    before = [np.array(one.read()) for one in load("chainer").tensors(target)]
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "diverged" and not result.written
    after = [one.read() for one in load("chainer").tensors(target)]
    assert all(map(np.array_equal, before, after))


class Sorted(chainer.Chain):
    """Products that are no step, and an order that NumPy finds of the values."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.one = chainer.Parameter(chainer.initializers.Normal(), (WIDTH, OUT))
            self.other = chainer.Parameter(chainer.initializers.Normal(), (WIDTH, OUT))

    def __call__(self, x):
        shape = len(x), WIDTH, OUT
        wide = F.broadcast_to(x[:, :, None], shape)
        one, other = (
            F.sum(wide * F.broadcast_to(own[None], shape), axis=1) for own in (self.one, self.other)
        )
        found = F.tanh(one) + other
        order = np.argsort(found.array, axis=1)
        return found[np.arange(len(x))[:, None], order][:, 1:]


class SortedPort(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Parameter(torch.randn(OUT, WIDTH))
        self.curved = torch.nn.Parameter(torch.randn(OUT, WIDTH))
        self.register_buffer("columns", torch.arange(1, OUT))

    def forward(self, x):
        found = torch.tanh((x[:, None] * self.curved).sum(2)) + (x[:, None] * self.linear).sum(2)
        return found.sort(dim=1).values[:, self.columns]


def test_a_model_that_no_replay_follows_runs_itself(inputs, monkeypatch):
    source, target = _fill(Sorted(), 0), _fill(SortedPort(), 1)
    assert parity.transfer(source, target, inputs=inputs).verdict == "parity"
    # an order of the columns is none that the outputs show
    one, other = (np.sort(own, axis=1) for own in (source.one.array, target.curved.detach().T))
    assert np.allclose(one, other)
    target = _fill(SortedPort(), 1)
    monkeypatch.setattr(known_pairs, "follows", lambda side, contents: True)
    assert parity.transfer(source, target, inputs=inputs).verdict == "diverged"
