"""The description of a random draw, in one vocabulary for all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.arrays import Array as Array


def generator(*seed: int) -> np.random.Generator:
    """A generator of parity's own, which nobody watches."""
    # with a seed: of other makers a recording sees what they draw
    return np.random.default_rng(seed)


@dataclass(frozen=True, slots=True)
class Draw:
    """What an operation draws from.

    Attributes:
        name: of the distribution: `normal`, `uniform`, `bernoulli`, ... (parity/draws/families.py),
            or of a kernel that draws in its own way, such as `gamma`.
        parameters: numbers that are known exactly, by name.
        reads: parameters that are values of the tape, by name.
    """

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    reads: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_values(cls, name: str, read: Iterable[int]) -> Draw:
        """A draw of a kernel that draws in its own way, whose parameters are all values."""
        return cls(name, reads={str(at): value for at, value in enumerate(read)})

    def __str__(self) -> str:
        given = [f"{key}={value:.6g}" for key, value in self.parameters.items()]
        return f"{self.name}({', '.join([*given, *self.reads])})"


_WIDE: dict[str, Any] = {"f": np.float64, "c": np.complex128}

NORMAL = Draw("normal", {"mean": 0.0, "std": 1.0})
UNIFORM = Draw("uniform", {"low": 0.0, "high": 1.0})
GUMBEL = Draw("gumbel", {"loc": 0.0, "scale": 1.0})


@dataclass(frozen=True, slots=True)
class Gave:
    """What a kernel gave that fuses a draw and a transform: its noise was made of that.

    Attributes:
        state: of the generator that it drew by, or the seed; empty where that is not known.
    """

    result: Array
    state: bytes = b""


@dataclass(frozen=True, slots=True)
class Transform:
    """A function of NumPy arrays: a call that replays by itself, whatever the framework.

    Kernels that fuse a draw and a transform are recorded as a draw and a transform of it, so that
    the parameters are inputs like any others.
    """

    function: Callable[..., Sequence[Array]]

    def __call__(
        self, arguments: Sequence[Array], dtypes: Sequence[str], wide: bool = False
    ) -> list[Array]:
        """The results in their recorded dtypes; what is not whole in float64 where it is `wide`."""
        with np.errstate(all="ignore"):
            results = [np.asarray(result) for result in self.function(*arguments)]
        kinds = ["float32" if dtype == "bfloat16" else dtype for dtype in dtypes]
        return [
            one.astype(_WIDE.get(one.dtype.kind, kind) if wide else kind)
            for one, kind in zip(results, kinds, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Reparametrised(Transform):
    """A distribution's parameters made of those that it was given by: no model computes them."""
