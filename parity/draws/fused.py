"""Kernels that fuse a draw and a transform, separated into a draw and what is made of it.

What such a kernel gave is kept; the draw behind it is worked out so that the transform gives it
again. Where several draws would, one is chosen as the distribution has it, given the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.arrays import Array, log_softmax


def bernoulli_noise(result: Array, p: Array, random: np.random.Generator) -> Array:
    """Uniform samples that are below `p` where the result is not 0."""
    place = random.uniform(0.001, 0.999, result.shape)
    p = np.broadcast_to(np.asarray(p, np.float64), result.shape)
    return np.where(result > 0.5, p * place, p + (1 - p) * place)


def bernoulli(noise: Array, p: Array) -> Sequence[Array]:
    return [(noise < p).astype(np.float64)]


def normal_noise(result: Array, mean: Array, std: Array) -> Array:
    """The standard normal samples behind a result."""
    scale = np.asarray(std, np.float64)
    moved = np.asarray(result, np.float64) - np.asarray(mean, np.float64)
    return np.divide(moved, scale, out=np.zeros(result.shape), where=scale != 0)


def normal(noise: Array, mean: Array | float, std: Array | float) -> Sequence[Array]:
    return [mean + std * noise]


def log_shares(logits: Array) -> Sequence[Array]:
    """Logarithms of probabilities over the last axis, of logits."""
    return [log_softmax(np.asarray(logits, np.float64))]


def log_probabilities(weights: Array) -> Sequence[Array]:
    """Logarithms of weights that are normalised over the last axis."""
    weights = np.asarray(weights, np.float64)
    return [np.log(weights / weights.sum(axis=-1, keepdims=True))]


def categorical_noise(chosen: Array, logits: Array, random: np.random.Generator) -> Array:
    """Gumbel noise with which the largest of `logits` plus noise is the one that was chosen.

    Args:
        chosen: (..., samples), indices.
        logits: (..., classes), normalised.

    Returns:
        (..., samples, classes), as drawn from the noise's distribution given the choice
        (Maddison et al. 2014, A* Sampling, appendix B).
    """
    spread = np.broadcast_to(
        np.asarray(logits, np.float64)[..., None, :], (*chosen.shape, logits.shape[-1])
    )
    noise = random.gumbel(size=spread.shape)
    largest = random.gumbel(size=chosen.shape)[..., None]
    with np.errstate(all="ignore"):
        below = -np.log(np.exp(-largest) + np.exp(-(spread + noise)) + 1e-9)
        found = np.where(np.isfinite(spread), below - spread, noise)
        hit = np.arange(spread.shape[-1]) == chosen[..., None]
        return np.where(hit, largest - spread, found)


def categorical(noise: Array, logits: Array) -> Sequence[Array]:
    return [np.argmax(logits[..., None, :] + noise, axis=-1)]


def subset_noise(chosen: Array, logits: Array, random: np.random.Generator) -> Array:
    """Gumbel noise with which the largest of `logits` plus noise are those chosen, in their order.

    Args:
        chosen: (..., samples), indices, each once.
        logits: (..., classes), normalised.
    """
    logits = np.asarray(logits, np.float64)
    left = logits.copy()
    noise = np.empty(logits.shape)
    bound = np.full((*chosen.shape[:-1], 1), np.inf)
    with np.errstate(all="ignore"):
        for at in range(chosen.shape[-1]):
            total = np.log(np.exp(left).sum(axis=-1, keepdims=True))
            drawn = total + random.gumbel(size=total.shape)
            bound = -np.log(np.exp(-bound) + np.exp(-drawn))
            here = chosen[..., at : at + 1]
            np.put_along_axis(noise, here, bound - np.take_along_axis(logits, here, -1), -1)
            np.put_along_axis(left, here, -np.inf, -1)
        drawn = logits + random.gumbel(size=logits.shape)
        below = -np.log(np.exp(-bound) + np.exp(-drawn) + 1e-9) - logits
        return np.where(np.isfinite(left), below, noise)


def subset(count: int, noise: Array, logits: Array) -> Sequence[Array]:
    return [np.argsort(-(logits + noise), axis=-1, kind="stable")[..., :count]]


def leaky_noise(
    slope: Array, x: Array, low: float, high: float, random: np.random.Generator
) -> Array:
    """Uniform samples behind the slopes of a randomised leaky ReLU; free where `x` is positive."""
    width = (high - low) or 1.0
    return np.where(x > 0, random.random(x.shape), (slope.astype(np.float64) - low) / width)


def leaky(low: float, high: float, noise: Array, x: Array) -> Sequence[Array]:
    slope = np.where(x > 0, 1.0, low + (high - low) * noise)
    return [slope, x * slope]
