"""Which elements of one value two models read, where all that either does is to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import ELEMENTS_READ, SOURCES_TRIED
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.tape import Array

_LETTERS = "ijklmnpq"


@cause("index-value", tier=2)
@first_fitting
def elements_read(case: Case) -> Iterator[Explanation]:
    """Both models pick elements of one value, each by a rule of its own.

    Looks like: relative positions i - j for j - i, windows that start one element later, every
        second element for each half; made by gathers, slices, pads and reshapes of any kind.
    Proof: the elements that either region picks of places are those of the values on every input.
    """
    floating = [root for root, array in case.first.given.items() if array.dtype.kind == "f"]
    for root in floating[:SOURCES_TRIED]:
        picked = _picked_by_each(case, root)
        if picked is None:
            continue
        reference, candidate = picked
        if None in (reference.index, candidate.index) or reference.index == candidate.index:
            continue  # zeros alone are a mask's
        there, here = reference.text, candidate.text
        at = ", ".join(_LETTERS[: reference.places.ndim])
        yield Explanation(
            "index-value",
            f"[{at}] is {here} of {named(case.reference.tape, root)}, in the reference {there}",
            partial(_picked, candidate),
            partial(_picked, reference),
            parameters={"elements": (there, here)},
        )


def _picked_by_each(case: Case, root: int) -> tuple[_Picked, _Picked] | None:
    """Which elements of a value the reference picks, and the candidate, if they do no more."""
    x = case.first.given[root]
    if x.size > ELEMENTS_READ:
        return None
    try:
        places = np.arange(1.0, x.size + 1).reshape(x.shape)
        trial = case.probe({**case.first.given, root: places})
    except ReplayError:  # it takes no such numbers
        return None
    ends = trial.reference, trial.candidate
    if ends[0].shape != ends[1].shape or not all(_are_places(one, x.size) for one in ends):
        return None
    reference, candidate = (_Picked(root, x.shape, one.astype(np.int64)) for one in ends)
    return reference, candidate


def _are_places(array: Array, size: int) -> bool:
    if array.ndim > len(_LETTERS) or not np.isfinite(array).all():
        return False
    return bool(((array == np.round(array)) & (array >= 0) & (array <= size)).all())


@dataclass(frozen=True)
class _Picked:
    """Which elements of a value are picked.

    Attributes:
        root: the value, as a trial gives it.
        shape: its shape.
        places: in the flat value, counted from 1; 0 where a zero stands.
    """

    root: int
    shape: tuple[int, ...]
    places: Array

    @property
    def index(self) -> str | None:
        """The index of an element by the place where it is put."""
        taken = self.places > 0
        if not taken.any():
            return None
        at = np.nonzero(taken)
        own = np.unravel_index(self.places[taken] - 1, self.shape)
        along = [_affine(at, one) for one in own]
        return None if None in along else f"[{', '.join(map(str, along))}]"

    @property
    def text(self) -> str:
        """Likewise, and how many zeros stand in the place of one."""
        zeros = int((self.places == 0).sum())
        return f"{self.index}" + f" or one of {zeros} zeros" * bool(zeros)


def _affine(at: tuple[Array, ...], own: Array) -> str | None:
    """Indices along an axis as a sum of multiples of the places where they are put; in words."""
    columns = np.stack([np.ones(len(own), np.int64), *at], axis=1).astype(np.float64)
    solved, *_ = np.linalg.lstsq(columns, own.astype(np.float64), rcond=None)
    by = np.round(solved).astype(np.int64)
    if not np.array_equal(columns.astype(np.int64) @ by, own):
        return None
    terms = [(int(times), letter) for times, letter in zip(by[1:], _LETTERS, strict=False) if times]
    terms += [(int(by[0]), "")] * bool(by[0] or not terms)
    terms.sort(key=lambda term: term[0] < 0)
    return "".join(_term(*term, first=not number) for number, term in enumerate(terms))


def _term(times: int, letter: str, first: bool) -> str:
    """A term of a sum as one writes it, with what joins it to the one before."""
    sign = ("-" if times < 0 else "") if first else (" - " if times < 0 else " + ")
    size = abs(times)
    return sign + (f"{size}{letter and ' '}{letter}" if size != 1 or not letter else letter)


def _picked(picked: _Picked, trial: Trial) -> Array:
    flat = trial.given[picked.root].ravel()
    return np.where(picked.places > 0, flat[picked.places - 1], 0.0)
