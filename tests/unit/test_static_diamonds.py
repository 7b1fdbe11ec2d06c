"""What is made of itself many times over is walked once: each step would double the work else."""

from __future__ import annotations

import numpy as np
import torch

import parity

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
