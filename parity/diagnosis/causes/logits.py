"""Logits taken for probabilities, or probabilities for logits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause, of_x
from parity.diagnosis.causes._substitution import (
    close,
    fits,
    inside_reference,
    is_of,
    is_probabilities,
    sums_to_one,
    with_value,
)
from parity.tape import Array


def _normalised(x: Array, axis: int) -> Array:
    result: Array = x / x.sum(axis=axis, keepdims=True)
    return result


def _softmax(x: Array, axis: int) -> Array:
    return _normalised(np.exp(x - x.max(axis=axis, keepdims=True)), axis)


def _log_softmax(x: Array, axis: int) -> Array:
    shifted = x - x.max(axis=axis, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return result


# what a distribution makes of its parameters, by what it takes them for
_READINGS: Mapping[str, Mapping[str, Callable[[Array, int], Array]]] = {
    "logits": {"p": _softmax, "log p": _log_softmax},
    "probabilities": {"p": _normalised, "log p": lambda x, axis: np.log(_normalised(x, axis))},
    "normalised probabilities": {"log p": lambda x, axis: np.log(x)},
}


@cause("logits-vs-probabilities", enclosures=True)
def logits_for_probabilities(case: Case) -> Iterator[Explanation]:
    """Logits are taken for probabilities, or probabilities for logits.

    Looks like: probabilities that are nearly alike, or NaN where a logit is negative.
    Proof: the softmax of what enters, or what enters over its sum, gives the candidate's value,
        and the other of the two the reference's; in a loss, the reference's with the sigmoid of
        what enters.
    """
    x = case.first.x
    yield from _of_sigmoid(case)
    if x.shape != case.first.reference.shape or x.shape != case.first.candidate.shape:
        return
    single = {
        name: [
            axes[0] for axes in sums_to_one(_plain(case.first.reference, name)) if len(axes) == 1
        ]
        for name in ("p", "log p")
    }
    for ours, theirs in itertools.permutations(_READINGS, 2):
        if "logits" not in (ours, theirs):
            continue
        for name in ("p", "log p"):
            forms = _READINGS[ours].get(name), _READINGS[theirs].get(name)
            for axis in single[name]:
                if forms[0] is None or not close(forms[0](x, axis), case.first.reference):
                    continue
                if forms[1] is None or not close(forms[1](x, axis), case.first.candidate):
                    continue
                if name == "p" and is_probabilities(x) is not None:
                    continue  # what is a probability already is not read: a second softmax
                yield Explanation(
                    "logits-vs-probabilities",
                    f"what enters is taken for {theirs}; the reference takes it for {ours}",
                    of_x(forms[1], axis),
                    of_x(forms[0], axis),
                    {"taken for": (ours, theirs)},
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


def _plain(array: Array, name: str) -> Array:
    if name == "p" or not array.size or array.max() > 0:
        return array
    result: Array = np.exp(array)
    return result


def _of_sigmoid(case: Case) -> Iterator[Explanation]:
    """A loss of two classes: the candidate takes the sigmoid of what is a probability already."""
    ours = inside_reference(case)
    for value in ours.entering:
        p = ours.array(value)
        made = [ours.array(one) for one in ours.computed]
        if not any(is_of(form, p, one) for form in _OF_TWO for one in made):
            continue
        predict = with_value(case, value, _sigmoid)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "logits-vs-probabilities",
                "probabilities are taken for logits: their sigmoid is taken once more",
                predict,
                parameters={"taken for": ("probabilities", "logits")},
            )
            return


def _sigmoid(x: Array) -> Array:
    result: Array = np.exp(-np.logaddexp(0.0, -x))
    return result
