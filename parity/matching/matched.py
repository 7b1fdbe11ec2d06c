"""What matching knows: the values of both sides by their contents, and which are pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from parity.draws.pairing import Drawing
from parity.matching import limits
from parity.matching.axis_order import Order, find_order, same_lengths
from parity.matching.fingerprint import Fingerprint, Index, fingerprint
from parity.numerics.accounting import elementwise, rounding
from parity.numerics.difference import residual
from parity.tape import Array, Replay, Tape

# Moves that give every value once.
SAME_VALUES = ("reshape", "transpose", "expand_dims", "squeeze", "copy")


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate's value and its partner.

    Attributes:
        reference, candidate: value ids.
        order: lays the reference's value out as the candidate's.
        residual: relative root mean square of their float64 difference, before the replacement.
    """

    reference: int
    candidate: int
    order: Order
    residual: float

    @property
    def values(self) -> tuple[int, int]:
        return self.reference, self.candidate

    @property
    def same(self) -> bool:
        return self.residual <= limits.SAME


class Side:
    """One tape with its float64 values, and their fingerprints as they are asked for."""

    def __init__(self, tape: Tape, run: Replay) -> None:
        self.tape = tape
        self.run = run
        self._prints: dict[int, Fingerprint] = {}

    def print(self, value: int) -> Fingerprint:
        found = self._prints.get(value)
        if found is None:
            found = self._prints[value] = self._take(value)
        return found

    def _take(self, value: int) -> Fingerprint:
        op = self.tape.producer(value)
        if op is not None and op.role == "move" and len(op.inputs) == 1 and len(op.outputs) == 1:
            source = self.tape.values[op.inputs[0]]
            made = self.tape.values[value]
            # a reshape or transpose; a cast changes values, a slice of a broadcast the size
            if source.size == made.size and source.dtype == made.dtype and op.word in SAME_VALUES:
                return self.print(source.id)
        return fingerprint(self.run.array(value))

    def forget(self, value: int) -> None:
        self._prints.pop(value, None)

    def array(self, value: int) -> Array:
        return self.run.array(value)

    def informative(self, value: int) -> bool:
        return self.print(value).informative


class Indexed(Side):
    """A side whose values can be found by their contents.

    Attributes:
        sharp: whether each element has to agree by its own size and rounding. Else a difference is
            relative to the whole array, which is cheaper, and blind to what is small beside it.
    """

    def __init__(
        self, tape: Tape, run: Replay, known: Side | None = None, sharp: bool = False
    ) -> None:
        super().__init__(tape, run)
        self.sharp = sharp
        self._errors: dict[int, Array] = {}
        if known is not None:
            self._prints = known._prints
        self.index = Index(self.print)
        for value in tape.values:
            if value.id in run and value.size:
                self.index.add(value.id, value.size)

    def partner(
        self, array: Array, print_: Fingerprint, taken: Collection[int] = ()
    ) -> Pair | int | None:
        """The partner of an array of the other side.

        Args:
            taken: values that have an equal partner already. What merely comes near one of them
                is that value after one more small step (an epsilon added), not its partner.

        Returns:
            A pair; or the id of a value with the same values in an arrangement that no axis order
            explains; or None.
        """
        arranged: int | None = None
        for tolerance in (limits.SAME, limits.NEAR):
            near = self.index.look_up(print_, tolerance)
            free = (one for one in near if tolerance == limits.SAME or one not in taken)
            alike = list(islice(free, limits.LOOK_ALIKES))
            found = self._laid_out(array, alike, tolerance)
            if isinstance(found, Pair) and self.sharp:
                found = self._sharpened(found, array, tolerance)
                if found is None:
                    continue
            if isinstance(found, Pair):
                return found
            if tolerance == limits.SAME and alike:
                arranged = found if found is not None else min(alike)
        return arranged

    def distance(self, value: int, array: Array) -> float:
        """By how much an array, laid out as a value of this side, differs from it; relative."""
        own = self.array(value)
        if not self.sharp:
            return residual(own, array)
        error = self._errors.get(value)
        if error is None:
            error = self._errors[value] = rounding(self.tape.recorded_array(value), own)
        return elementwise(own, array, error)

    def _sharpened(self, pair: Pair, array: Array, tolerance: float) -> Pair | None:
        """A pair with the residual of its worst element; None where that is no rounding."""
        laid_back = pair.order.revert(array, self.array(pair.reference).shape)
        gap = self.distance(pair.reference, laid_back)
        limit = limits.SAME if tolerance == limits.SAME else limits.CONSTANTS_APART
        return Pair(pair.reference, pair.candidate, pair.order, gap) if gap <= limit else None

    def _laid_out(self, array: Array, alike: Sequence[int], tolerance: float) -> Pair | int | None:
        """The pair among values that look alike whose axes explain the array; see `partner`.

        Values with axes of the same lengths come first. If none of them fits, a value with merged
        or split axes is the partner only where it explains those too: a flatten in another layout
        merges the same axes, but (actions, atoms) split as (atoms, actions) does not.
        """
        if tolerance == limits.NEAR:
            return self._nearest(array, alike)
        same = [one for one in alike if same_lengths(self.array(one).shape, array.shape)]
        others = [one for one in alike if one not in same]
        for value in (*same, *others):
            found = find_order(self.array(value), array, limits.SAME, self.print(value))
            if found is None:
                continue
            if same and value in others:
                if found[0].split or not self._merged_alike(value, same[0], found[0]):
                    break
            pair = Pair(value, -1, *found)
            return pair if pair.order.identity else self._as_it_lies(array, same, pair)
        return min(same, default=None)

    def _as_it_lies(self, array: Array, alike: Sequence[int], turned: Pair) -> Pair:
        """A pair with a value that the array is as it lies, rather than another one turned.

        As where one broadcasts a row along either axis: each is the other, transposed.
        """
        root = self.tape.before_moves(turned.reference)
        for value in alike:
            if self.array(value).shape == array.shape and self.tape.before_moves(value) != root:
                found = find_order(self.array(value), array, limits.SAME, self.print(value))
                if found is not None and found[0].identity:
                    return Pair(value, -1, *found)
        return turned

    def _nearest(self, array: Array, alike: Sequence[int]) -> Pair | None:
        """The pair with the smallest residual among values that come near."""
        best: Pair | None = None
        for value in alike:
            found = find_order(self.array(value), array, limits.NEAR, self.print(value))
            if found is not None and (best is None or found[1] < best.residual):
                best = Pair(value, -1, *found)
        return best

    def _merged_alike(self, fine: int, merged: int, order: Order) -> bool:
        """Whether the reference merged the same axes as the candidate, in whatever order."""
        own = find_order(self.array(fine), self.array(merged), limits.SAME, self.print(fine))
        return own is not None and own[0].groups == order.groups


@dataclass
class Match:
    """What is known of the candidate's values.

    Attributes:
        pairs: by the candidate's value id.
        arranged: candidate's value to the reference's value with the same values in an
            arrangement that no axis order explains.
        side: the candidate's own values, replaced by their partners where they have one.
        taken: the reference's values that have an equal partner.
        injected: candidate's substituted values, with the arrays.
        inputs: the candidate's inputs that were replaced by the reference's to begin with.
        draws: what was substituted for the candidate's random draws: the reference's samples, in
            the candidate's layout.
        drawing: the draws of both, and which is the counterpart of which.
        alone: whether the candidate's values are still those of its own replay: none was replaced.
    """

    reference: Indexed
    side: Side
    pairs: dict[int, Pair] = field(default_factory=dict)
    arranged: dict[int, int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    injected: dict[int, Array] = field(default_factory=dict)
    inputs: Mapping[int, Array] = field(default_factory=dict)
    draws: dict[int, Array] = field(default_factory=dict)
    alone: bool = True
    drawing: Drawing = field(default_factory=lambda: Drawing.of_none())

    @property
    def tapes(self) -> tuple[Tape, Tape]:
        """Of the reference and of the candidate."""
        return self.reference.tape, self.side.tape

    def recorded(self, values: tuple[int, int]) -> tuple[Array, Array]:
        """Values of both models as they ran."""
        return self.tapes[0].recorded_array(values[0]), self.tapes[1].recorded_array(values[1])

    @property
    def given(self) -> dict[int, Array]:
        """What the candidate gets of the reference before anything is compared."""
        return {**self.inputs, **self.draws}

    @cached_property
    def exact_outputs(self) -> dict[str, Array]:
        """The candidate's outputs in float64 by itself, by name, of what it is given."""
        tape, run = self.side.tape, self.side.run
        if self.alone:
            return {name: run.array(value) for name, value in tape.outputs.items()}
        return tape.outputs_of("float64", self.given)

    def settle(self, value: int, reference: int, order: Order) -> None:
        """Says that a value of the candidate is one of the reference's, exactly."""
        self.pairs[value] = Pair(reference, value, order, 0.0)
        self.taken.add(reference)

    @property
    def by_reference(self) -> dict[int, Pair]:
        return {pair.reference: pair for pair in self.pairs.values()}
