"""Which tensors two models share: the same ones, or others that are merely equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from parity.format import count, listed
from parity.frameworks import load
from parity.model import wrap
from parity.weights.tensors import Tensor, same_tensors, varied

_SHOWN = 6  # names in a line


@dataclass(frozen=True)
class Sharing:
    """What two models have in common.

    Attributes:
        shared: tensors that both hold, one object: its name in each. Training one changes both.
        equal: tensors that are equal in shape and values and are two: training parts them.
        first_alone, second_alone: tensors that have no counterpart.
    """

    first: str
    second: str
    shared: tuple[tuple[str, str], ...]
    equal: tuple[tuple[str, str], ...]
    first_alone: tuple[str, ...]
    second_alone: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.first} and {self.second}:", *self._lines()])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _lines(self) -> list[str]:
        lines = [] if self.shared else ["  shared: nothing"]
        for head, tail, names in (
            ("shared", " by identity", _equations(self.shared)),
            ("equal, not shared", "", _equations(self.equal)),
            (f"of {self.first} alone", "", self.first_alone),
            (f"of {self.second} alone", "", self.second_alone),
        ):
            if names:
                size = count(len(names), "tensor")
                lines.append(f"  {head}: {size}{tail}: {listed(names, _SHOWN)}")
        return lines


def _equations(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [left if left == right else f"{left} = {right}" for left, right in pairs]


def sharing(first: Any, second: Any) -> Sharing:
    """Says which variables two models share by identity, and which are merely equal.

    Args:
        first, second: models of any framework, or `parity.wrap` of them; built, so that they have
            variables. They are not run.

    Raises:
        ParityError: as for `parity.wrap`.
    """
    models = [wrap(model) for model in (first, second)]
    left, right = ([*load(model.framework).tensors(model.obj)] for model in models)
    names = models[0].name, models[1].name
    if names[0] == names[1]:
        names = "the first", "the second"
    shared = same_tensors(left, right, lambda a, b: a.own is not None and a.own is b.own)
    equal = same_tensors(left, right, lambda a, b: a.name == b.name and _equal(a, b))
    equal += same_tensors(left, right, lambda a, b: varied(a) and _equal(a, b))
    return Sharing(
        names[0],
        names[1],
        tuple(shared),
        tuple(equal),
        tuple(one.name for one in left),
        tuple(one.name for one in right),
    )


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and np.array_equal(one.read(), other.read())
