"""Whether a fix, substituted alone, makes the candidate reconverge with the reference: measured.

What the repaired candidate would give is substituted into the candidate's own float64 run, in which
nothing else is repaired. Everything that depends on that place must then be the reference's, down
to the outputs; what depends on another divergence as well cannot be, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from parity.budget import current
from parity.diagnosis import limits
from parity.diagnosis.case import Case
from parity.diagnosis.explain import Explained
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import Mismatch, OutputPair, reference_values
from parity.errors import ReplayError
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.tape import Array, Op, Replay, Tape


class Proofs:
    """What fixes do in the candidate's own run, each substituted alone.

    Attributes:
        matched: the match as the models are.
        repaired: the match in which every divergence is repaired.
        mismatches: all places where the models differ, with those that are only noted.
        outputs: of the models.
    """

    def __init__(
        self,
        matched: Match,
        repaired: Match,
        mismatches: Sequence[Mismatch],
        outputs: Sequence[OutputPair],
    ) -> None:
        self.matched = matched
        self.repaired = repaired
        self.mismatches = mismatches
        self.outputs = outputs
        self._given: dict[int, list[Array]] = {}
        self._given_size = 0.0  # bytes

    @property
    def tape(self) -> Tape:
        """The candidate's."""
        return self.matched.side.tape

    @cached_property
    def own(self) -> Replay:
        """The candidate's own run in float64."""
        return self.tape.replay("float64", self.matched.inputs)

    @cached_property
    def draws(self) -> dict[int, Array]:
        """The reference's random draws, by the candidate's values that are their counterparts."""
        drawn = (one for one in self.mismatches if all(one.random))
        substituted = reference_values(self.matched, drawn)
        return {**self.matched.draws, **self.repaired.draws, **substituted}

    @cached_property
    def drawn(self) -> Replay:
        """The same with the reference's random draws: others would hide what reconverges."""
        return self.tape.replay("float64", self.draws, self.own) if self.draws else self.own

    def with_values(self, substituted: Mapping[int, Array]) -> Replay:
        """That with arrays in the place of values; what they depend on draws no other samples."""
        return self.tape.replay("float64", {**self.draws, **substituted}, self.drawn)

    def given_by(self, op: Op) -> list[Array]:
        """What an operation of the candidate gives where everything else is repaired.

        It is kept, while there is memory for it, as each divergence asks for all that follows it.
        """
        found = self._given.get(op.index)
        if found is None:
            run, scratch = self.repaired.side.run, self._scratch
            scratch.step(op)
            found = [scratch.array(value) for value in op.outputs]
            for value in op.outputs:
                scratch.replace(value, run.array(value))
            more = sum(array.nbytes for array in found)
            if current().holds(self._given_size + more):
                self._given[op.index] = found
                self._given_size += more
        return found

    @cached_property
    def _scratch(self) -> Replay:
        return self.repaired.side.run.branch()

    def doubt(self, mismatch: Mismatch, found: Explained) -> str:
        """Why a cause that holds in its region is not confirmed; "" where it is.

        Args:
            mismatch: what it explains.
            found: the explanation that holds, on the user's inputs and on others.
        """
        if found.unproved:
            return found.unproved
        case = found.case
        if mismatch.values is None:  # it is an output: nothing depends on it
            different = sum(not output_matches(self.repaired, pair) for pair in self.outputs)
            return f"{different} outputs differ, and it explains one" if different > 1 else ""
        if case.order is None:
            return "the fix cannot be substituted: the two values have no layout in common"
        end = case.candidate.end
        now = self.drawn.array(end)
        fix = case.order.apply(found.repaired)
        if fix.shape != now.shape:
            return "the fix cannot be substituted: it has another shape"
        try:
            wanted, gap = case.order.apply(case.first.reference), case.first.gap
            share = found.after / gap if 0 < gap < float("inf") else 0.0
            return self._unmet(mismatch, case, fix.astype(now.dtype, copy=False), wanted, share)
        except ReplayError:
            return "the candidate does not run on with the fix alone"

    def _unmet(
        self, mismatch: Mismatch, case: Case, fix: Array, wanted: Array, share: float
    ) -> str:
        """What does not reconverge with a fix at the end of a case; "" if all does.

        There the reference has `wanted`, and rounded constants leave a `share` of the difference.
        """
        end = case.candidate.end
        scope = list(self._scope(mismatch, case))
        if not scope:
            return ""
        fixed = self.with_values({end: fix})
        after = {value: self._gap(value, fixed) for value in scope}
        if not max(after.values()) > SAME:
            return ""
        shows = max(self._gap(value, self.drawn) for value in scope)
        least = max(SAME, min(limits.ROUNDED_CONSTANTS, limits.LEFT * shows))
        left = [value for value in scope if not after[value] <= least]
        if not left:
            return ""
        moved = self.with_values({end: _rounded(fix)})
        right = self.with_values({end: wanted.astype(fix.dtype, copy=False)})
        for value in left:
            sensitive = limits.SENSITIVE * residual(fixed.array(value), moved.array(value))
            of_place = min(limits.SENSITIVE * share, limits.LEFT)
            bound = max(
                least,
                min(sensitive, limits.LEFT * shows),
                of_place * self._gap(value, self.drawn),
            )
            # no fix removes what rounding elsewhere leaves of the reference's own value
            bound += min(self._gap(value, right), limits.ROUNDED_CONSTANTS)
            gap = after[value]
            if not gap <= bound:
                return f"with the fix alone, {self._named(value)} still differs ({gap:.1e})"
        return ""

    def _scope(self, mismatch: Mismatch, case: Case) -> Iterator[int]:
        """What must reconverge: what is made of the place, and of no other divergence."""
        if mismatch.values is None:
            return
        end = case.candidate.end
        graph = self.tape.graph
        behind = {v for index in graph.ancestors([end]) for v in self.tape.ops[index].inputs}
        inside = {value for op in case.candidate.ops for value in op.outputs if value in behind}
        made = (graph.descendants(end) | graph.descendants(mismatch.values[1])) - {end}
        others = [one for one in self.mismatches if one is not mismatch and one.residual > SAME]
        ends = {
            value
            for one in others
            if not self._is_noted(one)
            for value in (one.candidate.made if one.values is None else {one.values[1]})
        }
        blocked = _made_of(self.tape, ends - inside, end)
        outputs = {pair.candidate for pair in self.outputs}
        pairs, side, used = self.repaired.pairs, self.repaired.side, self.tape.used
        for value in sorted(made - inside - blocked):
            read = self.tape.values[value].op in used  # what leads to no output need not
            if value in pairs and (value in outputs or read and side.informative(value)):
                yield value

    def _is_noted(self, mismatch: Mismatch) -> bool:
        """Whether a place is one of rounded constants: it hides nothing of another difference."""
        return not any(mismatch.random) and mismatch.residual <= max(
            mismatch.explained, limits.ROUNDED_CONSTANTS
        )

    def _gap(self, value: int, run: Replay) -> float:
        pair = self.repaired.pairs[value]
        wanted = pair.order.apply(self.matched.reference.array(pair.reference))
        found = run.array(value)
        return residual(wanted, found) if wanted.shape == found.shape else float("inf")

    def _named(self, value: int) -> str:
        for pair in self.outputs:
            if pair.candidate == value:
                return f"output {pair.name!r}"
        op = self.tape.producer(value)
        if op is None:
            return "a value"
        where = op.site.layer or op.site.source.rsplit("/", 1)[-1]
        return f"the result of {op.kind}" + (f" ({where})" if where else "")


def _made_of(tape: Tape, values: set[int], cut: int) -> set[int]:
    """Values, and what is made of them by another way than through `cut`."""
    found = set(values) - {cut}
    for op in tape.ops:
        if not found.isdisjoint(op.inputs):
            found.update(value for value in op.outputs if value != cut)
    return found


def _rounded(array: Array) -> Array:
    """Every element by one float32 rounding off, up or down."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], array.shape)
    return array * (1 + U32 * signs) if array.dtype.kind == "f" else array
