"""The other end of an axis: padded there, or read from there, where one model goes step by step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import Form, Substituted
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import made_from
from parity.tape import Array, Op


@dataclass(frozen=True)
class _Ended:
    """A value that is another one padded, or a part of it, at one end of an axis.

    Attributes:
        source, value: ids of the two.
        at_the_start: whether the part, or what is not padding, starts where the axis starts.
    """

    op: Op
    source: int
    value: int
    axis: int
    at_the_start: bool

    @property
    def is_padded(self) -> bool:
        return self.op.word == "pad"


@cause("padding-asymmetry", "index-value", tier=2)
@first_fitting
def other_end(case: Case) -> Iterator[Explanation]:
    """An axis is padded at its other end, or the other end of it is read.

    Looks like: sums over the steps to come in the place of those before; a step's own value where
        the one some steps before belongs.
    Proof: one side's operations with that padding at the other end, or with the part at the other
        end, give the other side's value; all such parts that one line reads are one.
    """
    for side in sides(case)[::-1]:
        for some in itertools.islice(_of_a_line(side), SOURCES_TRIED):
            first = some[0]
            name, what = named(side.view.tape, first.source), ("first", "last")
            if first.is_padded:
                what = ("behind", "before")
            here, there = what if first.at_the_start else what[::-1]
            right, wrong = (there, here) if side.is_candidate else (here, there)
            kind, text = "index-value", f"of {name} the {wrong} along axis {first.axis} are read; "
            text += f"the reference reads the {right}"
            if first.is_padded:
                kind = "padding-asymmetry"
                text = f"{name} is padded {wrong} what it holds along axis {first.axis}; "
                text += f"the reference pads it {right}"
            yield side.changed(
                Explanation(
                    kind,
                    text,
                    Substituted(partial(_turned, side, some)),
                    parameters={"padding" if first.is_padded else "part": (right, wrong)},
                    places=(None, first.op) if side.is_candidate else (first.op, None),
                )
            )


def _of_a_line(side: CaseSide) -> Iterator[Sequence[_Ended]]:
    """Paddings and parts, those of one line together, and then each alone."""
    found: dict[object, list[_Ended]] = {}
    for one in _ended(side):
        key = one.op.word, one.op.site.source, one.axis, one.at_the_start, one.source
        found.setdefault(key, []).append(one)
    yield from found.values()
    yield from ([one] for some in found.values() if len(some) > 1 for one in some)


def _ended(side: CaseSide) -> Iterator[_Ended]:
    tape = side.view.tape
    for op in side.view.ops:
        if op.word not in ("slice", "pad") or op.static or len(op.outputs) != 1:
            continue
        source, value = op.inputs[0], op.outputs[0]
        small, large = (side.model.array(one) for one in (value, source))
        if op.word == "pad":
            small, large = large, small
        if not tape.is_live(source) or small.ndim != large.ndim or not varies(small):
            continue
        axes = [i for i, n in enumerate(small.shape) if n != large.shape[i]]
        if len(axes) != 1 or small.shape[axes[0]] > large.shape[axes[0]]:
            continue
        ends = [_end(large, small.shape[axes[0]], axes[0], start) for start in (True, False)]
        fits = [np.array_equal(end, small) for end in ends]
        if fits.count(True) == 1:
            yield _Ended(op, source, value, axes[0], fits[0])


def _end(array: Array, length: int, axis: int, start: bool) -> Array:
    """As many elements of an axis, from its start or up to its end."""
    n = array.shape[axis]
    return np.take(array, range(length) if start else range(n - length, n), axis)


def _turned(side: CaseSide, some: Sequence[_Ended], trial: Trial, change: Form) -> Array:
    """What a region gives with paddings or parts at the other end."""
    replaced: dict[int, Array] = {}
    for one in some:
        x, made = side.values(trial.given, (one.source, one.value), replaced)
        if one.is_padded:
            by = made.shape[one.axis] - x.shape[one.axis]
            turned = np.roll(made, by if one.at_the_start else -by, one.axis)
        else:
            turned = _end(x, made.shape[one.axis], one.axis, not one.at_the_start)
        replaced[one.value] = change(turned)
    return side.run(trial.given, {**replaced, **_parts_of(side, replaced)})


def _parts_of(side: CaseSide, replaced: dict[int, Array]) -> dict[int, Array]:
    """What a region reads that is made of its own values: it entered as it agreed by chance."""
    tape, found = side.view.tape, dict[int, Array]()
    for value in side.entering:
        ops = made_from(tape, value, replaced)
        if ops is not None:
            found[value] = tape.replay("float64", replaced, side.model.run, only=ops).array(value)
    return found
