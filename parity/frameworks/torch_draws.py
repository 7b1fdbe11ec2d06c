"""What torch's operators draw from; fused draws and transforms are taken apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import torch

from parity.draws import fused
from parity.draws.draw import Array, Draw, generator

Given = Mapping[str, Any]  # an operator's arguments by name

_GUMBEL = Draw("gumbel", {"loc": 0.0, "scale": 1.0})
_NORMAL = Draw("normal", {"mean": 0.0, "std": 1.0})
_UNIFORM = Draw("uniform", {"low": 0.0, "high": 1.0})


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
    """What an operator that is not taken apart draws from; None if that is not known.

    Args:
        inputs: the values that it reads.
    """
    if kind in _OWN:
        return Draw(_OWN[kind], reads={str(at): value for at, value in enumerate(inputs)})
    describe = _DRAWS.get(kind)
    return None if describe is None else describe(given)


def split(
    kind: str, overload: str, given: Given, made: Sequence[torch.Tensor], at: int
) -> Split | None:
    """An operator whose parameters are tensors, taken apart; None for any other.

    Args:
        made: what it gave.
        at: the number of the operation, so that what is free is chosen alike in every run.
    """
    take_apart = _SPLITS.get((kind, overload)) or _SPLITS.get((kind, ""))
    return take_apart(given, made, generator(at)) if take_apart else None


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
    **dict.fromkeys(("rand", "rand_like"), lambda given: _UNIFORM),
    "uniform": lambda given: Draw(
        "uniform", {"low": _number(given.get("from"), 0.0), "high": _number(given.get("to"), 1.0)}
    ),
    **dict.fromkeys(("randn", "randn_like"), lambda given: _NORMAL),
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


def _split_bernoulli(
    given: Given, made: Sequence[torch.Tensor], random: np.random.Generator
) -> Split | None:
    p = given.get("p", given["self"])
    if not isinstance(p, torch.Tensor):
        return None
    noise = fused.bernoulli_noise(_array(made[0]), _array(p), random)
    return Split(_UNIFORM, noise, Step("bernoulli", (p,), fused.bernoulli))


def _split_normal(
    given: Given, made: Sequence[torch.Tensor], random: np.random.Generator
) -> Split | None:
    mean, std = given["mean"], given.get("std", 1.0)
    tensors = tuple(one for one in (mean, std) if isinstance(one, torch.Tensor))
    if not tensors:
        return None
    arrays = [_array(one) if isinstance(one, torch.Tensor) else one for one in (mean, std)]
    noise = fused.normal_noise(_array(made[0]), *arrays)
    function: Callable[..., Sequence[Array]] = fused.normal
    if not isinstance(mean, torch.Tensor):
        function = partial(_with_mean, float(mean))
    elif not isinstance(std, torch.Tensor):
        function = partial(_with_std, float(std))
    return Split(_NORMAL, noise, Step("normal", tensors, function))


def _with_mean(mean: float, noise: Array, std: Array) -> Sequence[Array]:
    return [mean + std * noise]


def _with_std(std: float, noise: Array, mean: Array) -> Sequence[Array]:
    return [mean + std * noise]


def _split_multinomial(
    given: Given, made: Sequence[torch.Tensor], random: np.random.Generator
) -> Split:
    weights, count = given["self"], int(given["num_samples"])
    (logits,) = fused.log_probabilities(_array(weights))
    first = Step("log_probabilities", (weights,), fused.log_probabilities, logits)
    chosen = _array(made[0])
    if given.get("replacement") or count == 1:
        noise = fused.categorical_noise(chosen, logits, random)
        return Split(_GUMBEL, noise, Step("multinomial", (), fused.categorical), (first,))
    noise = fused.subset_noise(chosen, logits, random)
    last = Step("multinomial", (), partial(fused.subset, count))
    return Split(_GUMBEL, noise, last, (first,))


def _split_dropout(
    given: Given, made: Sequence[torch.Tensor], random: np.random.Generator
) -> Split | None:
    rate = float(given["p"])
    scale = 0.0 if rate == 1 else 1 / (1 - rate)
    draw = Draw("bernoulli", {"p": 1 - rate})
    last = Step("native_dropout", (given["input"],), partial(_dropped, scale))
    return Split(draw, made[1].cpu().numpy(), last)


def _dropped(scale: float, mask: Array, x: Array) -> Sequence[Array]:
    return [x * mask * x.dtype.type(scale), mask]


def _split_rrelu(
    given: Given, made: Sequence[torch.Tensor], random: np.random.Generator
) -> Split | None:
    low, high = _number(given.get("lower"), 0.125), _number(given.get("upper"), 1 / 3)
    x = given["self"]
    slope = given["noise"]
    noise = fused.leaky_noise(_array(slope), _array(x), low, high, random)
    slope_first = made[0] is slope
    function = partial(_leaky, slope_first, low, high)
    return Split(_UNIFORM, noise, Step("rrelu_with_noise", (x,), function))


def _leaky(slope_first: bool, low: float, high: float, noise: Array, x: Array) -> Sequence[Array]:
    slope, result = fused.leaky(low, high, noise, x)
    return [slope, result] if slope_first else [result]


_SPLITS: dict[
    tuple[str, str],
    Callable[[Given, Sequence[torch.Tensor], np.random.Generator], Split | None],
] = {
    ("bernoulli", "default"): _split_bernoulli,
    ("bernoulli", "Tensor"): _split_bernoulli,
    ("normal", "Tensor_Tensor"): _split_normal,
    ("normal", "Tensor_float"): _split_normal,
    ("normal", "float_Tensor"): _split_normal,
    ("multinomial", ""): _split_multinomial,
    ("native_dropout", ""): _split_dropout,
    ("rrelu_with_noise", ""): _split_rrelu,
}
