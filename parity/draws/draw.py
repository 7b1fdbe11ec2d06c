"""The description of a random draw, in one vocabulary for all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def generator(*seed: int) -> np.random.Generator:
    """A generator of parity's own, which nobody watches."""
    return np.random.default_rng(
        seed
    )  # with a seed: of other makers a recording sees what they draw


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

    def __str__(self) -> str:
        given = [f"{key}={value:.6g}" for key, value in self.parameters.items()]
        return f"{self.name}({', '.join([*given, *self.reads])})"


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
    """What is made of a draw, as a function of NumPy arrays: a call that any adapter can replay.

    Kernels that fuse a draw and a transform are recorded as a draw and a transform of it, so that
    the parameters are inputs like any others.
    """

    function: Callable[..., Sequence[Array]]

    def __call__(self, arguments: Sequence[Array], dtypes: Sequence[str] | None) -> list[Array]:
        """The results, as `dtypes` where the recorded precision is asked for."""
        with np.errstate(all="ignore"):
            results = [np.asarray(result) for result in self.function(*arguments)]
        if dtypes is not None:
            kinds = ["float32" if dtype == "bfloat16" else dtype for dtype in dtypes]
            return [one.astype(kind) for one, kind in zip(results, kinds, strict=True)]
        return [one.astype(np.float64) if one.dtype.kind == "f" else one for one in results]


@dataclass(frozen=True, slots=True)
class Told(Transform):
    """How a distribution is given by other parameters than those it was given by: by no model."""
