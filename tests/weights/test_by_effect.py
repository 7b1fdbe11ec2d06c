"""Weights of code that no step describes are paired by what they do to the outputs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.weights import transfer as transfer_module
from parity.weights.arrangements import layouts
from parity.weights.known_pairs import Filling

HEADS, DEPTH, WIDTH = 2, 3, 6


class Mixer(torch.nn.Module):
    """Slots that mix: scores of its own kind, with a fused kernel and a scale behind exp."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        draw = lambda *shape: torch.nn.Parameter(torch.randn(shape) * 0.4)  # noqa: E731
        self.both = draw(2 * WIDTH, WIDTH)
        self.both_bias = draw(2 * WIDTH)
        self.offset = draw(WIDTH)
        self.log_scale = draw(1)
        self.out = torch.nn.Linear(WIDTH, 4)

    def forward(self, x):
        a, b = (x @ self.both.T + self.both_bias).chunk(2, dim=-1)
        batch, slots, _ = x.shape
        a = a.view(batch, slots, HEADS, DEPTH)
        b = (b + self.offset).view(batch, slots, HEADS, DEPTH)
        scores = torch.einsum("bihd,bjhd->bhij", a, b) * self.log_scale.exp()
        mixed = torch.einsum("bhij,bjhd->bihd", torch.sigmoid(scores), b)
        return self.out(mixed.reshape(batch, slots, WIDTH))


class Ported(tf.Module):
    """The same, whose kernels are two, shaped by heads."""

    def __init__(self, wrong=False):
        super().__init__()
        random = np.random.default_rng(1)
        draw = lambda *shape: tf.Variable(random.normal(size=shape).astype("float32"))  # noqa: E731
        self.a, self.b = draw(WIDTH, HEADS, DEPTH), draw(WIDTH, HEADS, DEPTH)
        self.a_bias, self.b_bias = draw(HEADS, DEPTH), draw(HEADS, DEPTH)
        self.offset, self.temperature = draw(HEADS, DEPTH), draw(1)
        self.kernel, self.bias = draw(HEADS, DEPTH, 4), draw(4)
        self.wrong = wrong

    def __call__(self, x):
        a = tf.einsum("bic,chd->bhid", x, self.a) + self.a_bias[:, None]
        b = tf.einsum("bic,chd->bhid", x, self.b) + (self.b_bias + self.offset)[:, None]
        scores = tf.matmul(a, b, transpose_b=True) * tf.exp(self.temperature)
        if self.wrong:
            scores = tf.square(scores)
        mixed = tf.matmul(tf.sigmoid(scores), b)
        return tf.einsum("bhid,hdo->bio", mixed, self.kernel) + self.bias


@pytest.fixture
def inputs():
    return np.random.default_rng(2).normal(size=(4, 5, WIDTH)).astype("float32")


def _models(wrong=False):
    return Mixer(), parity.wrap(Ported(wrong), framework="tensorflow")


def test_a_port_whose_code_no_step_describes_gets_its_weights(inputs):
    source, target = _models()
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "parity" and result.written
    assert not any(result.pairing.left)
    found = {pair.target_names: pair for pair in result.pairing.pairs if pair.role == "by effect"}
    assert ("a",) in {tuple(name.split(":")[0] for name in names) for names in found}
    own = source.both.detach().numpy()
    assert np.array_equal(target.obj.a.numpy(), own[:WIDTH].T.reshape(WIDTH, HEADS, DEPTH))
    assert np.array_equal(target.obj.b.numpy(), own[WIDTH:].T.reshape(WIDTH, HEADS, DEPTH))


def test_it_is_the_effect_that_pairs_them(inputs, monkeypatch):
    monkeypatch.setattr(transfer_module, "with_effects", lambda source, target, ways: ways)
    assert parity.transfer(*_models(), inputs=inputs).verdict == "diverged"


def test_a_target_that_computes_something_else_keeps_its_own(inputs):
    source, target = _models(wrong=True)
    before = [variable.numpy() for variable in target.obj.variables]
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "diverged" and not result.written
    after = [variable.numpy() for variable in target.obj.variables]
    assert all(map(np.array_equal, before, after))


def test_the_map_leads_to_the_same_weights(inputs, tmp_path):
    source, target = _models()
    parity.transfer(source, target, inputs=inputs).save_map(tmp_path / "map.json")
    entries = json.loads((tmp_path / "map.json").read_text())["pairs"]
    assert any(entry["role"] == "by effect" for entry in entries)
    _, again = _models()
    result = parity.transfer(source, again, inputs=inputs, map=tmp_path / "map.json")
    assert result.verdict == "parity"
    both = zip(target.obj.variables, again.obj.variables, strict=True)
    assert all(np.array_equal(one.numpy(), other.numpy()) for one, other in both)


class Keys(torch.nn.Module):
    """Scores in two kernels whose bias of keys a softmax does not show."""

    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        widths = [2 * WIDTH] if fused else [WIDTH, WIDTH]
        self.kernels = torch.nn.ParameterList(torch.randn(n, WIDTH) * 0.4 for n in widths)
        self.biases = torch.nn.ParameterList(torch.randn(n) * 0.4 for n in widths)

    def forward(self, x):
        kernel, bias = torch.cat([*self.kernels]), torch.cat([*self.biases])
        query, key = (torch.einsum("bic,oc->bio", x, kernel) + bias).chunk(2, dim=-1)
        scores = torch.einsum("bio,bjo->bij", torch.cos(query) * query, key)
        return torch.softmax(scores, dim=-1).cumsum(1)


@pytest.mark.parametrize("fused", [True, False], ids=["into two", "into one"])
def test_what_has_no_effect_goes_with_what_it_is_joined_to(inputs, fused):
    torch.manual_seed(3)
    source, target = Keys(fused), Keys(not fused)
    assert parity.transfer(source, target, inputs=inputs).verdict == "parity"
    one, other = (torch.cat([*model.kernels]) for model in (source, target))
    assert torch.equal(one, other)


class Sampling(torch.nn.Module):
    """A policy that samples, with an entropy's scale behind exp."""

    def __init__(self, shaped):
        super().__init__()
        self.log_alpha = torch.nn.Parameter(torch.randn(()))
        self.kernel = torch.nn.Parameter(torch.randn((WIDTH, 2, 2) if shaped else (4, WIDTH)))

    def forward(self, x):
        shaped = self.kernel.ndim == 3
        hidden = torch.einsum("bic,chd->bhd" if shaped else "bic,oc->bo", x, self.kernel)
        mean, raw = hidden.reshape(len(x), 4).chunk(2, dim=1)
        action = torch.tanh(mean + torch.exp(raw) * torch.randn_like(mean))
        return action, self.log_alpha.exp() * raw.cumsum(1)


class Bounded(torch.nn.Module):
    """Features bounded by the rows of a square and by two vectors, and choices by a softmax."""

    def __init__(self):
        super().__init__()
        draw = lambda *shape: torch.nn.Parameter(torch.randn(shape))  # noqa: E731
        self.caps, self.low, self.high = draw(WIDTH, WIDTH), draw(WIDTH), draw(WIDTH)
        self.out = torch.nn.Linear(WIDTH, 3)

    def forward(self, x):
        hidden = torch.minimum(x[:, :, None], self.caps).sum(-1)
        hidden = torch.minimum(torch.maximum(hidden, self.low - 4), self.high - 3)
        return torch.softmax(self.out(hidden), dim=-1)


class BoundedPort(tf.Module):
    """The same with the square transposed."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(6)
        draw = lambda *shape: tf.Variable(random.normal(size=shape).astype("float32"))  # noqa: E731
        self.caps, self.low, self.high = draw(WIDTH, WIDTH), draw(WIDTH), draw(WIDTH)
        self.kernel, self.bias = draw(WIDTH, 3), draw(3)

    def __call__(self, x):
        hidden = tf.reduce_sum(tf.minimum(x[..., None], tf.transpose(self.caps)), -1)
        hidden = tf.minimum(tf.maximum(hidden, self.low - 4), self.high - 3)
        return tf.nn.softmax(hidden @ self.kernel + self.bias)


def test_a_guess_by_size_is_not_kept_as_known(inputs):
    """Behind a constant kernel and a softmax the square shows in neither order of its axes."""
    torch.manual_seed(5)
    source, target = Bounded(), BoundedPort()
    given = inputs.reshape(-1, WIDTH)
    result = parity.transfer(source, parity.wrap(target, framework="tensorflow"), inputs=given)
    assert result.verdict == "parity", str(result)
    roles = [row.role for row in result.table.rows]
    assert roles == ["kernel", "bias", "by effect", "by effect", "by effect"]
    assert np.array_equal(target.caps.numpy(), source.caps.detach().numpy().T)


def test_models_that_draw(inputs):
    torch.manual_seed(4)
    source, target = Sampling(shaped=False), Sampling(shaped=True)
    assert parity.transfer(source, target, inputs=inputs).verdict == "parity"
    assert torch.equal(source.kernel.T.reshape(WIDTH, 2, 2), target.kernel)


@pytest.mark.parametrize(
    ("given", "wanted", "lay"),
    [
        ([(6, 4)], [(4, 2, 3)], lambda a: [a.T.reshape(4, 2, 3)]),
        ([(3, 4), (3, 4)], [(4, 6)], lambda a, b: [np.concatenate([a, b]).T]),
        ([(3, 4), (3, 4)], [(6, 4)], lambda a, b: [np.stack([a, b], 1).reshape(6, 4)]),
        ([(2, 4), (3, 4)], [(4, 5)], lambda a, b: [np.concatenate([b, a]).T]),
        ([(4, 6)], [(2, 4), (4, 4)], lambda a: [a[:, 4:].T, a[:, :4]]),
    ],
    ids=["split axes", "behind each other", "interleaved", "of two sizes", "one into two"],
)
def test_arrangements(given, wanted, lay):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in given]
    right = lay(*arrays)
    found = [one(arrays) for one in layouts(given, wanted)]
    assert all([a.shape for a in one] == list(wanted) for one in found)
    assert any(all(map(np.array_equal, one, right)) for one in found)


def test_what_does_not_fit_has_no_arrangement():
    assert not [*layouts([(3, 4)], [(5, 2)])]


def test_a_filling_is_the_same_in_whatever_order_its_axes_stand():
    filling = Filling(0.1, 8)
    assert np.array_equal(filling.of((3, 4)).T, filling.of((4, 3)))
    joined = np.concatenate([filling.of((8,)), filling.of((16,))])
    assert np.array_equal(joined, filling.of((24,))) and np.unique(joined).size == 8
