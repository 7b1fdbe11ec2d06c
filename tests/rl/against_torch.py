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


def kl(ours: Any, theirs: Any) -> Any:
    """The KL of torch; of choices from logarithms, where torch itself takes underflow for 0."""
    if isinstance(ours, D.Categorical):
        return F.kl_div(theirs.logits, ours.logits, reduction="none", log_target=True).sum(-1)
    return D.kl_divergence(ours, theirs)


def check_like_torch(
    pair: Any, other: Any, theirs: Any, theirs_other: Any, actions: Any, scale: float
) -> None:
    """Log-probabilities, entropy and KL of a distribution and of another of its kind."""
    same(pair.log_prob(actions), theirs.log_prob(tensor(actions)), scale)
    same(pair.entropy(), theirs.entropy(), scale)
    same(pair.kl(other), kl(theirs, theirs_other), scale)
    assert pair.batch_shape == tuple(theirs.batch_shape)
    assert pair.event_shape == tuple(theirs.event_shape)


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
