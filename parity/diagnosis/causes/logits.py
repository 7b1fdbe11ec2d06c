"""Logits taken for probabilities, or probabilities for logits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause, of_x
from parity.diagnosis.causes._curves import sigmoid
from parity.diagnosis.causes._limits import LOGITS_COST
from parity.diagnosis.causes._substitution import (
    Axes,
    inside_reference,
    is_of,
    is_probabilities,
    with_value,
)
from parity.diagnosis.causes.combinators import all_fitting
from parity.diagnosis.causes.softmax import log_softmax, softmax, sums
from parity.tape import Array


def _normalised(x: Array, axis: Axes) -> Array:
    return np.asarray(x / x.sum(axis=axis, keepdims=True))


# what a distribution makes of its parameters, by what it takes them for
_READINGS: Mapping[str, Mapping[str, Callable[[Array, Axes], Array]]] = {
    "logits": {"softmax": softmax, "log_softmax": log_softmax},
    "probabilities": {
        "softmax": _normalised,
        "log_softmax": lambda x, axis: np.log(_normalised(x, axis)),
    },
    "normalised probabilities": {"log_softmax": lambda x, axis: np.log(x)},
}


@cause("logits-vs-probabilities", enclosures=True)
@all_fitting
def logits_for_probabilities(case: Case) -> Iterator[Explanation]:
    """Logits are taken for probabilities, or probabilities for logits.

    Looks like: probabilities that are nearly alike, or NaN where a logit is negative.
    Proof: the softmax of the input, or the input over its sum, gives the candidate's value,
        and the other of the two the reference's; in a loss, the reference's with the sigmoid of
        the input.
    """
    x = case.first.x
    yield from _of_sigmoid(case)
    if x.shape != case.first.reference.shape or x.shape != case.first.candidate.shape:
        return
    for reference, candidate in itertools.permutations(_READINGS, 2):
        if "logits" not in (reference, candidate):
            continue
        for name in (name for name in _READINGS[reference] if name in _READINGS[candidate]):
            if name == "softmax" and is_probabilities(x) is not None:
                continue  # what is a probability already is not read: a second softmax
            for axes in sums(case.first.reference, name):
                if len(axes) == 1:
                    yield Explanation(
                        "logits-vs-probabilities",
                        f"the input is taken for {candidate}; "
                        f"the reference takes it for {reference}",
                        of_x(_READINGS[candidate][name], axes),
                        of_x(_READINGS[reference][name], axes),
                        {"taken for": (reference, candidate)},
                        cost=LOGITS_COST,
                    )


# what a loss of two classes makes of a probability, or of a logit
_OF_TWO: tuple[Callable[[Array], Array], ...] = (
    np.log,
    lambda p: np.log1p(-p),
    lambda p: np.logaddexp(0, p),
    lambda p: np.logaddexp(0, -p),
    lambda p: -np.logaddexp(0, p),
    lambda p: -np.logaddexp(0, -p),
)


def _of_sigmoid(case: Case) -> Iterator[Explanation]:
    """A loss of two classes: the candidate takes the sigmoid of what is a probability already."""
    reference = inside_reference(case)
    made = [reference.array(one) for one in reference.computed]
    for value in reference.entering:
        p = reference.array(value)
        if any(is_of(form, p, one) for form in _OF_TWO for one in made):
            yield Explanation(
                "logits-vs-probabilities",
                "probabilities are taken for logits: their sigmoid is taken once more",
                with_value(case, value, sigmoid),
                parameters={"taken for": ("probabilities", "logits")},
            )
