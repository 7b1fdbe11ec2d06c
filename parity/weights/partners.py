"""Which elements of one model's tensors stand for which of another's, by what both hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.arrays import varies
from parity.tape import Array
from parity.weights.pairing import Pair, Pairing, Side, pairings
from parity.weights.writing import converted, ordered

SAME = 1e-6  # relative: a weight may have been rounded to float32


class Partners:
    """Of each element of the first model's tensors, those of the second's that it stands for.

    Args:
        layers: by address of the first model one of the second, 0 for none, and a factor.
    """

    def __init__(self, layers: Sequence[tuple[Array, Array]]) -> None:
        self._layers = layers

    @classmethod
    def of_steps(cls, first: Side, second: Side) -> Partners:
        """By what the tensors do in both programs, as far as what they hold speaks for it."""
        pairs = _trusted(first, second, _as_held(first, second))
        found: list[tuple[Array, Array, Array]] = []
        for pair in pairs:
            terms = [] if pair.source is None else pair.source.find() or []
            others = pair.target.find() or []
            for sign, own in terms:
                own, factor = ordered(pair, own), np.asarray(sign, float)
                if not others or own.shape != others[0][1].shape:
                    continue
                factor = np.broadcast_to(factor, own.shape) / np.asarray(others[0][0], float)
                found.append((own.ravel(), others[0][1].ravel(), factor.ravel()))
        return cls(_by_count(found, int(first.starts[-1])))

    def terms(self, own: Array) -> list[tuple[Array, Array | float]]:
        """For addresses of the first model those of the second, with factors, that add up."""
        found: list[tuple[Array, Array | float]] = []
        for partner, factor in self._layers:
            if partner[own].any():
                factors = factor[own]
                found.append((partner[own], 1.0 if (factors == 1).all() else factors))
        return found


def _by_count(found: Sequence[tuple[Array, Array, Array]], size: int) -> list[tuple[Array, Array]]:
    """For each address its first partner, its second, and so on; 0 for none."""
    if not found:
        return []
    own, other, factor = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    known = (own > 0) & (other > 0)
    pairs, first = np.unique(np.stack([own[known], other[known]]), axis=1, return_index=True)
    own, other, factor = pairs[0], pairs[1], factor[known][first]
    # they are sorted: how many of the same stand before each
    starts = np.searchsorted(own, own)
    count = np.arange(len(own)) - starts
    layers = []
    for number in range(int(count.max(initial=-1)) + 1):
        here = count == number
        partner, factors = np.zeros(size + 1, np.int64), np.ones(size + 1)
        partner[own[here]], factors[own[here]] = other[here], factor[here]
        layers.append((partner, factors))
    return layers


def _as_held(first: Side, second: Side) -> Pairing:
    """The way of pairing in which most of what both models hold is the same."""
    best: tuple[int, Pairing] | None = None
    for way in pairings(first, second):
        unlike = sum(not _holds_the_same(first, second, pair) for pair in way.pairs)
        if best is None or unlike < best[0]:
            best = unlike, way
        if not unlike:
            break
    assert best is not None
    return best[1]


def _trusted(first: Side, second: Side, way: Pairing) -> list[Pair]:
    """The pairs of a way that what both models hold speaks for.

    All of them, if all hold the same. Where some do not, as structure alone pairs layers that are
    alike, a bias of zeros is its partner only if its layer's kernel is.
    """
    same = [pair for pair in way.pairs if _holds_the_same(first, second, pair)]
    if len(same) == len(way.pairs):
        return way.pairs
    distinct = {pair.target.step for pair in same if _varies(second, pair)} - {-1}
    return [pair for pair in same if pair.target.step in distinct or _varies(second, pair)]


def _varies(side: Side, pair: Pair) -> bool:
    """Whether what a pair holds tells it from others: zeros and ones are like any."""
    terms = pair.target.find() or []
    return any(varies(side.gather(own)) for _, own in terms)


def _holds_the_same(first: Side, second: Side, pair: Pair) -> bool:
    if pair.source is None:
        return True
    if pair.source.shape != pair.target.shape:
        return False
    terms = pair.target.find() or []
    held = [second.gather(own) * sign for sign, own in terms]
    return bool(held) and np.allclose(converted(first, pair), sum(held), SAME, SAME)
