"""The inputs that a pair is compared on: of several styles, any number of each, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) * (rng.random(shape) < 0.1)


def _constant_row(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One example of the batch, an image say, is the same number everywhere."""
    array = rng.normal(size=shape)
    array[rng.integers(shape[0])] = rng.normal()
    return array


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) * 10 ** rng.uniform(-3, 3, shape)


STYLES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "sparse": _sparse,
    "pixels 0..255": lambda rng, shape: rng.integers(0, 256, shape),
    "scale 1e6": lambda rng, shape: rng.normal(size=shape) * 1e6,
    "scale 1e-6": lambda rng, shape: rng.normal(size=shape) * 1e-6,
    "near-constant": lambda rng, shape: rng.normal() + 1e-4 * rng.normal(size=shape),
    "a constant example": _constant_row,
    "mean 100": lambda rng, shape: 100 + rng.normal(size=shape),
    "six decades": _wide,
}
ALL = tuple(STYLES)
# What float16, whose largest number is 65504, can hold after a layer or two.
MODERATE = ("normal", "uniform", "sparse", "near-constant", "a constant example")


def draw(
    like: Sequence[np.ndarray], count: int, styles: Sequence[str] = ALL
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """`count` inputs of the shapes and dtypes of `like`, with the style of each.

    Integers stay within the range of those in `like`: they are indices.
    """
    for number in range(count):
        style = styles[number % len(styles)]
        rng = np.random.default_rng([number, 3])
        yield style, tuple(_one(rng, style, array) for array in like)


def _one(rng: np.random.Generator, style: str, like: np.ndarray) -> np.ndarray:
    if like.dtype.kind == "b":
        return rng.random(like.shape) < 0.5
    if like.dtype.kind in "iu":
        return rng.integers(like.min(), like.max() + 1, like.shape).astype(like.dtype)
    return STYLES[style](rng, like.shape).astype(like.dtype)
