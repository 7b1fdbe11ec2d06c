"""Tensors that no arithmetic reads: a log standard deviation beside the means, tokens in front."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers, ops

import parity
from tests.weights import transfer_models as nets

chainer, F, L = nets.chainer, nets.chainer.functions, nets.chainer.links
PAIRS = list(itertools.permutations(["torch", "keras", "chainer"], 2))
ROWS = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
WORDS = np.random.default_rng(1).normal(size=(5, 7, 6)).astype("float32")


class TorchGaussian(torch.nn.Module):
    """The means of `actions`, and the logarithms of their deviations, which no input changes."""

    def __init__(self, actions: int, bounded: bool = False) -> None:
        super().__init__()
        self.mean = torch.nn.Linear(4, actions)
        self.log_std = torch.nn.Parameter(torch.randn(actions))
        self.register_buffer("bound", torch.tensor([9.0]) if bounded else None)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        log_std, mean = self.log_std, self.mean(rows)
        if self.bound is not None:
            log_std = torch.clamp(log_std, -self.bound, self.bound)
        return torch.cat([mean, log_std.expand_as(mean)], -1)


class KerasGaussian(keras.Model):
    def __init__(self, actions: int) -> None:
        super().__init__()
        self.mean = layers.Dense(actions)
        self.log_std = self.add_weight(
            shape=(actions,), initializer="random_normal", name="log_std"
        )

    def call(self, rows):
        mean = self.mean(rows)
        return ops.concatenate([mean, ops.broadcast_to(self.log_std, ops.shape(mean))], -1)


class ChainerGaussian(chainer.Chain):
    def __init__(self, actions: int) -> None:
        super().__init__()
        with self.init_scope():
            self.mean = L.Linear(4, actions)
            self.log_std = chainer.Parameter(np.random.normal(size=actions).astype("float32"))

    def forward(self, rows):
        mean = self.mean(rows)
        return F.concat([mean, F.broadcast_to(self.log_std, mean.shape)], axis=1)


GAUSSIANS = {"torch": TorchGaussian, "keras": KerasGaussian, "chainer": ChainerGaussian}


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("actions", [1, 3])
def test_a_free_log_standard_deviation(source, target, actions):
    result = parity.transfer(GAUSSIANS[source](actions), GAUSSIANS[target](actions), inputs=ROWS)
    assert result.verdict == "parity", result.report
    assert [row.role for row in result.table.rows] == ["kernel", "bias", "joined"]
    assert result.table.left == ((), ())


@pytest.mark.parametrize("turned", [False, True])
def test_bounds_beside_it_are_no_second_tensor(turned):
    models = [TorchGaussian(3), TorchGaussian(3, bounded=True)][:: -1 if turned else 1]
    result = parity.transfer(*models, inputs=ROWS)
    assert result.verdict == "parity", result.report
    side = "source" if turned else "target"
    assert f"bound: buffers that the {side} alone holds" in result.table.notes
    assert result.table.left == ((), ())


class TorchTokens(torch.nn.Module):
    """Words with learned tokens before them, and one behind them where it has an end."""

    def __init__(self, tokens: int, end: bool = False) -> None:
        super().__init__()
        self.tokens = torch.nn.ParameterList(torch.randn(1, 1, 6) for _ in range(tokens))
        self.end = torch.nn.Parameter(torch.randn(6)) if end else None
        self.layer = torch.nn.Linear(6, 3)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        count = words.shape[0]
        every = [*(token.expand(count, -1, -1) for token in self.tokens), words]
        if self.end is not None:
            every.append(self.end.expand(count, 1, -1))
        return torch.tanh(self.layer(torch.cat(every, 1)))


class KerasTokens(keras.Model):
    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = [
            self.add_weight(shape=(6,), initializer="random_normal", name=f"token{n}")
            for n in reversed(range(tokens))
        ][::-1]  # made in another order than they are read in
        self.layer = layers.Dense(3, "tanh")

    def call(self, words):
        count = ops.shape(words)[0]
        every = [ops.broadcast_to(token, (count, 1, 6)) for token in self.tokens]
        return self.layer(ops.concatenate([*every, words], 1))


@pytest.mark.parametrize("turned", [False, True])
def test_tokens_in_front_in_the_order_in_which_they_are_read(turned):
    models = [TorchTokens(2), KerasTokens(2)][:: -1 if turned else 1]
    result = parity.transfer(*models, inputs=WORDS)
    assert result.verdict == "parity", result.report
    joined = [row.source + row.target for row in result.table.rows if row.role == "joined"]
    assert [{name[-1] for name in names} for names in joined] == [{"0"}, {"1"}]


def test_of_more_tokens_none_is_guessed():
    result = parity.transfer(TorchTokens(1), TorchTokens(1, end=True), inputs=WORDS)
    assert result.verdict == "diverged"
    assert result.table.left == (("tokens.0",), ("end", "tokens.0"))


class Reordered(torch.nn.Module):
    """Says which of its inputs stands where."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.randperm(6))
        self.layer = torch.nn.Linear(6, 3)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.layer(rows[:, self.places])


def test_places_are_no_weights():
    torch.manual_seed(0)
    source, target = Reordered(), Reordered()
    places = target.places.tolist()
    result = parity.transfer(source, target, inputs=WORDS[0])
    assert target.places.tolist() == places != source.places.tolist()
    assert result.table.left == (("places",), ("places",))


class Tied(torch.nn.Module):
    """The kernel of its layer is beside what the layer gives: one part, not two."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 6, bias=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.layer(rows), self.layer.weight])


def test_what_a_layer_multiplies_by_is_known_by_that():
    result = parity.transfer(Tied(), Tied(), inputs=WORDS[0])
    assert result.verdict == "parity"
    assert [row.role for row in result.table.rows] == ["kernel"]


class TorchBesideAnAction(torch.nn.Module):
    """An image's features, flattened, beside what an action was turned into."""

    def __init__(self, makes, width):
        super().__init__()
        self.makes, self.conv = makes, torch.nn.Conv2d(3, 4, 3)
        self.out = torch.nn.Linear(4 * 36 + width, 7)

    def forward(self, image, action):
        features = torch.relu(self.conv(image.permute(0, 3, 1, 2))).flatten(1)
        return self.out(torch.cat([features, self.makes(action)], 1))


class KerasBesideAnAction(keras.Model):
    def __init__(self, makes):
        super().__init__()
        self.makes, self.out = makes, layers.Dense(7)
        self.conv = layers.Conv2D(4, 3, activation="relu")

    def call(self, image, action):
        features = self.conv(image)
        features = tf.reshape(features, (tf.shape(features)[0], -1))  # by a shape that it computes
        return self.out(ops.concatenate([features, self.makes(action)], -1))


EYE = np.eye(5, dtype="f")
BESIDE = {
    "one-hot": (
        lambda a: torch.nn.functional.one_hot(a, 5).float(),
        lambda a: ops.one_hot(a, 5),
        5,
    ),
    "a row of the identity": (
        lambda a: torch.from_numpy(EYE)[a],
        lambda a: ops.take(ops.convert_to_tensor(EYE), a, axis=0),
        5,
    ),
    "compared with each": (
        lambda a: (a[:, None] == torch.arange(5)).float(),
        lambda a: ops.cast(ops.equal(a[:, None], ops.arange(5)), "float32"),
        5,
    ),
    "its number": (lambda a: a.float()[:, None], lambda a: ops.cast(a, "float32")[:, None], 1),
}


@pytest.mark.parametrize("case", BESIDE)
@pytest.mark.parametrize("turned", [False, True])
def test_pixels_are_followed_beside_what_is_made_in_another_way(case, turned):
    source, target, width = BESIDE[case]
    models = [TorchBesideAnAction(source, width), KerasBesideAnAction(target)]
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(6, 8, 8, 3)).astype("f"), rng.integers(0, 5, 6)
    models[1](*inputs)
    result = parity.transfer(*(models[::-1] if turned else models), inputs)
    assert result.verdict == "parity", str(result)
