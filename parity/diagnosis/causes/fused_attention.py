"""Attention seen as a whole: softmax(scale * query key^T, masked) value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import CONSTANTS_TRIED, SCORES_COMPUTED
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._substitution import close
from parity.diagnosis.causes.softmax import softmax
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.operations import PRODUCTS
from parity.tape import Array

# --- attention as a whole -------------------------------------------------------------------------


@dataclass(frozen=True)
class Attention:
    """softmax(scale * query key^T, masked) value, of the inputs in that order.

    Attributes:
        roles: which inputs are query, key and value.
        steps: the axis of steps in all of them; the last axis is the features'.
        moved_back: whether the result has its steps there too, and not before the features.
        fill: what is added to the scores of steps to come: 0 for none, -inf for a causal mask.
        ahead: how many steps ahead the mask lets a step see: 0 for those up to itself.
    """

    roles: tuple[int, ...]
    steps: int
    moved_back: bool
    scale: float
    fill: float
    ahead: int = 0

    def __call__(self, inputs: tuple[Array, ...]) -> Array:
        scores, value = self.scores(inputs)
        scores = np.where(
            np.tri(scores.shape[-2], scores.shape[-1], self.ahead) > 0, scores, scores + self.fill
        )
        found = softmax(scores, (-1,)) @ value
        return np.moveaxis(found, -2, self.steps) if self.moved_back else found

    def scores(self, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
        """The scaled scores before any mask, and the values."""
        query, key, value = (np.moveaxis(inputs[role], self.steps, -2) for role in self.roles)
        return self.scale * (query @ np.swapaxes(key, -1, -2)), value

    def fitted(self, inputs: tuple[Array, ...], found: Array) -> Attention | None:
        """The same with the fill that brings it nearest to a value."""
        scores, value = self.scores(inputs)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        past = np.tri(*scores.shape[-2:])
        shape = (*scores.shape[:-1], value.shape[-1])
        if found.size != np.prod(shape):
            return None
        if self.moved_back:
            moved = found.reshape(np.moveaxis(np.empty(shape), -2, self.steps).shape)
            found = np.moveaxis(moved, self.steps, -2)
        found = found.reshape(shape)
        # found = (seen @ value + share * hidden @ value) / (sum of seen + share * sum of hidden)
        seen, hidden = (
            part @ value - part.sum(axis=-1, keepdims=True) * found
            for part in (weights * past, weights * (1 - past))
        )
        squares = float(np.vdot(hidden, hidden))
        share = -float(np.vdot(hidden, seen)) / squares if squares > 0 else 0.0
        return replace(self, fill=plain(float(np.log(share)), 1e-6)) if share > 1e-12 else None


@cause("attention-scale", "attention-mask-missing", "attention-mask-value", "mask-shift")
def attention_in_one(case: Case) -> Iterator[Explanation]:
    """Attention in one operation that scales its scores or masks the future, and the other's not.

    Looks like: as if scaled twice, or not at all; steps that see what is yet to come.
    Proof: softmax(scale * query key^T) value, with or without the causal mask, is what each side
        computes of the query, key and value.
    """
    first = case.first
    if not any(op.word in _ATTENDING for op in (*case.reference.ops, *case.candidate.ops)):
        return
    numbers = (scale for one in _numbers(case) for scale in (one, 1 / one))
    scales = tuple(itertools.islice(dict.fromkeys(numbers), CONSTANTS_TRIED))
    for entering in (*_ENTERING, *_read_at_once(case)):
        if len(entering(first)) != 3:
            continue
        reference = next(_attentions(entering(first), first.reference, scales), None)
        candidate = next(_attentions(entering(first), first.candidate, scales), None)
        if reference is None or candidate is None or reference == candidate:
            continue
        scale, fill, ahead = reference.scale, reference.fill, reference.ahead
        if replace(candidate, scale=scale, fill=fill, ahead=ahead) != reference:
            continue
        yield _attention_explained(reference, candidate, entering)
        return


def _numbers(case: Case) -> Iterator[float]:
    """Single positive numbers that the operations of either side were given or read."""
    for side in sides(case):
        for op in side.view.ops:
            yield from (one for one in op.attributes.values() if isinstance(one, float) and one > 0)
            for value in op.inputs:
                if not side.view.tape.is_live(value) and side.view.tape.values[value].size == 1:
                    number = float(side.model.run.array(value).ravel()[0])
                    if number > 0:
                        yield number


def _read_at_once(case: Case) -> Iterator[Entering]:
    """What an operation that attends by itself reads: query, key and value as they are laid out."""
    for view, run in (
        (case.reference, case.reference_values),
        (case.candidate, case.candidate_values),
    ):
        for op in view.ops:
            if op.word == "attention":
                yield partial(_values, run, op.inputs[:3])


def _values(
    run: Callable[[Mapping[int, Array], Collection[int]], list[Array]],
    values: Collection[int],
    trial: Trial,
) -> tuple[Array, ...]:
    return tuple(run(trial.given, values))


BothSides = tuple[bool | float, bool | float]
_ATTENDING = PRODUCTS | {"attention"}
Entering = Callable[[Trial], tuple[Array, ...]]
_ENTERING: Sequence[Entering] = (
    lambda trial: trial.inputs,
    lambda trial: tuple(trial.given.values()),  # before moves
)


def _attention_explained(
    reference: Attention, candidate: Attention, entering: Entering
) -> Explanation:
    changed: list[tuple[str, str, BothSides, str]] = []  # cause, parameter, of both sides, in words
    if reference.fill != candidate.fill and 0.0 in (reference.fill, candidate.fill):
        words = "a causal mask, the reference has none" if candidate.fill else "no causal mask"
        changed.append(
            ("attention-mask-missing", "masked", (reference.fill < 0, candidate.fill < 0), words)
        )
    elif reference.fill != candidate.fill:
        words = f"scores of steps to come are given {candidate.fill:g}, not {reference.fill:g}"
        changed.append(("attention-mask-value", "value", (reference.fill, candidate.fill), words))
    if reference.ahead != candidate.ahead and -np.inf == reference.fill == candidate.fill:
        words = f"each step sees up to {candidate.ahead} ahead of it, not up to {reference.ahead}"
        shift = candidate.ahead - reference.ahead
        changed.append(("mask-shift", "shift", (0, shift), words))
    if reference.scale != candidate.scale:
        words = f"scores times {candidate.scale:.6g}, the reference's times {reference.scale:.6g}"
        changed.append(("attention-scale", "scale", (reference.scale, candidate.scale), words))
    kinds, names, pairs, texts = zip(*changed, strict=True)
    return Explanation(
        kinds[0],
        "; ".join(texts),
        lambda trial: candidate(entering(trial)).reshape(trial.candidate.shape),
        lambda trial: reference(entering(trial)).reshape(trial.reference.shape),
        dict(zip(names, pairs, strict=True)),
        cost=len(changed) - 1,
    )


def _attentions(
    inputs: tuple[Array, ...], found: Array, scales: Sequence[float]
) -> Iterator[Attention]:
    """What gives a value of three inputs."""
    for one in _shaped(inputs, scales):
        masked = [replace(one, fill=-np.inf, ahead=steps) for steps in (0, 1, -1)]
        for tried in (one, *masked, one.fitted(inputs, found)):
            predicted = tried(inputs) if tried is not None else np.empty(0)
            if tried is None or predicted.size != found.size:
                continue
            if close(predicted.reshape(found.shape), found):
                yield tried


def _shaped(inputs: tuple[Array, ...], scales: Sequence[float]) -> Iterator[Attention]:
    """Attentions without masks that the shapes of three inputs allow."""
    for roles in itertools.permutations(range(3)):
        query, key, value = (inputs[role].shape for role in roles)
        rank = len(query)
        if not rank == len(key) == len(value) >= 2 or key[:-1] != value[:-1]:
            continue
        for steps in {rank - 2, *range(max(1, rank - 2))}:
            if query[:steps] + query[steps + 1 :] != key[:steps] + key[steps + 1 :]:
                continue
            if math.prod(query[:-1]) * key[steps] > SCORES_COMPUTED:
                continue  # rows of a batch, say: no attention is made of so many
            tried = dict.fromkeys((query[-1] ** -0.5, 1.0, *scales))  # the usual one, and none
            for scale, moved_back in itertools.product(tried, (True, False)):
                yield Attention(roles, steps, moved_back, scale, 0.0)
