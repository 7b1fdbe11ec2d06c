"""Rotary positions: pairs of features are turned by an angle that grows from step to step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import ALIKE_BASES, SAME_BASE, TURNED_VALUES
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import close, shortest
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array

_JOINING = ("add", "add_all", "concatenate", "multiply_add")  # what makes a turned value
_PAIRS = {True: "neighbours", False: "halves"}


@dataclass(frozen=True)
class Turn:
    """How features are turned.

    Attributes:
        width: how many of them, from the first on.
        base: the angle of a step is base ** (-2 i / width) of the i-th pair.
        neighbours: whether a pair is two neighbours, or one of each half.
        start: the position of the first step.
    """

    width: int
    base: float
    neighbours: bool
    start: int

    def __call__(self, x: Array, steps: int) -> Array:
        """The features of an array turned, which has its steps along an axis, features last."""
        half = self.width // 2
        first, second = _pairs(x, self.width, self.neighbours)
        along = [1] * x.ndim
        along[steps] = -1
        positions = (self.start + np.arange(x.shape[steps])).reshape(along)
        angles = positions * self.base ** (-np.arange(half) / half)
        cos, sin = np.cos(angles), np.sin(angles)
        turned = first * cos - second * sin, second * cos + first * sin
        axis = -1 if self.neighbours else -2
        made = np.stack(turned, axis).reshape(*x.shape[:-1], self.width)
        return np.concatenate([made, x[..., self.width :]], -1)

    @property
    def stated(self) -> Mapping[str, int | float | str]:
        return {
            "width": self.width,
            "base": self.base,
            "pairs": _PAIRS[self.neighbours],
            "start": self.start,
        }


@dataclass(frozen=True)
class Site:
    """Where a side turns a value: the value, what it is made of, and the axis of steps."""

    source: int
    value: int
    steps: int
    turn: Turn


@cause("rotary-parameters")
@first_fitting
def rotary(case: Case) -> Iterator[Explanation]:
    """Query and key are turned by rotary positions of another width, base, start or pairing.

    Looks like: scores that are right for near steps, or for the first, and wrong for those far off.
    Proof: the reference's values turned with the candidate's parameters, in the place of those that
        the reference turns, give the candidate's value; the parameters of either side are read off
        the angles between what is turned and what comes of it.
    """
    found = [list(_sites(side)) for side in sides(case)]
    turns = [{site.turn for site in one} for one in found]
    if len(turns[0]) != 1 or len(turns[1]) != 1 or turns[0] == turns[1]:
        return
    ((reference,), (candidate,)) = turns
    pairs: Mapping[str, tuple[object, object]] = {
        name: (was, candidate.stated[name])
        for name, was in reference.stated.items()
        if was != candidate.stated[name]
    }
    if pairs.keys() == {"base"}:
        pairs = spaced_otherwise(reference, candidate) or pairs
    words = "; ".join(f"{name} {now}, the reference's {was}" for name, (was, now) in pairs.items())
    yield Explanation(
        "rotary-parameters",
        f"rotary positions with {words}",
        partial(_turned_anew, case, found[0], candidate),
        parameters=pairs,
    )


def spaced_otherwise(reference: Turn, candidate: Turn) -> dict[str, tuple[str, str]]:
    """The exponents of both sides, where it is they that differ, and not their base.

    One side spaces them as i / n, the other as linspace(0, 1, n) does, as i / (n - 1): that looks
    like another base, which nobody wrote.
    """
    n = reference.width // 2
    spaced = f"i / {n}", f"i / {n - 1}"
    for one, other, pair in (
        (candidate.base, reference.base, spaced[::-1]),
        (reference.base, candidate.base, spaced),
    ):
        if np.isclose(one ** (n / (n - 1)), other, rtol=ALIKE_BASES):
            return {f"base {one} to the power of": (pair[0], pair[1])}
    return {}


def _turned_anew(case: Case, sites: list[Site], turn: Turn, trial: Trial) -> Array:
    arrays = case.reference_values(trial.given, [site.source for site in sites])
    replaced = {
        site.value: turn(array, site.steps) for site, array in zip(sites, arrays, strict=True)
    }
    return case.run_reference(trial.given, replaced)


def _sites(side: CaseSide) -> Iterator[Site]:
    """The values that a region turns, each as it is joined again last."""
    tape, given = side.view.tape, side.case.first.given
    shapes = {tape.values[value].shape for value in side.entering}
    made = [
        op.outputs[0]
        for op in side.view.ops
        if op.word in _JOINING and not op.static and tape.values[op.outputs[0]].shape in shapes
    ][:TURNED_VALUES]
    ids = tuple(dict.fromkeys((*side.entering, *made)))
    arrays = dict(zip(ids, side.values(given, ids), strict=True))
    known: set[int] = set()
    for value in made:
        for source in side.entering:
            if source in known or arrays[source].shape != arrays[value].shape:
                continue
            found = read_off(arrays[source], arrays[value])
            if found is not None:
                known.add(source)
                yield Site(source, value, *found)
                break


def read_off(x: Array, made: Array) -> tuple[int, Turn] | None:
    """The axis of steps, and how one array is another one turned; None where it is not."""
    if x.ndim < 3 or x.dtype.kind != "f":
        return None
    changed = np.flatnonzero((x != made).reshape(-1, x.shape[-1]).any(axis=0))
    if not changed.size or not close(np.linalg.norm(x, axis=-1), np.linalg.norm(made, axis=-1)):
        return None
    width = int(changed[-1]) + 1
    width += width % 2
    if width < 4 or width > x.shape[-1]:
        return None
    for neighbours in (True, False):
        angles = _angles(_pairs(x, width, neighbours), _pairs(made, width, neighbours))
        if angles is None:
            continue
        for steps in range(1, x.ndim - 1):
            turn = _of_angles(np.moveaxis(angles, steps, 0), width, neighbours)
            if turn is not None and close(turn(x, steps), made):
                return steps, turn
    return None


def _of_angles(angles: Array, width: int, neighbours: bool) -> Turn | None:
    """What gives angles, (steps, ..., pairs), from their changes from step to step."""
    if len(angles) < 2:
        return None
    flat = angles.reshape(len(angles), -1, angles.shape[-1])[:, 0]
    grows = np.mod(flat[1] - flat[0], 2 * np.pi)[:2]
    if not np.isclose(grows[0], 1.0, 1e-5) or not 0 < grows[1] < 1:
        return None
    start = float(flat[0, 0])
    base = float(grows[1] ** (-width / 2))
    base = shortest(base, lambda one: bool(np.isclose(one, base, rtol=SAME_BASE)))
    return Turn(width, base, neighbours, round(start))


def _angles(x: tuple[Array, Array], made: tuple[Array, Array]) -> Array | None:
    """By how much pairs are turned; None where they are not as long as before."""
    if not close(np.hypot(*x), np.hypot(*made)):
        return None
    found: Array = np.arctan2(x[0] * made[1] - x[1] * made[0], x[0] * made[0] + x[1] * made[1])
    return found


def _pairs(x: Array, width: int, neighbours: bool) -> tuple[Array, Array]:
    if neighbours:
        return x[..., 0:width:2], x[..., 1:width:2]
    return x[..., : width // 2], x[..., width // 2 : width]
