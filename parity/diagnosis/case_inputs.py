"""The inputs of both regions of a case, and which of the one's is which of the other's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from parity.arrays import varies
from parity.diagnosis.region import Region
from parity.diagnosis.view import made_from
from parity.matching.match import Match, Pair
from parity.tape import Array, Replay


class CaseInputs:
    """What the two regions of a case read, before the place is repaired.

    Attributes:
        entering: the floating values that the reference's region reads.
        candidate_entering: those that the candidate's reads.
        exact: integers and booleans that the candidate's region reads, with the reference's.
        host_made: constants that the candidate's region reads and the reference's computes.
    """

    def __init__(
        self, repaired: Match, reference: Region, candidate: Region, passed_on: Pair | None
    ) -> None:
        """`passed_on` is as in a `Mismatch`."""
        self._repaired, self._regions, self._passed_on = repaired, (reference, candidate), passed_on
        self._runs: tuple[Replay, Replay] = repaired.reference.run, repaired.side.run
        self.entering = tuple(v for v in reference.boundary() if _floating(self._runs[0], v))
        read = candidate.boundary() if passed_on is None else (passed_on.candidate,)
        self._read_by_the_candidate = tuple(read)
        self.candidate_entering = tuple(
            v for v in self._read_by_the_candidate if _floating(self._runs[1], v)
        )
        self.exact, self._exact_cut = self._exact_partners()
        self.host_made = self._host_made()

    @cached_property
    def partners(self) -> dict[int, int]:
        """The reference's value that each input of the candidate's region is.

        A clip that cuts nothing off gives its input: of such values it is the one that the
        reference's region reads, lest the clip cut values redrawn for one side only.
        """
        pairs = self.pairs
        return {v: self._as_read(pairs[v].reference) for v in self.candidate_entering if v in pairs}

    @cached_property
    def pairs(self) -> Mapping[int, Pair]:
        """The candidate's values with their partners as they are before the repair."""
        pairs, passed_on = self._repaired.pairs, self._passed_on
        return pairs if passed_on is None else {**pairs, passed_on.candidate: passed_on}

    def _as_read(self, value: int) -> int:
        if value in self.entering:
            return value
        array = self._runs[0].array(value)
        alike = self._entering_by_start.get(_start(array), ())
        own = self._runs[0]
        return next((other for other in alike if same_value(own.array(other), array)), value)

    @cached_property
    def _entering_by_start(self) -> Mapping[object, list[int]]:
        """The inputs of the reference's region, by shape and first value: there may be hundreds."""
        found: dict[object, list[int]] = {}
        for value in self.entering:
            found.setdefault(_start(self._runs[0].array(value)), []).append(value)
        return found

    @property
    def read(self) -> dict[int, int]:
        """All that the candidate's region is given, with the reference's values."""
        return {**self.partners, **self.exact, **self.host_made}

    @property
    def partner_pairs(self) -> list[Pair]:
        """The pairs of the candidate's inputs, as they are before the repair."""
        return [self.pairs[value] for value in self.partners]

    @cached_property
    def starts(self) -> frozenset[int]:
        """The reference's values that a trial changes, and what moves make of them."""
        return frozenset({*self.roots, *self._cut})

    @property
    def _cut(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.entering, *self.partners.values())))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The inputs of either region, before moves."""
        before = self._repaired.reference.tape.before_moves
        return tuple(dict.fromkeys(before(value) for value in (*self._cut, *self._exact_cut)))

    @cached_property
    def _links(self) -> dict[int, frozenset[int]]:
        """What makes one input of others, by value: v and v + a, each redrawn, do not fit."""
        tape, starts = self._repaired.reference.tape, {*self._starts}
        made = {start: made_from(tape, start, starts - {start}) for start in self._starts}
        return {start: ops for start, ops in made.items() if ops is not None}

    @cached_property
    def moves(self) -> frozenset[int]:
        """Operations that make the inputs of the roots."""
        graph, starts = self._regions[0].tape.graph, {*self.roots, *self._links}
        cut = (*self._cut, *self._exact_cut)
        walk = graph.backward(cut, lambda value, _: value not in starts)
        moves = {op.index for value, op in walk if op is not None and value not in starts}
        return frozenset(moves).union(*self._links.values(), self._made_by_the_host)

    @property
    def _made_by_the_host(self) -> frozenset[int]:
        """The reference's operations that compute what the candidate's host did."""
        inside = {op.index for op in self._regions[0].ops}
        walk = self._regions[0].tape.graph.backward(
            self.host_made.values(), lambda _, op: op.index in inside
        )
        return frozenset(op.index for _, op in walk if op is not None and op.index in inside)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The reference's values that a trial changes: inputs of either region, before moves."""
        return tuple(start for start in self._starts if start not in self._links)

    @cached_property
    def counts(self) -> frozenset[int]:
        """Roots that hold whole numbers as floats, and that the candidate reads as integers.

        As how many scores are left is: other numbers would be no index.
        """
        before = self._repaired.reference.tape.before_moves
        read = {before(value) for value in self.exact.values()} & {*self.roots}
        return frozenset(value for value in read if _floating(self._runs[0], value))

    @cached_property
    def same(self) -> bool:
        """Whether both regions read the same values, but for moves."""
        tape = self._repaired.reference.tape
        reference = {tape.before_moves(value) for value in self.entering}
        candidate = {tape.before_moves(value) for value in self.partners.values()}
        return reference == candidate and len(self.partners) == len(self.candidate_entering)

    def _host_made(self) -> dict[int, int]:
        """Constants that the candidate's host made of values of the run, as a mask in NumPy.

        The reference computes them in its region: on other inputs they are what it has there.
        """
        tapes, pairs = [region.tape for region in self._regions], self.pairs
        inside = self._regions[0].made
        read = dict.fromkeys(value for op in self._regions[1].ops for value in op.inputs)
        found = {
            value: pairs[value].reference
            for value in read
            if tapes[1].is_from_host(value) and value in pairs
        }
        return {
            value: partner
            for value, partner in found.items()
            if partner in inside and tapes[0].is_live(partner) and self._of_one_kind(partner, value)
        }

    def _of_one_kind(self, partner: int, value: int) -> bool:
        """Whether both are numbers, or both masks or indices."""
        arrays = self._runs[0].array(partner), self._runs[1].array(value)
        return bool(arrays[0].dtype.kind == arrays[1].dtype.kind)

    def _exact_partners(self) -> tuple[dict[int, int], tuple[int, ...]]:
        """`exact`, and what either region starts from; both empty where they read others.

        Regions that compute nothing but such may read others: a mask of another's tokens.
        """
        tape = self._repaired.reference.tape
        known = [v for v in self._regions[0].boundary() if not _floating(self._runs[0], v)]
        read = [v for v in self._read_by_the_candidate if not _floating(self._runs[1], v)]
        found = {v: self.pairs[v].reference for v in read if v in self.pairs}
        sides = (known, found.values(), self.entering, self.partners.values())
        roots = [{tape.before_moves(v) for v in side} for side in sides]
        numbers = (
            _floating(run, value)
            for region, run in zip(self._regions, self._runs, strict=True)
            for value in (*region.made, *region.boundary())
        )
        if read and len(found) == len(read) and not any(numbers):
            return found, tuple(dict.fromkeys((*known, *found.values())))
        # what one side reads as integers the other may read as the numbers that they are cast to
        if len(found) < len(read) or not roots[0] <= roots[1] | roots[3]:
            return {}, ()
        if not roots[1] <= roots[0] | roots[2]:
            return {}, ()
        return found, tuple(dict.fromkeys((*known, *found.values())))


def _start(array: Array) -> object:
    """A key that equal arrays share."""
    return array.shape, array.flat[0] if array.size else None


def same_value(a: Array, b: Array) -> bool:
    """Whether two arrays are the same value, and not only both zero."""
    if a.shape != b.shape or a.size < 2 or a.flat[0] != b.flat[0]:
        return False
    return bool(np.array_equal(a, b) and varies(a))


def _floating(run: Replay, value: int) -> bool:
    return bool(run.array(value).dtype.kind == "f")
