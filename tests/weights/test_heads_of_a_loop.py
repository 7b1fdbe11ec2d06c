"""Heads that read a state within a loop: one layer in one model, several in the other."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from torch import nn

import parity
from parity.weights.transfer import Transfer

X = np.random.default_rng(5).standard_normal((4, 5, 3)).astype("f")
UNITS, WORDS = 6, 4


class Split(nn.Module):
    """A memory that is written and read at each step, with a layer for each thing it needs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.into = nn.Linear(3 + WORDS, UNITS)
        self.key, self.strength = nn.Linear(UNITS, WORDS), nn.Linear(UNITS, 1)
        self.erase, self.gate = nn.Linear(UNITS, WORDS), nn.Linear(UNITS, 1)
        self.out = nn.Linear(UNITS, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        memory, outputs = torch.zeros(len(x), WORDS), []
        for step in range(x.shape[1]):
            h = torch.tanh(self.into(torch.cat([x[:, step], memory], 1)))
            found = torch.softmax(self.strength(h) * torch.tanh(self.key(h)), -1)
            kept = torch.sigmoid(self.erase(h)) * torch.sigmoid(self.gate(h))
            memory = memory * kept + found
            outputs.append(self.out(h))
        return torch.stack(outputs, 1)


class Fused(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(8)
        sizes = ((3 + WORDS, UNITS), (UNITS, WORDS + 1), (UNITS, WORDS + 1), (UNITS, 2))
        self.w = [tf.Variable(random.standard_normal(size).astype("f") / 2) for size in sizes]
        self.b = [tf.Variable(random.standard_normal(size[1]).astype("f") / 4) for size in sizes]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        memory, outputs = tf.zeros((len(x), WORDS)), []
        for step in range(x.shape[1]):
            h = tf.tanh(tf.concat([x[:, step], memory], 1) @ self.w[0] + self.b[0])
            strength, key = tf.split(h @ self.w[1] + self.b[1], [1, WORDS], 1)
            erase, gate = tf.split(h @ self.w[2] + self.b[2], [WORDS, 1], 1)
            memory = memory * tf.sigmoid(erase) * tf.sigmoid(gate)
            memory += tf.nn.softmax(strength * tf.tanh(key))
            outputs.append(h @ self.w[3] + self.b[3])
        return tf.stack(outputs, 1)


def transferred() -> Transfer:
    return parity.transfer(
        parity.wrap(Split().eval(), framework="torch", inputs=X),
        parity.wrap(Fused(), framework="tensorflow", inputs=X),
    )


def test_heads_are_joined_as_they_run() -> None:
    found = transferred()
    assert found.verdict == "parity"
    joined = [pair for pair in found.pairing.pairs if len(pair.source_names) > 1]
    assert {pair.role for pair in joined} == {"inner kernel", "inner bias"}
    assert [pair.target_names for pair in joined if pair.role == "inner bias"] == [
        ("b/1",),
        ("b/2",),
    ]


def test_without_that_they_are_searched_for_by_what_they_do(monkeypatch) -> None:
    monkeypatch.setattr(
        "parity.weights.standalone_parameters._joined_as", lambda several, others: list(several)
    )
    roles = {pair.role for pair in transferred().pairing.pairs if len(pair.source_names) > 1}
    assert roles == {"by effect"}
