"""Which tensors two models share: the same ones, or others that are merely equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from parity.frameworks import load
from parity.model import wrap
from parity.weights.tensors import Tensor, varied

_SHOWN = 6  # names in a line


@dataclass(frozen=True)
class Sharing:
    """What two models have in common.

    Attributes:
        shared: tensors that both hold, one object: its name in each. Training one changes both.
        equal: tensors that are equal in shape and numbers and are two: training parts them.
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
        lines = []
        for pairs, head in (
            (self.shared, "shared: {} by identity"),
            (self.equal, "equal, not shared: {}"),
        ):
            names = [left if left == right else f"{left} = {right}" for left, right in pairs]
            if names:
                lines.append(f"  {head.format(counted(names))}: {listed(names)}")
        if not self.shared:
            lines.insert(0, "  shared: nothing")
        for model, alone in ((self.first, self.first_alone), (self.second, self.second_alone)):
            if alone:
                lines.append(f"  of {model} alone: {counted(alone)}: {listed(alone)}")
        return lines


def counted(names: Sequence[str]) -> str:
    return f"{len(names)} tensor{'s' * (len(names) != 1)}"


def listed(names: Sequence[str]) -> str:
    """Names with commas between, many of them cut short."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


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
    shared = _taken(left, right, lambda a, b: a.own is not None and a.own is b.own)
    equal = _taken(left, right, lambda a, b: a.name == b.name and _equal(a, b))
    equal += _taken(left, right, lambda a, b: varied(a) and _equal(a, b))
    return Sharing(
        names[0],
        names[1],
        tuple(shared),
        tuple(equal),
        tuple(one.name for one in left),
        tuple(one.name for one in right),
    )


def _taken(left: list[Tensor], right: list[Tensor], is_pair: Any) -> list[tuple[str, str]]:
    """Pairs, which are taken out of both lists."""
    found = []
    for one in list(left):
        other = next((other for other in right if is_pair(one, other)), None)
        if other is not None:
            found.append((one.name, other.name))
            left.remove(one)
            right.remove(other)
    return found


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and np.array_equal(one.read(), other.read())
