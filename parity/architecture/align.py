"""Which step of one program is which of another's."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

from parity.architecture.program import Around, Program
from parity.architecture.step import Step
from parity.budget import check

_MANY = 250_000  # pairs of steps that are compared in full


class _Steps(Protocol):
    """Steps, and for each those next to it."""

    @property
    def steps(self) -> Sequence[Step]: ...
    @property
    def before(self) -> Sequence[Around]: ...
    @property
    def after(self) -> Sequence[Around]: ...


@dataclass(frozen=True)
class _Products:
    """The steps of a program that multiply by weights, as if there were no others.

    Attributes:
        numbers: of each in the program.
    """

    numbers: tuple[int, ...]
    steps: tuple[Step, ...]
    before: tuple[Around, ...]
    after: tuple[Around, ...]


def align(reference: Program, candidate: Program) -> dict[int, int]:
    """The reference's steps to the candidate's that they are: the surest first.

    Steps match by all that leads to them and all that follows, then by one of both, so that a
    difference keeps nothing behind it or before it from matching, in whatever order branches ran.
    """
    return _filled_up(reference, candidate, _matched(reference, candidate))


def align_by_products(reference: Program, candidate: Program) -> dict[int, int]:
    """The same, by the steps that multiply by weights; the others go by what is next to them.

    An activation that one model computes in several operations, or statistics that it does not
    hold, then set nothing apart.
    """
    left, right = _products(reference), _products(candidate)
    found = _filled_up(left, right, _matched(left, right))
    pairs = {left.numbers[a]: right.numbers[b] for a, b in found.items()}
    return _filled_up(reference, candidate, pairs)


def _products(program: Program) -> _Products:
    numbers = [n for n, step in enumerate(program.steps) if step.width or step.opaque]
    places = {number: place for place, number in enumerate(numbers)}
    steps = tuple(program.steps[number] for number in numbers)
    before, after = program.flow(places)
    return _Products(
        tuple(numbers),
        steps,
        tuple(before[step.ops[0]] for step in steps),
        tuple(after[step.ops[0]] for step in steps),
    )


def _matched(reference: _Steps, candidate: _Steps) -> dict[int, int]:
    """Steps that match by all that leads to them, all that follows, or both."""
    past, future = (
        [_histories(program, backwards) for program in (reference, candidate)]
        for backwards in (False, True)
    )
    both = [list(zip(*histories, strict=True)) for histories in zip(past, future, strict=True)]
    pairs: dict[int, int] = {}
    for histories in (both, past, future):
        _pair_equal(histories[0], histories[1], pairs)
    return pairs


def _filled_up(reference: _Steps, candidate: _Steps, pairs: dict[int, int]) -> dict[int, int]:
    """Pairs of steps, and what they lead to."""
    _spread(reference, candidate, pairs)
    _in_order(reference, candidate, pairs)
    _spread(reference, candidate, pairs)
    _spread(reference, candidate, pairs, _pointwise)
    return dict(sorted(pairs.items()))


def _histories(program: _Steps, backwards: bool) -> list[Hashable]:
    """For each step one number for itself and all that leads to it (or follows)."""
    steps, nearest = program.steps, program.after if backwards else program.before
    found: list[Hashable] = [None] * len(steps)
    for number in reversed(range(len(steps))) if backwards else range(len(steps)):
        around = (str(found[one]) if isinstance(one, int) else one for one in nearest[number])
        found[number] = hash((steps[number].key, *sorted(around)))
    return found


def _pair_equal(left: Sequence[Hashable], right: Sequence[Hashable], pairs: dict[int, int]) -> None:
    """Pairs steps that have something in common with as many on the other side, in their order."""
    reference, candidate = _places(left, pairs), _places(right, pairs.values())
    for what, numbers in reference.items():
        if len(numbers) == len(candidate[what]):
            pairs.update(zip(numbers, candidate[what], strict=True))


def _places(words: Sequence[Hashable], taken: Iterable[int]) -> dict[Hashable, list[int]]:
    """Where each word stands, but for what is taken."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for number in sorted(set(range(len(words))).difference(taken)):
        found[words[number]].append(number)
    return found


def _pointwise(step: Step) -> Hashable:
    """The same for a dense layer and for a convolution of one pixel, which stand for each other."""
    if step.kind == "convolution" and set(step.parameters["kernel"]) == {1}:
        return ("dense", step.parameters["filters"])
    return step.key


def _spread(
    reference: _Steps,
    candidate: _Steps,
    pairs: dict[int, int],
    key: Callable[[Step], Hashable] = lambda step: step.key,
) -> None:
    """Pairs steps that are alike next to steps that are paired, until there are no more."""
    alike = _places([key(step) for step in candidate.steps], pairs.values())
    changed = True
    while changed:
        changed = False
        for a, step in enumerate(reference.steps):
            if a in pairs:
                continue
            check()
            before, after = (
                partners(reference.before[a], pairs),
                partners(reference.after[a], pairs),
            )
            fits = [b for b in alike[key(step)] if before == candidate.before[b]
                    or after == candidate.after[b]]  # fmt: skip
            if len(fits) == 1:
                pairs[a] = fits[0]
                alike[key(step)].remove(fits[0])
                changed = True


def partners(around: Around, steps: Mapping[int, int]) -> Around:
    """The other program's steps that these are; -1 for one without a partner."""
    return frozenset(steps.get(one, -1) if isinstance(one, int) else one for one in around)


def _in_order(reference: _Steps, candidate: _Steps, pairs: dict[int, int]) -> None:
    """Pairs what is left and alike in the same order on both sides."""
    taken = set(pairs.values())
    left = [number for number in range(len(reference.steps)) if number not in pairs]
    right = [number for number in range(len(candidate.steps)) if number not in taken]
    keys = [reference.steps[n].key for n in left], [candidate.steps[n].key for n in right]
    if len(left) * len(right) > _MANY:  # what follows takes the square, or more
        pairs.update((left[a], right[b]) for a, b in _next_alike(*keys))
        return
    for a, b, size in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
        pairs.update(zip(left[a : a + size], right[b : b + size], strict=True))


def _next_alike(
    reference: Sequence[Hashable], candidate: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Places with one key on both sides, in the order of both: each with the next that is left."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for b, key in enumerate(candidate):
        places[key].append(b)
    last = -1
    for a, key in enumerate(reference):
        found = bisect.bisect_right(places[key], last)
        if found < len(places[key]):
            last = places[key][found]
            yield a, last
