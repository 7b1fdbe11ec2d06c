"""A transfer that diverges says why and what would help; forced, it writes what was paired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers
from torch import nn

import parity
from parity.cli import main
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F, L = chainer.functions, chainer.links
X = np.random.default_rng(0).standard_normal((5, 4)).astype("f")


def source() -> Any:
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def in_torch() -> Any:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def in_keras() -> Any:
    hidden = layers.Dense(6, activation="relu")
    return keras.Sequential([keras.Input((4,)), hidden, layers.Dense(2)])


def in_chainer() -> Any:
    return chainer.Sequential(L.Linear(4, 6), F.relu, L.Linear(6, 2))


class Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        draw = np.random.default_rng(1)
        sizes = (4, 6), (6,), (6, 2), (2,)
        self.w = [tf.Variable(draw.standard_normal(size).astype("f")) for size in sizes]

    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.w[0] + self.w[1]) @ self.w[2] + self.w[3]


def tanh_in_keras() -> Any:
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(6, activation="tanh"), layers.Dense(2)]
    )


def tanh_in_chainer() -> Any:
    return chainer.Sequential(L.Linear(4, 6), F.tanh, L.Linear(6, 2))


SOURCES = [source, tanh_in_keras, tanh_in_chainer]


def contents(model: Any) -> list[Any]:
    if isinstance(model, nn.Module):
        return [one.detach().numpy().copy() for one in model.parameters()]
    if isinstance(model, keras.Model):
        return [np.asarray(one).T for one in model.get_weights()]
    if isinstance(model, tf.Module):
        return [one.numpy().T for one in model.w]
    return [model[n].__dict__[key].array.copy() for n in (0, 2) for key in "Wb"]


each_source = pytest.mark.parametrize("build_source", SOURCES)
each_target = pytest.mark.parametrize("build", [in_torch, in_keras, in_chainer, Module])


@each_source
@each_target
def test_it_prints_why_and_what_would_help(
    build_source: Callable[[], Any], build: Callable[[], Any]
) -> None:
    target = build()
    before = contents(target)
    result = parity.transfer(build_source(), target, X)
    assert result.verdict == "diverged" and not result.written
    assert all(map(np.array_equal, contents(target), before))
    text = str(result)
    assert str(result.report) in text and "relu in place of tanh" in text
    where, force = result.hints
    assert where.startswith("every tensor has a partner, so the target computes something else at ")
    assert "relu in place of tanh" in where
    assert force == "force=True (--force) writes the 4 tensors that were paired all the same"
    assert all(hint in text and hint in result.to_markdown() for hint in result.hints)
    assert result.to_dict()["hints"] == [where, force]


@each_source
@each_target
def test_forced_it_writes_what_was_paired_and_the_verdict_stays(
    build_source: Callable[[], Any], build: Callable[[], Any]
) -> None:
    source, target = build_source(), build()
    result = parity.transfer(source, target, X, force=True)
    assert result.verdict == "diverged" and result.written
    assert all(map(np.array_equal, contents(target), contents(source)))
    assert "; written all the same\n" in str(result) and "force=True" not in str(result)
    assert not [hint for hint in result.hints if "force" in hint]


def test_forced_what_has_no_partner_stays_as_it_was() -> None:
    model = source()
    target = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Linear(5, 2))
    before = contents(target)
    result = parity.transfer(model, target, X, force=True)
    assert result.written and np.array_equal(contents(target)[0], contents(model)[0])
    left = set(result.table.left[1])
    assert left
    names = dict(zip((name for name, _ in target.named_parameters()), range(6), strict=True))
    assert all(np.array_equal(contents(target)[names[n]], before[names[n]]) for n in left)
    hint = result.hints[0]
    assert hint.startswith("no partner was found for ") and all(name in hint for name in left)
    assert "map=" in hint and "parity.structure" in hint


@each_target
def test_where_nothing_was_paired_no_transfer_is_advised(build: Callable[[], Any]) -> None:
    result = parity.transfer(source(), build(), X, map={"pairs": []})
    assert result.report.divergences[0].cause.kind == "weights-not-shared"
    (left,) = result.hints
    assert left.startswith("no partner was found for ")
    assert "Transfer them" not in str(result) and "0 tensors that" not in str(result)


def test_other_epsilons_are_reported_with_what_takes_them_up() -> None:
    def model(epsilon: float) -> Any:
        norm = nn.BatchNorm1d(6, eps=epsilon)
        norm.running_var.uniform_(0.1, 1)
        return nn.Sequential(nn.Linear(4, 6), norm, nn.Linear(6, 2)).eval()

    source, target = model(1e-5), model(1e-2)
    result = parity.transfer(source, target, X)
    assert result.verdict == "diverged"
    assert any("adapt_variances=True (--adapt-variances)" in hint for hint in result.hints)
    result = parity.transfer(source, target, X, adapt_variances=True)
    assert result.verdict == "parity" and not result.hints
    assert "what would help" not in str(result) and str(result) == result.summary()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forced_nets.py").write_text(
        "from torch import nn\n"
        "def one(): return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))\n"
        "def other(): return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))\n"
    )
    words = ["transfer", "forced_nets:one", "forced_nets:other", "--random", "5,4", "-o", "out.npz"]
    assert main(words) == 1 and not Path("out.npz").exists()
    said = capsys.readouterr().out
    assert said.count("what would help:") == 1
    assert said.count("largest difference") == 1  # the report, once
    assert main([*words, "--force"]) == 1
    assert "written all the same" in capsys.readouterr().out
    assert len(np.load("out.npz").files) == 4


def test_a_source_that_has_acted_is_distinguished_from_a_wrong_target() -> None:
    class Acting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.GRUCell(4, 8), nn.Linear(8, 2)
            self.h: Any = None

        def forward(self, x: Any) -> Any:
            self.h = self.cell(x, self.h)
            return self.head(self.h)

    source, target = Acting(), Acting()
    source(torch.tensor(X))
    result = parity.transfer(source, target, X)
    assert result.verdict == "diverged"
    assert "(closest: the candidate starts from a state of zeros, " in result.hints[0]
    source.h = None
    result = parity.transfer(source, target, X)
    assert result.verdict == "parity" and not result.hints
