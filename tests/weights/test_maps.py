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
import parity.weights.transfer
from parity.errors import UsageError
from tests.weights import transfer_models as nets

F, L, nn = nets.F, nets.L, torch.nn
RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(7, 5)).astype("f")


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("f")


# One gate in two forms, equal in values and in no operation: nothing determines the partners.
# Of two gates with scales of one size, not even what is left over does.


class TorchGate(nn.Module):
    def __init__(self, gates: int = 2) -> None:
        super().__init__()
        self.alpha, self.square = nn.Parameter(torch.rand(5)), nn.Parameter(torch.rand(5, 5))
        self.beta = nn.Parameter(torch.rand(5)) if gates > 1 else None

    def forward(self, x: Any) -> Any:
        products = (x @ self.square).cos().sum(-1)[:, None]
        for alpha in (self.alpha, self.beta):
            if alpha is not None:
                p = torch.sigmoid(x)
                x = torch.tanh(p * x + (1 - p) * alpha * x)
        return x * products


class TensorFlowGate(tf.Module):
    def __init__(self, gates: int = 2) -> None:
        super().__init__()
        self.s, self.a = tf.Variable(tf.zeros((5, 5))), tf.Variable(tf.zeros(5))
        self.b = tf.Variable(tf.zeros(5)) if gates > 1 else None

    def __call__(self, x: Any) -> Any:
        sums = tf.reduce_sum(tf.cos(tf.reduce_sum(x[:, None] * self.s, -1)), -1, keepdims=True)
        for alpha in (self.a, self.b):
            x = x if alpha is None else tf.tanh(x * (alpha + (1 - alpha) * tf.sigmoid(x)))
        return x * sums


class KerasGate(keras.Model):
    def __init__(self, gates: int = 2) -> None:
        super().__init__()
        self.alphas = [self.add_weight(shape=(5,), name=name) for name in "ab"[:gates]]
        self.s = self.add_weight(shape=(5, 5), name="s")

    def call(self, x: Any) -> Any:
        sums = ops.sum(ops.cos(ops.sum(x[:, None] * self.s, -1)), -1, keepdims=True)
        for alpha in self.alphas:
            x = ops.tanh(x * (alpha + (1 - alpha) * ops.sigmoid(x)))
        return x * sums


class ChainerGate(nets.chainer.Chain):
    def __init__(self, gates: int = 2) -> None:
        super().__init__()
        with self.init_scope():
            self.s, self.a = (nets.chainer.Parameter(drawn(*n)) for n in ((5, 5), (5,)))
            self.b = nets.chainer.Parameter(drawn(5)) if gates > 1 else None

    def forward(self, x: Any) -> Any:
        wide = (x.shape[0], 5, 5)
        rows = F.broadcast_to(F.expand_dims(x, 1), wide) * F.broadcast_to(self.s, wide)
        sums = F.sum(F.cos(F.sum(rows, axis=2)), axis=1, keepdims=True)
        for own in (self.a, self.b):
            if own is not None:
                alpha = F.broadcast_to(own, x.shape)
                x = F.tanh(x * (alpha + (1 - alpha) * F.sigmoid(x)))
        return x * F.broadcast_to(sums, x.shape)


@pytest.fixture(autouse=True)
def _without_pairing_by_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are about maps: what they pair is found by effect where there is none."""
    monkeypatch.setattr(parity.weights.transfer, "with_effects", lambda one, other, ways: ways)


GATES = {"tf": TensorFlowGate, "keras": KerasGate, "chainer": ChainerGate}
each_gate = pytest.mark.parametrize("name", GATES)


NAMES = ("alpha", "beta", "square")


def named(result: Any) -> list[str]:
    """The target's names of what the source calls alpha, beta and square."""
    left = result.table.left
    assert len(left[1]) == 3 and sorted(left[0]) == [*NAMES], str(result)
    return sorted(left[1], key=lambda one: one.split(":")[0].rpartition("/")[2])


def entries(names: list[str]) -> list[dict[str, Any]]:
    own = zip(NAMES, names, strict=True)
    return [{"role": "weight", "source": [one], "target": [other]} for one, other in own]


@each_gate
def test_a_map_pairs_what_the_tool_does_not(name: str) -> None:
    """The square is written as it is or transposed: running both decides which."""
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    first = parity.transfer(source, target, INPUTS)
    assert first.verdict == "diverged" and not first.written
    names = named(first)
    assert '"role": "weight", "source": ["alpha"]' in first.hints[0]
    given = first.pairing.to_map()
    given["pairs"] += entries(names)
    given["pairs"][-1]["role"] = "any word"
    result = parity.transfer(source, target, INPUTS, map=given)
    assert result.verdict == "parity" and result.written, str(result)
    assert result.table.left == ((), ()) and not result.hints
    assert {row.role: row.done for row in result.table.rows} == {
        "weight": "taken as it is",
        "any word": "axes taken as (1,0)",
    }
    again = parity.transfer(source, target, INPUTS, map=result.pairing.to_map())
    assert again.verdict == "parity" and again.pairing.to_map() == result.pairing.to_map()


@each_gate
def test_parity_does_not_hide_what_was_not_moved(name: str) -> None:
    """Untrained, they agree whatever is moved; trained, they would not."""
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    with torch.no_grad():
        source.alpha.fill_(0.25), source.beta.fill_(0.25), source.square.fill_(0.5)
    names = named(parity.transfer(source, target, INPUTS))
    for tensor in parity.frameworks.load(target.framework).tensors(target.obj):
        tensor.write(np.full(tensor.shape, 0.25 if tensor.name != names[2] else 0.5, "f"))
    result = parity.transfer(source, target, INPUTS)
    assert result.report.verdict == "parity"
    assert result.verdict == "unverified" and result.written
    assert result.hints[0].startswith("no partner was found for ")
    note = next(note for note in result.table.notes if "were not moved" in note)
    assert all(one in note for one in (*names, *NAMES))


@each_gate
def test_what_has_the_values_already_needs_no_moving(name: str) -> None:
    source, target = TorchGate(), nets.shuffled(GATES[name](), INPUTS)
    names = named(parity.transfer(source, target, INPUTS))
    numbers = [getattr(source, name).detach().numpy().T for name in NAMES]
    held = dict(zip(names, numbers, strict=True))
    for tensor in parity.frameworks.load(target.framework).tensors(target.obj):
        tensor.write(held[tensor.name])
    assert parity.transfer(source, target, INPUTS).verdict == "parity"


def test_axes_are_taken_as_stated() -> None:
    source, target = TorchGate(), nets.shuffled(TensorFlowGate(), INPUTS)
    pairs = entries(named(parity.transfer(source, target, INPUTS)))
    pairs[2]["axes"] = [0, 1]
    wrong = parity.transfer(source, target, INPUTS, map={"pairs": pairs})
    assert wrong.verdict == "diverged"
    pairs[2]["axes"] = [1, 0]
    assert parity.transfer(source, target, INPUTS, map={"pairs": pairs}).verdict == "parity"


@each_gate
def test_what_alone_is_left_of_its_size_is_tried(name: str) -> None:
    source, target = TorchGate(gates=1), nets.shuffled(GATES[name](gates=1), INPUTS)
    result = parity.transfer(source, target, INPUTS)
    assert result.verdict == "parity" and result.written, str(result)
    assert {row.role for row in result.table.rows} == {"by elimination"}
    assert sum("the only ones left of their size" in note for note in result.table.notes) == 2
    again = parity.transfer(source, target, INPUTS, map=result.pairing.to_map())
    assert again.verdict == "parity"


def test_what_alone_is_left_stays_where_the_two_diverge_all_the_same() -> None:
    source, target = TorchGate(gates=1), nets.shuffled(TensorFlowGate(gates=1), INPUTS)
    before = nets.contents(target)
    result = parity.transfer(nn.Sequential(source, nn.ReLU()), target, INPUTS)
    assert result.verdict == "diverged" and not result.table.rows
    assert all(map(np.array_equal, before, nets.contents(target)))


def test_an_error_lists_what_there_is() -> None:
    source, target = TorchGate(), nets.shuffled(TensorFlowGate(), INPUTS)
    alpha, _, square = named(parity.transfer(source, target, INPUTS))
    entry = {"role": "weight", "source": ["alpha"], "target": [alpha]}
    messages = {
        r"the source has no weight made of \['alhpa'\]. No tensor is called alhpa; there are alpha "
        r"\(3 in all\)": {"source": ["alhpa"]},
        r"the target has no weight made of \['z'\]. .*there are ": {"target": ["z"]},
        r"alpha \(5,\) does not fit .* \(5, 5\)\.": {"target": [square]},
        r"alpha \(5,\) does not fit .* with axes \[1\]": {"axes": [1]},
        r"gets no source, and what a weight is that does nothing is not known": {"source": []},
        r"source has no weight made of \['alpha', 'square'\]. Known there: kernel made of square, "
        r"scale made of alpha. One tensor with one": {"source": ["alpha", "square"]},
        r"pair 1 is .*A map is": {"axes": ["x"]},
    }
    for words, change in messages.items():
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
    held = dict(zip(NAMES, (drawn(5), drawn(5), drawn(5, 5)), strict=True))
    np.savez(tmp_path / "gate.npz", **held)
    target = nets.shuffled(TensorFlowGate(), INPUTS)
    pairs = entries(named(parity.transfer(TorchGate(), target, INPUTS)))
    with pytest.raises(UsageError, match=r'2 orders of its axes.*give one, as "axes": \[1, 0\]'):
        parity.transfer(tmp_path / "gate.npz", target, INPUTS, map={"pairs": pairs})
    pairs[2]["axes"] = [1, 0]
    (tmp_path / "map.json").write_text(json.dumps({"pairs": pairs}))
    result = parity.transfer(tmp_path / "gate.npz", target, INPUTS, map=tmp_path / "map.json")
    assert result.verdict == "unverified" and result.written
    assert np.array_equal(target.obj.s.numpy(), held["square"].T)
    assert np.array_equal(target.obj.a.numpy(), held["alpha"])
