"""What torch's operators draw from; a fused draw and transform are separated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

from parity.draws import fused
from parity.draws.draw import GUMBEL, NORMAL, UNIFORM, Array, Draw, generator

Given = Mapping[str, Any]  # an operator's arguments by name
Made = Sequence[torch.Tensor]  # what it gave


def state_of(given: Given) -> bytes:
    """A digest of the state of the generator that an operator is to draw by."""
    generator = given.get("generator") or torch.default_generator
    return sha256(generator.get_state().numpy().tobytes()).digest()


def is_drawn_by(given: Given, drawn: torch.Tensor) -> bool:
    """Whether that generator drew it; those of other devices are not looked at."""
    return given.get("generator") is not None or drawn.device.type == "cpu"


@dataclass(frozen=True)
class Step:
    """One operation on the way from a draw to what the kernel gave.

    Attributes:
        reads: tensors among the operator's arguments; what the step before gave comes first.
        function: of NumPy arrays, the result of the step before first.
        makes: the result, or None for what the kernel gave.
    """

    kind: str
    reads: tuple[torch.Tensor, ...]
    function: Callable[..., Sequence[Array]]
    makes: Array | None = None


@dataclass(frozen=True)
class Split:
    """A kernel as a draw of `noise` and steps; the last step reads the noise first."""

    draw: Draw
    noise: Array
    last: Step
    before: tuple[Step, ...] = field(default=())


def draw_of(kind: str, given: Given, inputs: Sequence[int]) -> Draw | None:
    """What an operator that is not separated draws from; None if that is not known.

    Args:
        inputs: the values that it reads.
    """
    if kind in _OWN:
        return Draw.of_values(_OWN[kind], inputs)
    describe = _DRAWS.get(kind)
    return None if describe is None else describe(given)


def split(kind: str, overload: str, given: Given, made: Made, at: int) -> Split | None:
    """An operator whose parameters are tensors, as a draw and steps; None for any other.

    Args:
        made: what it gave.
        at: the number of the operation, so that what is free is chosen alike in every run.
    """
    separate = _SPLITS.get((kind, overload)) or _SPLITS.get((kind, ""))
    return separate(given, made, generator(at)) if separate else None


def _number(thing: Any, default: float) -> float:
    return default if thing is None else float(thing)


def _normal(given: Given) -> Draw | None:
    mean, std = given.get("mean", 0.0), given.get("std", 1.0)
    if isinstance(mean, torch.Tensor) or isinstance(std, torch.Tensor):
        return None
    return Draw("normal", {"mean": _number(mean, 0.0), "std": _number(std, 1.0)})


def _integers(given: Given) -> Draw | None:
    low = given.get("from", given.get("low"))
    high = given.get("to", given.get("high"))
    if high is None:
        return None
    return Draw("integers", {"low": _number(low, 0.0), "high": float(high)})


def _bernoulli(given: Given) -> Draw | None:
    p = given.get("p")
    return None if p is None or isinstance(p, torch.Tensor) else Draw("bernoulli", {"p": float(p)})


# Kernels that draw in a way of their own.
_OWN = {
    "standard_gamma": "gamma",
    "sample_dirichlet": "dirichlet",
    "poisson": "poisson",
    "binomial": "binomial",
}

_DRAWS: dict[str, Callable[[Given], Draw | None]] = {
    **dict.fromkeys(("rand", "rand_like"), lambda given: UNIFORM),
    "uniform": lambda given: Draw(
        "uniform", {"low": _number(given.get("from"), 0.0), "high": _number(given.get("to"), 1.0)}
    ),
    **dict.fromkeys(("randn", "randn_like"), lambda given: NORMAL),
    **dict.fromkeys(("normal", "normal_functional"), _normal),
    "exponential": lambda given: Draw("exponential", {"rate": _number(given.get("lambd"), 1.0)}),
    "cauchy": lambda given: Draw(
        "cauchy",
        {"loc": _number(given.get("median"), 0.0), "scale": _number(given.get("sigma"), 1.0)},
    ),
    **dict.fromkeys(("randint", "randint_like", "random"), _integers),
    "bernoulli": _bernoulli,
    "randperm": lambda given: Draw("permutation", {"n": float(given["n"])}),
    "geometric": lambda given: Draw("geometric", {"p": float(given["p"])}),
    "log_normal": lambda given: Draw(
        "log-normal",
        {"mean": _number(given.get("mean"), 1.0), "std": _number(given.get("std"), 2.0)},
    ),
}


def _array(tensor: torch.Tensor) -> Array:
    detached = tensor.detach().cpu()
    wide = detached.double() if detached.is_floating_point() else detached
    found: Array = wide.numpy()
    return found


def _split_bernoulli(given: Given, made: Made, random: Generator) -> Split | None:
    p = given.get("p", given["self"])
    if not isinstance(p, torch.Tensor):
        return None
    noise = fused.bernoulli_noise(_array(made[0]), _array(p), random)
    return Split(UNIFORM, noise, Step("bernoulli", (p,), fused.bernoulli))


def _split_normal(given: Given, made: Made, random: Generator) -> Split | None:
    both = given["mean"], given.get("std", 1.0)
    tensors = tuple(one for one in both if isinstance(one, torch.Tensor))
    if not tensors:
        return None
    mean, std = (_array(one) if isinstance(one, torch.Tensor) else float(one) for one in both)
    noise = fused.normal_noise(_array(made[0]), np.asarray(mean), np.asarray(std))
    function: Callable[..., Sequence[Array]] = fused.normal
    if not isinstance(both[0], torch.Tensor):
        function = lambda noise, std: fused.normal(noise, mean, std)  # noqa: E731
    elif not isinstance(both[1], torch.Tensor):
        function = lambda noise, mean: fused.normal(noise, mean, std)  # noqa: E731
    return Split(NORMAL, noise, Step("normal", tensors, function))


def _split_multinomial(given: Given, made: Made, random: Generator) -> Split:
    weights, count = given["self"], int(given["num_samples"])
    (logits,) = fused.log_probabilities(_array(weights))
    first = Step("log_probabilities", (weights,), fused.log_probabilities, logits)
    chosen = _array(made[0])
    if given.get("replacement") or count == 1:
        noise = fused.categorical_noise(chosen, logits, random)
        return Split(GUMBEL, noise, Step("multinomial", (), fused.categorical), (first,))
    noise = fused.subset_noise(chosen, logits, random)
    last = Step("multinomial", (), partial(fused.subset, count))
    return Split(GUMBEL, noise, last, (first,))


def _split_dropout(given: Given, made: Made, random: Generator) -> Split | None:
    rate = float(given["p"])
    scale = 0.0 if rate == 1 else 1 / (1 - rate)
    draw = Draw("bernoulli", {"p": 1 - rate})

    def dropped(mask: Array, x: Array) -> Sequence[Array]:
        return [x * mask * x.dtype.type(scale), mask]

    last = Step("native_dropout", (given["input"],), dropped)
    return Split(draw, made[1].cpu().numpy(), last)


def _split_rrelu(given: Given, made: Made, random: Generator) -> Split | None:
    low, high = _number(given.get("lower"), 0.125), _number(given.get("upper"), 1 / 3)
    x = given["self"]
    slope = given["noise"]
    noise = fused.leaky_noise(_array(slope), _array(x), low, high, random)
    first = 0 if made[0] is slope else 1  # one overload writes the slope first

    def leaky(noise: Array, x: Array) -> Sequence[Array]:
        return fused.leaky(low, high, noise, x)[first:]

    return Split(UNIFORM, noise, Step("rrelu_with_noise", (x,), leaky))


_SPLITS: dict[tuple[str, str], Callable[[Given, Made, Generator], Split | None]] = {
    ("bernoulli", "default"): _split_bernoulli,
    ("bernoulli", "Tensor"): _split_bernoulli,
    ("normal", "Tensor_Tensor"): _split_normal,
    ("normal", "Tensor_float"): _split_normal,
    ("normal", "float_Tensor"): _split_normal,
    ("multinomial", ""): _split_multinomial,
    ("native_dropout", ""): _split_dropout,
    ("rrelu_with_noise", ""): _split_rrelu,
}
