"""Heads of value networks: dueling streams and layers with noisy weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import expect_axes, expect_shape, floats
from parity.tape import Array


def dueling_q(value: Any, advantage: Any, center: str = "mean", axis: int = -1) -> Array:
    """Action values of two streams: q = v + (a - mean(a)), or with the maximum in the mean's place.

    Wang et al. 2016, "Dueling Network Architectures for Deep Reinforcement Learning"
    (arXiv:1511.06581): `"mean"` is equation 9, what everybody uses; `"max"` equation 8, under which
    the best action's q is the value itself; `"none"` equation 7, which the paper calls
    unidentifiable.

    Args:
        value: shape of `advantage` without the actions, (...), or with one in their place.
        advantage: (..., actions), or (..., actions, atoms) with `axis=-2`.
        center: `"mean"`, `"max"` or `"none"`.
        axis: which axis of `advantage` are the actions.

    Returns:
        Shape of `advantage`. With atoms these are logits, for `c51_q`.
    """
    a, v = floats("advantage", advantage), floats("value", value)
    if not -a.ndim <= axis < a.ndim or 0 in a.shape:
        raise InputError(f"advantage has shape {a.shape}; expected actions on axis {axis}.")
    axis %= a.ndim
    without = a.shape[:axis] + a.shape[axis + 1 :]
    kept = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    if v.shape not in (without, kept):
        raise InputError(
            f"value has shape {v.shape}; expected {without} or {kept}: "
            f"one value for all actions of an advantage of shape {a.shape}."
        )
    v = v.reshape(kept)
    if center not in _CENTERS:
        raise InputError(f"center is {center!r}; it must be 'mean', 'max' or 'none'.")
    found: Array = v + (a - _CENTERS[center](a, axis))
    return found


_CENTERS: dict[str, Callable[[Array, int], Any]] = {
    "mean": lambda a, axis: a.mean(axis, keepdims=True),
    "max": lambda a, axis: a.max(axis, keepdims=True),
    "none": lambda a, axis: 0.0,
}


def noisy_linear(
    x: Any,
    weight: Any,
    bias: Any,
    sigma_weight: Any,
    sigma_bias: Any,
    noise_weight: Any,
    noise_bias: Any,
) -> Array:
    """A linear layer under given independent noise: y = (w + s_w * e_w) x + b + s_b * e_b.

    Fortunato et al. 2018, "Noisy Networks for Exploration" (arXiv:1706.10295), equation 9.

    Args:
        x: (..., inputs).
        weight, sigma_weight, noise_weight: (outputs, inputs), as torch and Chainer keep them.
        bias, sigma_bias, noise_bias: (outputs,).

    Returns:
        (..., outputs).
    """
    x, w = floats("x", x), floats("weight", weight)
    expect_axes("weight", w, 2, "(outputs, inputs)")
    expect_axes("x", x, 1, "(..., inputs)")
    expect_shape("x", x, (*x.shape[:-1], w.shape[-1]), f"(..., inputs) of weight {w.shape}")
    like = {"weight": (weight, sigma_weight, noise_weight), "bias": (bias, sigma_bias, noise_bias)}
    shapes = {"weight": (w.shape, "(outputs, inputs)"), "bias": (w.shape[:1], "(outputs,)")}
    noisy = {}
    for name, given in like.items():
        mean, sigma, noise = (
            floats(f"{prefix}{name}", array)
            for prefix, array in zip(("", "sigma_", "noise_"), given, strict=True)
        )
        for prefix, array in (("", mean), ("sigma_", sigma), ("noise_", noise)):
            expect_shape(f"{prefix}{name}", array, *shapes[name])
        noisy[name] = mean + sigma * noise
    found: Array = x @ noisy["weight"].T + noisy["bias"]
    return found


def factorised_noise(noise_in: Any, noise_out: Any) -> tuple[Array, Array]:
    """Noise of weights and biases from one number for each input and output.

    Fortunato et al. 2018, equations 10 and 11: f(e_out) f(e_in) and f(e_out), where
    f(x) = sgn(x) sqrt(|x|).

    Args:
        noise_in: (inputs,), drawn from a unit Gaussian.
        noise_out: (outputs,).

    Returns:
        (outputs, inputs) and (outputs,), for `noisy_linear`.
    """
    ins, outs = floats("noise_in", noise_in), floats("noise_out", noise_out)
    expect_shape("noise_in", ins, (ins.size,), "(inputs,)")
    expect_shape("noise_out", outs, (outs.size,), "(outputs,)")
    ins, outs = (np.sign(noise) * np.sqrt(np.abs(noise)) for noise in (ins, outs))
    return np.outer(outs, ins), outs


def noisy_linear_factorised(
    x: Any,
    weight: Any,
    bias: Any,
    sigma_weight: Any,
    sigma_bias: Any,
    noise_in: Any,
    noise_out: Any,
) -> Array:
    """`noisy_linear` under factorised noise, which is what Rainbow and most libraries use.

    Args:
        x: (..., inputs).
        weight, sigma_weight: (outputs, inputs).
        bias, sigma_bias: (outputs,).
        noise_in: (inputs,), before f.
        noise_out: (outputs,), before f.

    Returns:
        (..., outputs).
    """
    noise = factorised_noise(noise_in, noise_out)
    return noisy_linear(x, weight, bias, sigma_weight, sigma_bias, *noise)
