"""What is computed from itself many times over is walked once; else each step doubles the work."""

from __future__ import annotations

import numpy as np
import torch

import parity
from parity.diagnosis.causes._gates import is_read_by_steps
from parity.inputs.preprocessing import record
from parity.walk_once import Once

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)


def unrolled(factor: float):
    def run(x: torch.Tensor) -> torch.Tensor:
        weight = torch.from_numpy(W)
        for _ in range(60):
            weight = (weight + weight.mT.mT) / 2
        return torch.tanh(factor * (x @ weight))

    return parity.wrap(run, framework="torch")


def test_a_static_chain_of_diamonds_ends() -> None:
    assert parity.compare(unrolled(1.0), unrolled(1.0), inputs=X).verdict == "parity"
    assert parity.compare(unrolled(1.0), unrolled(1.5), inputs=X).verdict == "diverged"


def test_the_readers_of_a_leaf_behind_a_static_chain_of_diamonds() -> None:
    model = unrolled(1.0)
    tape = record(model, (X,))
    [leaf] = [one.id for one in tape.values if one.kind == "constant" and one.shape == W.shape]
    assert not is_read_by_steps(tape, leaf)


def test_each_value_comes_once_however_often_it_is_added() -> None:
    todo = Once([1, 2, 2])
    seen = []
    for value in todo:
        seen.append(value)
        todo.add([value + 1] * 3 if value < 5 else [])
    assert sorted(seen) == [1, 2, 3, 4, 5]
