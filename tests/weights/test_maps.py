"""A map decides what the tool does not know; and what was not moved is never hidden by parity."""

from __future__ import annotations

import json
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers, ops

import parity
import parity.frameworks
from parity.errors import UsageError
from tests.weights import transfer_models as nets

F, L, nn = nets.F, nets.L, torch.nn
RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(7, 5)).astype("f")


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("f")


# One gate in two forms that are equal in numbers and in no operation: nothing tells the partners.


class TorchGate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.square = (nn.Parameter(torch.rand(5)), nn.Parameter(torch.rand(5, 5)))

    def forward(self, x: Any) -> Any:
        p = torch.sigmoid(x)
        return (
            torch.relu(p * x + (1 - p) * self.alpha * x) * (x @ self.square).cos().sum(-1)[:, None]
        )


def gate(x: Any, alpha: Any, products: Any, sigmoid: Any, relu: Any) -> Any:
    return relu(x * (alpha + (1 - alpha) * sigmoid(x))) * products


class TensorFlowGate(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.s = tf.Variable(tf.zeros(5)), tf.Variable(tf.zeros((5, 5)))

    def __call__(self, x: Any) -> Any:
        sums = tf.reduce_sum(tf.cos(tf.reduce_sum(x[:, None] * self.s, -1)), -1, keepdims=True)
        return gate(x, self.a, sums, tf.sigmoid, tf.nn.relu)


class KerasGate(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.s = (
            self.add_weight(shape=(5,), name="a"),
            self.add_weight(shape=(5, 5), name="s"),
        )

    def call(self, x: Any) -> Any:
        sums = ops.sum(ops.cos(ops.sum(x[:, None] * self.s, -1)), -1, keepdims=True)
        return gate(x, self.a, sums, ops.sigmoid, ops.relu)


class ChainerGate(nets.chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.a, self.s = (nets.chainer.Parameter(drawn(*n)) for n in ((5,), (5, 5)))

    def forward(self, x: Any) -> Any:
        wide = (x.shape[0], 5, 5)
        rows = F.broadcast_to(F.expand_dims(x, 1), wide) * F.broadcast_to(self.s, wide)
        sums = F.sum(F.cos(F.sum(rows, axis=2)), axis=1, keepdims=True)
        alpha = F.broadcast_to(self.a, x.shape)
        return gate(x, alpha, F.broadcast_to(sums, x.shape), F.sigmoid, F.relu)


GATES = {"tf": TensorFlowGate, "keras": KerasGate, "chainer": ChainerGate}
each_gate = pytest.mark.parametrize("name", GATES)


def named(result: Any) -> tuple[str, str]:
    """The target's names of what the source calls alpha and square."""
    left = result.table.left[1]
    assert len(left) == 2 and result.table.left[0] == ("alpha", "square"), str(result)
    own = sorted(left, key=lambda one: one.split(":")[0].rpartition("/")[2])
    return own[0], own[1]


@each_gate
def test_a_map_pairs_what_the_tool_does_not(name: str) -> None:
    """The square is written as it is or transposed: running both tells which."""
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    first = parity.transfer(source, target, INPUTS)
    assert first.verdict == "diverged" and not first.written
    alpha, square = named(first)
    assert '"role": "weight", "source": ["alpha"]' in first.hints[0]
    given = first.pairing.to_map()
    given["pairs"] += [
        {"role": "weight", "source": ["alpha"], "target": [alpha]},
        {"role": "any word", "source": ["square"], "target": [square]},
    ]
    result = parity.transfer(source, target, INPUTS, map=given)
    assert result.verdict == "parity" and result.written, str(result)
    assert result.table.left == ((), ()) and not result.hints
    assert {row.role: row.done for row in result.table.rows} == {
        "weight": "as told",
        "any word": "as told, axes (1,0)",
    }
    again = parity.transfer(source, target, INPUTS, map=result.pairing.to_map())
    assert again.verdict == "parity" and again.pairing.to_map() == result.pairing.to_map()


@each_gate
def test_parity_does_not_hide_what_was_not_moved(name: str) -> None:
    """Untrained, they agree whatever is moved; trained, they would not."""
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    with torch.no_grad():
        source.alpha.fill_(0.25), source.square.fill_(0.5)
    names = named(parity.transfer(source, target, INPUTS))
    for tensor in parity.frameworks.load(target.framework).tensors(target.obj):
        tensor.write(np.full(tensor.shape, 0.25 if tensor.name == names[0] else 0.5, "f"))
    result = parity.transfer(source, target, INPUTS)
    assert result.report.verdict == "parity"
    assert result.verdict == "unverified" and result.written
    assert "no partner was found for alpha, square of the source and " in result.hints[0]
    note = next(note for note in result.table.notes if "were not moved" in note)
    assert all(one in note for one in (*names, "alpha", "square"))


@each_gate
def test_what_has_the_numbers_already_needs_no_moving(name: str) -> None:
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    names = named(parity.transfer(source, target, INPUTS))
    held = {names[0]: source.alpha.detach().numpy(), names[1]: source.square.detach().numpy().T}
    for tensor in parity.frameworks.load(target.framework).tensors(target.obj):
        tensor.write(held[tensor.name])
    assert parity.transfer(source, target, INPUTS).verdict == "parity"


def test_axes_are_taken_as_told() -> None:
    source, target = TorchGate(), nets.shuffled(TensorFlowGate(), INPUTS)
    alpha, square = named(parity.transfer(source, target, INPUTS))
    one = {"role": "weight", "source": ["alpha"], "target": [alpha]}
    other = {"role": "weight", "source": ["square"], "target": [square], "axes": [0, 1]}
    wrong = parity.transfer(source, target, INPUTS, map={"pairs": [one, other]})
    assert wrong.verdict == "diverged"
    right = {**other, "axes": [1, 0]}
    assert parity.transfer(source, target, INPUTS, map={"pairs": [one, right]}).verdict == "parity"


def test_an_error_lists_what_there_is() -> None:
    source, target = TorchGate(), nets.shuffled(TensorFlowGate(), INPUTS)
    alpha, square = named(parity.transfer(source, target, INPUTS))
    entry = {"role": "weight", "source": ["alpha"], "target": [alpha]}
    told = {
        r"the source has no weight made of \['alhpa'\]. No tensor is called alhpa; there are alpha "
        r"\(2 in all\)": {"source": ["alhpa"]},
        r"the target has no weight made of \['b'\]. .*there are ": {"target": ["b"]},
        r"alpha \(5,\) does not fit .* \(5, 5\)\.": {"target": [square]},
        r"alpha \(5,\) does not fit .* with axes \[1\]": {"axes": [1]},
        r"gets no source, and what a weight is that does nothing is not known": {"source": []},
        r"source has no weight made of \['alpha', 'square'\]. Known there: kernel made of square, "
        r"scale made of alpha. One tensor with one": {"source": ["alpha", "square"]},
        r"pair 1 is .*A map is": {"axes": ["x"]},
    }
    for words, change in told.items():
        with pytest.raises(UsageError, match=words):
            parity.transfer(source, target, INPUTS, map={"pairs": [{**entry, **change}]})


def test_the_roles_need_not_be_the_tools_own() -> None:
    """A kernel under another word is converted as the kernel that it is."""
    source = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5))
    target = keras.Sequential([keras.Input((5,)), layers.Dense(5, "tanh"), layers.Dense(5)])
    given = parity.transfer(source, target, INPUTS).pairing.to_map()
    nets.shuffled(target, INPUTS)
    pairs = [{**one, "role": ""} for one in given["pairs"]]
    result = parity.transfer(source, target, INPUTS, map={"pairs": pairs})
    assert result.verdict == "parity"
    assert [row.role for row in result.table.rows] == ["kernel", "bias", "kernel", "bias"]


def test_a_map_for_a_file_needs_the_axes_of_a_square(tmp_path: Any) -> None:
    alpha, square = drawn(5), drawn(5, 5)
    np.savez(tmp_path / "gate.npz", alpha=alpha, square=square)
    target = nets.shuffled(TensorFlowGate(), INPUTS)
    names = named(parity.transfer(TorchGate(), target, INPUTS))
    pairs = [
        {"role": "weight", "source": [one], "target": [other]}
        for one, other in zip(("alpha", "square"), names, strict=True)
    ]
    with pytest.raises(UsageError, match=r'2 orders of its axes.*give one, as "axes": \[1, 0\]'):
        parity.transfer(tmp_path / "gate.npz", target, INPUTS, map={"pairs": pairs})
    pairs[1]["axes"] = [1, 0]
    (tmp_path / "map.json").write_text(json.dumps({"pairs": pairs}))
    result = parity.transfer(tmp_path / "gate.npz", target, INPUTS, map=tmp_path / "map.json")
    assert result.verdict == "unverified" and result.written
    assert np.array_equal(target.obj.s.numpy(), square.T)
    assert np.array_equal(target.obj.a.numpy(), alpha)
