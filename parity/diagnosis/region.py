"""What lies between values that have a partner and one that has none: the regions.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from parity.budget import check
from parity.diagnosis import limits
from parity.matching.axis_order import Order
from parity.matching.match import Indexed, Match, Pair, pair_up_leaves
from parity.numerics.difference import residual
from parity.numerics.rounding import explained_by_constants
from parity.tape import Array, Op, Tape


@dataclass(frozen=True)
class Region:
    """Operations of one tape between values that have a partner and one that has none.

    Attributes:
        ops: in the order of the data flow.
        entry: the first that computes something new (or arranges it anew): where the models
            diverge.
    """

    tape: Tape
    ops: tuple[Op, ...]
    entry: Op | None

    @property
    def computing(self) -> int:
        """How many of the operations do more than move values."""
        return sum(op.role != "move" for op in self.ops)

    @property
    def made(self) -> set[int]:
        """What the operations give, used or not."""
        return {value for op in self.ops for value in op.outputs}

    def boundary(self) -> Iterator[int]:
        """Inputs of the region: the model's, and values that operations outside it computed."""
        inside = self.made
        for value in dict.fromkeys(value for op in self.ops for value in op.inputs):
            producer = self.tape.producer(value)
            if value in inside or (producer is not None and producer.static):
                continue
            if producer is not None or self.tape.values[value].kind == "input":
                yield value

    def leaves(self) -> Iterator[int]:
        """Parameters and constants that the operations read, also through static operations."""
        for leaf in self.tape.graph.leaves(value for op in self.ops for value in op.inputs):
            if self.tape.values[leaf].kind != "input":
                yield leaf


@dataclass(frozen=True)
class DifferingLeaf:
    """A parameter, buffer or constant that has no equal on the other side.

    Attributes:
        reference, candidate: value ids; either may be missing.
        relation: `"arranged"` (the same values in another order), `"near"` or `"other"`.
    """

    reference: int | None
    candidate: int | None
    relation: str


@dataclass(frozen=True)
class Mismatch:
    """A pair of regions at which the two models diverge, and the values that end them.

    Attributes:
        values: value ids in the reference and the candidate, or None where nothing reconverges
            later.
        residual: of the candidate's value, computed from the reference's inputs, in float64.
        explained: how much of it float32 rounding of the region's constants explains.
        leaves: parameters and constants entering the region that differ.
        reconverges: whether later values agree once the reference's value is substituted, as
            measured.
        passed_on: the partner that the candidate's value has by itself: what the reference changes
            before others read it, the candidate passes on unchanged.
        unshared: how many weights each model has, where they share none; else 0.
        branches: whether it is of several branches that are joined, each of which differs.
    """

    reference: Region
    candidate: Region
    values: tuple[int, int] | None
    order: Order | None
    residual: float
    reconverges: bool
    explained: float = 0.0
    leaves: tuple[DifferingLeaf, ...] = ()
    passed_on: Pair | None = None
    unshared: int = 0
    branches: bool = False

    @property
    def regions(self) -> tuple[Region, Region]:
        return self.reference, self.candidate

    @property
    def random(self) -> tuple[bool, bool]:
        """Whether random numbers are drawn in the reference's and in the candidate's region."""
        reference, candidate = (any(op.role == "random" for op in one.ops) for one in self.regions)
        return reference, candidate


def reference_values(found: Match, mismatches: Iterable[Mismatch]) -> dict[int, Array]:
    """The reference's values at mismatches, laid out as the candidate's, by the candidate's ids."""
    return {
        one.values[1]: one.order.apply(found.reference.array(one.values[0]))
        for one in mismatches
        if one.values is not None and one.order is not None
    }


@dataclass(frozen=True)
class OutputPair:
    """Two outputs that ought to be equal: value id on both sides, and the names there."""

    name: str
    reference: int
    candidate: int
    candidate_name: str = ""

    @property
    def values(self) -> tuple[int, int]:
        return self.reference, self.candidate

    @property
    def names(self) -> tuple[str, str]:
        """In the reference and in the candidate."""
        return self.name, self.candidate_name


@dataclass
class SideWalk:
    """One tape as seen from outputs that differ.

    Attributes:
        ends: these outputs.
        settled: whether a value has a partner, as far as asked.
        depth: of an unsettled value the computing operations behind it.
        roots: what an unsettled value starts from: sizes and norms.
        weights: the parameters and constants that it is made with, in the same way.
        differing: what lies between the ends and values that have a partner, once asked.
    """

    side: Indexed
    ends: Sequence[int]
    settled: dict[int, bool] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)
    roots: dict[int, set[tuple[int, float]]] = field(default_factory=dict)
    weights: dict[int, set[tuple[int, float]]] = field(default_factory=dict)
    differing: Region | None = None

    def __post_init__(self) -> None:
        # an output that differs is unsettled, whatever else its values may resemble
        self.settled.update(dict.fromkeys(self.ends, False))

    @property
    def tape(self) -> Tape:
        return self.side.tape


class Scene:
    """Both tapes, what has a partner, and what lies between that and the outputs that differ.

    Attributes:
        apart: whether branches that are joined are divergences of their own, or one of all.
    """

    def __init__(self, found: Match, differing: Sequence[OutputPair], apart: bool = False) -> None:
        self.found, self.apart = found, apart
        side = Indexed(found.side.tape, found.side.run, found.side, found.reference.sharp)
        self.reference = SideWalk(found.reference, [pair.reference for pair in differing])
        self.candidate = SideWalk(side, [pair.candidate for pair in differing])
        self.partners, self._known = found.by_reference, len(found.pairs)
        self.differing = differing
        self._in_candidate: dict[int, Pair | int | None] = {}

    def is_settled(self, walk: SideWalk, value: int) -> bool:
        known = walk.settled.get(value)
        if known is None:
            known = walk.settled[value] = self._has_partner(walk, value)
        return known

    def _has_partner(self, walk: SideWalk, value: int) -> bool:
        if walk is self.candidate and value in self.found.injected:
            return True
        other = self.partner(walk, value)
        if other is None:
            return False
        if walk.side.informative(value):
            return True
        # the same few values stand in many places: they count only where both were computed
        opposite = self.reference if walk is self.candidate else self.candidate
        op = opposite.tape.producer(other)
        return op is not None and not op.static

    def partner(self, walk: SideWalk, value: int) -> int | None:
        """The value of the other side that a value is."""
        if walk is self.candidate:
            pair = self.found.pairs.get(value)
            return pair.reference if pair else None
        known = self.partners.get(value)
        if known is not None:
            return known.candidate
        found = self.in_candidate(value) if self.found.reference.array(value).size else None
        return found.reference if isinstance(found, Pair) and found.same else None

    def in_candidate(self, value: int) -> Pair | int | None:
        """The partner of a value of the reference among all of the candidate's."""
        if value not in self._in_candidate:
            known, side = self.found.reference, self.candidate.side
            self._in_candidate[value] = side.partner(known.array(value), known.print(value))
        return self._in_candidate[value]

    def _arranged(self, walk: SideWalk, value: int) -> int | None:
        """The value of the other side that a value arranges as no order of axes does."""
        if walk is self.candidate:
            return self.found.arranged.get(value)
        found = self.in_candidate(value)
        return found if isinstance(found, int) else None

    def own_regions(self, a: int, b: int) -> tuple[Region, Region]:
        """What lies on either side between a value and those behind it that have a partner."""
        return self.region(self.reference, a), self.region(self.candidate, b)

    def regions(self, a: int, b: int, itself: bool = True) -> tuple[Region, Region]:
        """What lies between two values and those behind them that have a partner.

        What one side's operations give besides, as a fused norm its mean, the other side computes
        within its region too.
        """
        again = itself or self.is_settled(self.reference, a)
        reference = self.region(self.reference, a, itself=again)
        candidate = self.region(self.candidate, b, itself=itself, besides=reference.made - {a})
        reference = self.region(self.reference, a, itself=again, besides=candidate.made - {b})
        return reference, candidate

    def region(
        self, walk: SideWalk, *values: int, itself: bool = False, besides: Collection[int] = ()
    ) -> Region:
        """What lies between values and those behind them that have a partner.

        Args:
            itself: whether to go on from `values` that have a partner.
            besides: values of the other side whose partners do not end the region.
        """
        tape = walk.tape
        inside: set[int] = set()
        makers = [op for value in values if (op := tape.producer(value)) is not None]
        static = itself or all(op.static for op in makers)  # no input reaches what is asked for

        def is_inside(value: int, op: Op) -> bool:
            if op.index in inside or (op.static and not static):
                return False
            check()
            if self.is_settled(walk, value) and not (itself and value in values):
                if not besides or self.partner(walk, value) not in besides:
                    return False
            inside.add(op.index)
            return True

        for _ in tape.graph.backward(values, is_inside):
            pass
        ops = tuple(tape.ops[index] for index in sorted(inside))
        return Region(tape, ops, self._entry(walk, ops))

    def _entry(self, walk: SideWalk, ops: Sequence[Op]) -> Op | None:
        live = [op for op in ops if not op.static] or ops
        for op in live:
            arranged = (self._arranged(walk, value) for value in op.outputs)
            if op.role != "move" or any(one is not None for one in arranged):
                return op
        return live[0] if live else None

    def differing_region(self, walk: SideWalk) -> Region:
        """What lies between the outputs that differ and values that have a partner."""
        if walk.differing is None:
            walk.differing = self.region(walk, *walk.ends)
        return walk.differing

    def with_counterparts(self, reference: Region, candidate: Region) -> tuple[Region, Region]:
        """Where one side arranges values anew, the other's place is where it arranges the same."""
        return (
            self._from_counterpart(reference, self.candidate, candidate.entry),
            self._from_counterpart(candidate, self.reference, reference.entry),
        )

    def _from_counterpart(self, region: Region, other: SideWalk, entry: Op | None) -> Region:
        if entry is None or entry.role != "move":
            return region
        for value in entry.outputs:
            counterpart = self._arranged(other, value)
            op = None if counterpart is None else region.tape.producer(counterpart)
            if op is not None and op.role == "move":
                ops = region.ops if op in region.ops else (op, *region.ops)
                return Region(region.tape, ops, op)
        return region

    def or_where_it_is_read(self, walk: SideWalk, region: Region, value: int) -> Region:
        """An input that one model changes and the other takes as it is: the place is its reader."""
        if region.entry is not None:
            return region
        graph = region.tape.graph
        differing = {op.index for op in self.differing_region(walk).ops}
        for moved in sorted(graph.moved(value)):
            for index in graph.consumers[moved]:
                if index in differing:
                    return replace(region, entry=region.tape.ops[index])
        return region

    def up_to_the_outputs(self, with_leaves: bool = True) -> Mismatch:
        """All that differs, where nothing later reconverges."""
        reference, candidate = map(self.differing_region, (self.reference, self.candidate))
        gap = float("inf")
        for pair in self.differing:
            a = self.found.reference.array(pair.reference)
            b = self.candidate.side.array(pair.candidate)
            if a.shape == b.shape:
                gap = residual(a, b)
        leaves = tuple(self.differing_leaves(reference, candidate)) if with_leaves else ()
        return Mismatch(reference, candidate, None, None, gap, False, 0.0, leaves)

    def mismatch(
        self,
        regions: tuple[Region, Region],
        ends: tuple[int, int],
        order: Order,
        gap: float,
        reconverges: bool,
    ) -> Mismatch:
        """Two values that differ, with what explains it."""
        leaves = tuple(self.differing_leaves(*regions))
        explained = self.explained(regions, ends, gap)
        return Mismatch(*regions, ends, order, gap, reconverges, explained, leaves)

    def explained(self, regions: tuple[Region, Region], ends: tuple[int, int], gap: float) -> float:
        """How much of the distance of two values the rounding of constants explains."""
        if gap > limits.LEAST_FAULT_OF_CONSTANTS and not any(
            region.tape.values[leaf].dtype in ("float16", "bfloat16")
            for region in regions
            for leaf in region.leaves()
        ):
            return 0.0
        pair_up_leaves(self.found, regions[1].leaves())
        equal = [pair for pair in self.found.pairs.values() if pair.residual == 0.0]
        # a constant that both sides have to the bit was rounded alike, and explains nothing
        known = {pair.reference for pair in equal}, {pair.candidate for pair in equal}
        runs = self.found.reference.run, self.found.side.run
        return max(
            explained_by_constants(
                region.tape,
                run,
                region.ops,
                [leaf for leaf in region.leaves() if leaf not in bits],
                end,
                gap,
            )
            for run, region, end, bits in zip(runs, regions, ends, known, strict=True)
        )

    def differing_leaves(self, reference: Region, candidate: Region) -> Iterator[DifferingLeaf]:
        """Parameters and constants that enter the candidate's region and have no equal."""
        values = self.found.reference.tape.values
        known = set(reference.leaves())
        pair_up_leaves(self.found, candidate.leaves())
        if len(self.found.pairs) > self._known:
            self.partners, self._known = self.found.by_reference, len(self.found.pairs)
        for leaf in candidate.leaves():
            if not self.candidate.side.informative(leaf):
                continue
            pair = self.found.pairs.get(leaf)
            arranged = self.found.arranged.get(leaf)
            if pair is not None:
                if not pair.same:
                    yield DifferingLeaf(pair.reference, leaf, "near")
            elif arranged is not None:
                yield DifferingLeaf(arranged, leaf, "arranged")
            else:
                size = candidate.tape.values[leaf].size
                alike = (
                    one for one in known if values[one].size == size and one not in self.partners
                )
                yield DifferingLeaf(next(alike, None), leaf, "other")
