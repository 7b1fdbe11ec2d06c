"""The shapes that nearly all explanations have, so that a cause only declares what it tries.

1. Both sides are one formula of the input with different parameters: `other_parameter`.
2. A value stands in for another: `Explanation(kind, summary, with_value(case, ...))` where the
   reference is changed, `fix(in_candidate(case, ...), kind, summary)` where the candidate is fixed.
3. A weight is another one: `Explanation(kind, summary, with_leaves(case, ...))`.

A cause of the second or third shape lists explanations lazily; `first_that_fits` runs them on the
user's inputs and keeps the first one that predicts what is there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, as_it_is, of_x
from parity.diagnosis.causes._limits import SAME_PARAMETER
from parity.diagnosis.causes._substitution import close, fits
from parity.tape import Array

T = TypeVar("T")
Solve = Callable[[Array, Array], T | None]


def other_parameter(
    case: Case,
    form: Callable[[Array, T], Array],
    solve: Solve[T],
    claim: Callable[[T, T], Explanation],
) -> Iterator[Explanation]:
    """Both sides compute form(x, parameter) of the largest input, with two parameters.

    Args:
        form: the formula.
        solve: the parameter with which the formula gives y of x, None if there is none; `among`
            makes one of a list of parameters.
        claim: the explanation in words, of the reference's parameter and the candidate's; its
            predictions are set here.
    """
    first = case.first
    reference = solve(first.x, first.reference)
    candidate = None if reference is None else solve(first.x, first.candidate)
    if reference is not None and candidate is not None and not _same(reference, candidate):
        yield replace(
            claim(reference, candidate),
            candidate=of_x(form, candidate),
            reference=of_x(form, reference),
        )


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=SAME_PARAMETER)
    return a == b


def among(form: Callable[[Array, T], Array], parameters: Iterable[T]) -> Solve[T]:
    """Solves for the first of some parameters with which form(x, parameter) is y."""
    listed = tuple(parameters)
    return lambda x, y: next((one for one in listed if close(form(x, one), y)), None)


def fix(fixed: Predict, kind: str, summary: str, **fields: Any) -> Explanation:
    """An explanation by the candidate itself: with one thing changed it gives the reference."""
    return Explanation(kind, summary, as_it_is, fixed, **fields)


def first_that_fits(case: Case, proposals: Iterable[Explanation]) -> Iterator[Explanation]:
    """The first of some explanations that predicts both sides on the user's inputs."""
    yield from itertools.islice(all_that_fit(case, proposals), 1)


def all_that_fit(case: Case, proposals: Iterable[Explanation]) -> Iterator[Explanation]:
    """The explanations that predict both sides on the user's inputs."""
    first = case.first
    for one in proposals:
        if one.reference is None or fits(one.reference, first, first.reference):
            if one.candidate is as_it_is or fits(one.candidate, first, first.candidate):
                yield one
