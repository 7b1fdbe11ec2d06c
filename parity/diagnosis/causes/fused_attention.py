"""Attention seen as a whole: softmax(scale * query key^T, masked) value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes.attention import same_numbers, softmax
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.tape import Array

# --- attention as a whole -------------------------------------------------------------------------


@dataclass(frozen=True)
class Attention:
    """softmax(scale * query key^T, masked) value, of the inputs in that order.

    Attributes:
        roles: which inputs are query, key and value.
        steps: the axis of steps in all of them; the last axis is the features'.
        turned: whether the result has its steps there too, not before the features.
        fill: what is added to the scores of steps to come: 0 for none, -inf for a causal mask.
    """

    roles: tuple[int, int, int]
    steps: int
    turned: bool
    scale: float
    fill: float

    def __call__(self, inputs: tuple[Array, ...]) -> Array:
        scores, value = self.scores(inputs)
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, scores + self.fill)
        found = softmax(scores) @ value
        return np.moveaxis(found, -2, self.steps) if self.turned else found

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
        if self.turned:
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


@cause("attention-scale", "attention-mask-missing", "attention-mask-value")
def attention_in_one(case: Case) -> Iterator[Explanation]:
    """Attention in one operation that scales its scores or masks the future, and the other's not.

    Looks like: as if scaled twice, or not at all; steps that see what is yet to come.
    Proof: softmax(scale * query key^T) value, with or without the causal mask, is what each side
        computes of the query, key and value that enter.
    """
    first = case.first
    kinds_there = (*case.reference.kinds, *case.candidate.kinds)
    if not any(word in kind for kind in kinds_there for word in _PRODUCTS):
        return
    for entering in (_as_read, _before_moves):
        if len(entering(first)) != 3:
            continue
        ours = next(_attentions(entering(first), first.reference), None)
        theirs = next(_attentions(entering(first), first.candidate), None)
        if ours is None or theirs is None or ours == theirs:
            continue
        if replace(theirs, scale=ours.scale, fill=ours.fill) == ours:
            yield _attention_explained(ours, theirs, entering)
            return


_MOST_SCORES = 1 << 24
_PRODUCTS = ("mm", "matmul", "attention", "einsum")


def _as_read(trial: Trial) -> tuple[Array, ...]:
    return trial.inputs


def _before_moves(trial: Trial) -> tuple[Array, ...]:
    return tuple(trial.given.values())


def _attention_explained(
    ours: Attention, theirs: Attention, entering: Callable[[Trial], tuple[Array, ...]]
) -> Explanation:
    kinds: list[str] = []
    words: list[str] = []
    changed: dict[str, tuple[bool | float, bool | float]] = {}
    if ours.fill != theirs.fill and 0.0 in (ours.fill, theirs.fill):
        kinds.append("attention-mask-missing")
        changed["masked"] = (ours.fill < 0, theirs.fill < 0)
        words.append("a causal mask, the reference has none" if theirs.fill else "no causal mask")
    elif ours.fill != theirs.fill:
        kinds.append("attention-mask-value")
        changed["value"] = (ours.fill, theirs.fill)
        words.append(f"scores of steps to come are given {theirs.fill:g}, not {ours.fill:g}")
    if ours.scale != theirs.scale:
        kinds.append("attention-scale")
        changed["scale"] = (ours.scale, theirs.scale)
        words.append(f"scores times {theirs.scale:.6g}, the reference's times {ours.scale:.6g}")
    return Explanation(
        kinds[0],
        "; ".join(words),
        lambda trial: theirs(entering(trial)).reshape(trial.candidate.shape),
        lambda trial: ours(entering(trial)).reshape(trial.reference.shape),
        changed,
        cost=len(changed) - 1,
    )


def _attentions(inputs: tuple[Array, ...], found: Array) -> Iterator[Attention]:
    """What gives a value of three inputs."""
    for a, b, c in itertools.permutations(range(3)):
        query, key, value = inputs[a], inputs[b], inputs[c]
        if not query.ndim == key.ndim == value.ndim >= 2 or key.shape[:-1] != value.shape[:-1]:
            continue
        if query.shape[-1] != key.shape[-1]:
            continue
        # the scale that is usual, and none: what else there is, is a temperature
        scales = (query.shape[-1] ** -0.5, 1.0)
        axes = {query.ndim - 2, *range(max(1, query.ndim - 2))}
        for steps, turned in itertools.product(axes, (True, False)):
            if (
                query.shape[:steps] + query.shape[steps + 1 :]
                != key.shape[:steps] + key.shape[steps + 1 :]
            ):
                continue
            if query.size // query.shape[-1] * key.shape[steps] > _MOST_SCORES:
                continue  # rows of a batch, say: no attention is made of so many
            for scale in scales:
                plainly = Attention((a, b, c), steps, turned, scale, 0.0)
                causal = replace(plainly, fill=-np.inf)
                for one in (plainly, causal, plainly.fitted(inputs, found)):
                    if one is not None and _gives(one(inputs), found):
                        yield one


def _gives(predicted: Array, found: Array) -> bool:
    return predicted.size == found.size and same_numbers(predicted.reshape(found.shape), found)
