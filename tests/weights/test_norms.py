"""Batch norms: one channel, epsilons, and momenta in three conventions."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import torch
from keras import layers

import parity
from tests.weights import transfer_models as nets

INPUTS = np.random.default_rng(2).normal(size=(3, 4)).astype("f")


def torch_norm(width, kept, epsilon=1e-3):
    nn = torch.nn
    norm = nn.BatchNorm1d(width, eps=epsilon, momentum=None if kept is None else 1 - kept)
    return nn.Sequential(nn.Linear(4, width), norm, nn.Linear(width, 3))


def keras_norm(width, kept, epsilon=1e-3):
    inputs = layers.Input((4,))
    norm = layers.BatchNormalization(momentum=kept, epsilon=epsilon, name="norm")
    return keras.Model(inputs, layers.Dense(3)(norm(layers.Dense(width)(inputs))))


def chainer_norm(width, kept, epsilon=1e-3):
    L = nets.L
    norm = L.BatchNormalization(width, decay=kept, eps=epsilon)
    return nets.chainer.Sequential(L.Linear(4, width), norm, L.Linear(width, 3))


MAKERS = {"torch": torch_norm, "keras": keras_norm, "chainer": chainer_norm}
PAIRS = list(itertools.product(MAKERS, repeat=2))


def transferred(source, target, width, kept=(0.9, 0.9)):
    models = [
        nets.shuffled(MAKERS[name](width, one), INPUTS)
        for name, one in zip((source, target), kept, strict=True)
    ]
    result = parity.transfer(*models, INPUTS)
    assert result.verdict == "parity", f"{result}\n{result.report}"
    assert len(result.table.rows) == 8
    return [note for note in result.table.notes if note.startswith("momentum: ")]


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_one_channel_and_several_with_the_same_momentum(source, target, width):
    assert transferred(source, target, width) == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_another_momentum_is_stated_in_both_conventions(source, target):
    words = {"torch": "momentum {:g} in torch", "chainer": "decay {:g} in chainer"}
    words["keras"] = "momentum {:g} in tensorflow"
    shown = [
        words[name].format(1 - kept if name == "torch" else kept)
        for name, kept in ((source, 0.9), (target, 0.99))
    ]
    (note,) = transferred(source, target, 5, (0.9, 0.99))
    assert f"leaves 0.9 ({shown[0]}) in the source, 0.99 ({shown[1]}) in the target" in note


def test_a_cumulative_average_has_no_momentum():
    assert transferred("torch", "keras", 5, (None, 0.99)) == []


def trained(wrapped):
    return parity.wrap(wrapped.obj, mode="train")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_statistics_that_training_does_not_read_are_written_too(source, target):
    """Training uses the statistics of the batch: the models agree whatever theirs are."""
    models = [nets.shuffled(MAKERS[name](5, 0.9), INPUTS) for name in (source, target)]
    result = parity.transfer(*map(trained, models), INPUTS)
    assert result.verdict == "parity", f"{result}\n{result.report}"
    assert len(result.table.rows) == 8
    assert parity.compare(models[0].obj, models[1].obj, inputs=INPUTS).verdict == "parity"


class TwoBranches(torch.nn.Module):
    """A weight that training alone reads."""

    def __init__(self):
        super().__init__()
        self.norm, self.head = torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3)
        self.more = torch.nn.Linear(4, 3)

    def forward(self, x):
        x = self.norm(x)
        return self.head(x) + self.more(torch.tanh(x)) if self.training else self.head(x)


class TwoKerasBranches(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = layers.BatchNormalization(epsilon=1e-5)
        self.head, self.more = layers.Dense(3), layers.Dense(3)

    def call(self, x, training=False):
        x = self.norm(x, training=training)
        return self.head(x) + self.more(keras.ops.tanh(x)) if training else self.head(x)


def test_statistics_that_could_not_be_written_are_no_parity():
    models = [nets.shuffled(make(), INPUTS) for make in (TwoKerasBranches, TwoBranches)]
    models[0].obj(INPUTS, training=True)  # builds the branch
    result = parity.transfer(*map(trained, models), INPUTS)
    assert result.report.verdict == "parity"
    assert result.verdict == "unverified"
    assert any("in inference they do not" in note for note in result.table.notes), str(result)


class ActorCritic(torch.nn.Module):
    """Gives its value in training alone, under names of its own."""

    def __init__(self, normed):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4) if normed else torch.nn.Tanh()
        self.policy, self.value = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)

    def forward(self, x):
        x = self.norm(x)
        values = {"values": self.value(x)} if self.training else {}
        return {"actions": self.policy(x), **values}


class Both(ActorCritic):
    """Gives both whenever it is called."""

    def forward(self, x):
        x = self.norm(x)
        return {"logits": self.policy(x), "value": self.value(x)}


@pytest.mark.parametrize("normed", [False, True])
def test_inference_with_other_outputs_is_asked_for_nothing_but_its_own_tensors(normed):
    models = [nets.shuffled(make(normed), INPUTS) for make in (Both, ActorCritic)]
    result = parity.transfer(*map(trained, models), INPUTS)
    assert result.report.verdict == "parity"
    assert result.verdict == ("unverified" if normed else "parity"), str(result)
    assert any("in inference they do not" in note for note in result.table.notes) == normed
