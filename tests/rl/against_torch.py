"""What checks ask of torch, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .checking import same

torch = pytest.importorskip("torch")
D = torch.distributions
F = torch.nn.functional


def tensor(array: Any) -> Any:
    return torch.from_numpy(np.asarray(array, np.float64))


def kl(first: Any, second: Any) -> Any:
    """The KL of torch; of choices from logarithms, where torch itself takes underflow for 0."""
    if isinstance(first, D.Categorical):
        return F.kl_div(second.logits, first.logits, reduction="none", log_target=True).sum(-1)
    return D.kl_divergence(first, second)


def check_like_torch(
    pair: Any, other: Any, expected: Any, expected_other: Any, actions: Any, scale: float
) -> None:
    """Log-probabilities, entropy and KL of a distribution and of another of its kind."""
    same(pair.log_prob(actions), expected.log_prob(tensor(actions)), scale)
    same(pair.entropy(), expected.entropy(), scale)
    same(pair.kl(other), kl(expected, expected_other), scale)
    assert pair.batch_shape == tuple(expected.batch_shape)
    assert pair.event_shape == tuple(expected.event_shape)


def inverse(probabilities: Any, noise: float) -> int:
    """The first choice whose cumulative probability is above the noise."""
    total = 0.0
    for choice, p in enumerate(probabilities):
        total += p
        if total > noise:
            return choice
    return max(choice for choice, p in enumerate(probabilities) if p > 0)


def stds(draw: Any, shape: Any) -> Any:
    return np.exp(draw.uniform(-3, 1, shape))
