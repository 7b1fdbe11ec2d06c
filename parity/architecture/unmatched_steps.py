"""Where steps have no partner, and whether that may be reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parity.architecture.program import Around, Program
from parity.architecture.step import DENSE, Step
from parity.budget import check

_NOT_NEGATIVE = frozenset("relu relu6 sigmoid softmax softplus hard_sigmoid".split())


@dataclass(frozen=True)
class Place:
    """Steps without a partner between the same paired steps.

    Attributes:
        at: where it comes among the reference's steps.
        near: the last paired step before it, on both sides; None at the inputs.
    """

    at: float
    reference: Sequence[Step]
    candidate: Sequence[Step]
    near: tuple[Step | None, Step | None]


class Places:
    """Steps without a partner, by the paired steps between which they stand.

    Loose operations there decide what may be reported: one that only one side has may be the step
    that it lacks, written by hand.

    Attributes:
        unpaired: whether anything of either program, named or loose, is not in the other.
    """

    def __init__(self, reference: Program, candidate: Program, pairs: Mapping[int, int]) -> None:
        self.programs = reference, candidate
        self.pairs = pairs
        shown = {a: a for a in pairs}, {b: a for a, b in pairs.items()}
        self.flows = reference.flow(shown[0]), candidate.flow(shown[1])
        self.left = tuple(
            [n for n in range(len(program.steps)) if n not in of_side]
            for program, of_side in zip(self.programs, shown, strict=True)
        )
        self.loose = tuple(
            [(before[index], after[index], word) for index, word in program.loose()]
            for program, (before, after) in zip(self.programs, self.flows, strict=True)
        )
        words = [Counter(word for _, _, word in loose) for loose in self.loose]
        self.unpaired = any(self.left) or words[0] != words[1]
        self._alike = [Counter(step.key for step in program.steps) for program in self.programs]
        self._beside = [_by_step(loose) for loose in self.loose]

    def certain(self, number: int) -> bool:
        """Whether two paired steps are sure to be the same one.

        They stand between the same paired steps, and no other step, named or loose, that only one
        of the models has beside them could be the true partner of either.
        """
        pair = self._pair(number)
        if any(self._around(number, way)[0] != self._around(number, way)[1] for way in (0, 1)):
            return False
        if pair[0].size and all(alike[pair[0].key] == 1 for alike in self._alike):
            return True
        reference, candidate = ([way.get(number) for way in ways] for ways in self._beside)
        return reference == candidate and not any(
            step.alike(other) for side, step in enumerate(pair) for other in self._unpaired(side)
        )

    def differing(self) -> Iterator[Place]:
        """The places where steps may be reported missing, extra or others."""
        found: dict[tuple[Around, Around], tuple[list[int], list[int]]] = defaultdict(
            lambda: ([], [])
        )
        for side, (program, (before, after)) in enumerate(
            zip(self.programs, self.flows, strict=True)
        ):
            for number in self.left[side]:
                ops = program.steps[number].ops
                found[before[ops[0]], after[ops[-1]]][side].append(number)
        for around, numbers in found.items():
            check()
            if self._wired_alike(*around) and self._may_be_reported(*around, numbers):
                last = max((n for n in around[0] if isinstance(n, int)), default=None)
                reference, candidate = (
                    [program.steps[n] for n in some]
                    for program, some in zip(self.programs, numbers, strict=True)
                )
                near = (None, None) if last is None else self._pair(last)
                yield Place(-0.5 if last is None else last + 0.5, reference, candidate, near)

    def _pair(self, number: int) -> tuple[Step, Step]:
        """A paired step on both sides."""
        return (
            self.programs[0].steps[number],
            self.programs[1].steps[self.pairs[number]],
        )

    def _around(self, number: int, way: int) -> tuple[Around, Around]:
        """What comes before a paired step (way 0) or after it (1), on both sides."""
        reference, candidate = self._pair(number)
        return self.flows[0][way][reference.ops[0]], self.flows[1][way][candidate.ops[0]]

    def _unpaired(self, side: int) -> list[Step]:
        return [self.programs[side].steps[number] for number in self.left[side]]

    def _wired_alike(self, before: Around, after: Around) -> bool:
        """Whether the paired steps around a place are joined in the same way in both models."""
        around = [
            self._around(number, way)
            for way, numbers in enumerate((after, before))
            for number in numbers
            if isinstance(number, int)
        ]
        return bool(around) and all(reference == candidate for reference, candidate in around)

    def _may_be_reported(
        self, before: Around, after: Around, numbers: tuple[list[int], list[int]]
    ) -> bool:
        """Whether nothing can stand for what has no partner at a place."""
        counts = [
            Counter(word for b, a, word in loose if b & before and a & after)
            for loose in self.loose
        ]
        steps = [self.programs[side].steps[number] for side in (0, 1) for number in numbers[side]]
        hidden = any(step.width for step in steps) and not DENSE.isdisjoint(counts[0])
        if hidden or counts[0] != counts[1] or any(step.opaque for step in steps):
            return False
        if all(numbers):
            return True
        side = 0 if numbers[0] else 1
        if any(_may_be_nothing(self.programs[side], number) for number in numbers[side]):
            return False
        # it may be there, joined otherwise
        return not any(step.alike(other) for step in steps for other in self._unpaired(1 - side))


def _by_step(loose: Sequence[tuple[Around, Around, str]]) -> Sequence[dict[Any, Counter[str]]]:
    """The loose operations for which each step is among the nearest before; and after."""
    found = defaultdict[Any, Counter[str]](Counter), defaultdict[Any, Counter[str]](Counter)
    for *around, word in loose:
        for way, numbers in zip(found, around, strict=True):
            for number in numbers:
                way[number][word] += 1
    return found


def _may_be_nothing(program: Program, number: int) -> bool:
    """Whether a model without a step may compute the same all the same.

    A batch norm folds into a product beside it, two products in a row are one, a mean of means is
    a mean, a ReLU leaves alone what is not negative, and what stands beside a recurrence or an
    attention may be inside it.
    """
    step = program.steps[number]
    before, after = (
        [program.steps[n] for n in around if isinstance(n, int)]
        for around in (program.before[number], program.after[number])
    )
    if any(one.opaque for one in (*before, *after)):
        return True
    if step.kind == "batch_norm" or step.width:
        return any(one.width for one in (*before, *after))
    if step.kind == "average_pool":
        return any(one.kind == "global_average_pool" for one in after)
    if step.kind in ("relu", "relu6"):
        return bool(before) and all(one.kind in _NOT_NEGATIVE for one in before)
    return False
