"""Outputs laid out alike, and what rounding accounts for in each of their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.masks import are_masks
from parity.diagnosis.moved_outputs import moved_outputs
from parity.diagnosis.outputs import in_reference_layout, is_constant
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import Outputs, PlainRuns, as_they_ran
from parity.matching.match import Match
from parity.numerics.accounting import (
    allowance,
    excess,
    is_accounted,
    of_one_kind,
    rounded_constants,
    share_beyond,
)
from parity.numerics.limits import ACCOUNTED
from parity.tape import Array

Side = tuple[Array, Array]  # an output as its model ran, and in float64
Lay = Callable[[Array], Array | None]  # a candidate's output, as the reference's lies


@dataclass(frozen=True)
class ComparedOutput:
    """A pair of outputs in the reference's layout, and what rounding accounts for.

    Attributes:
        ran: both as the models ran.
        masks: whether large negative constants are some.
        besides: of what is allowed, what no moved value shows.
    """

    pair: OutputPair
    lay: Lay
    reference: Array
    ran: tuple[Array, Array]
    allowed: Array
    masks: bool
    besides: Array | float = 0.0

    @property
    def name(self) -> str:
        """The candidate's."""
        return self.pair.candidate_name

    @property
    def is_float(self) -> bool:
        return self.reference.dtype.kind == "f"


def are_accounted(
    matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns, limit: float
) -> bool:
    """Whether the elements' own rounding is seen to account for all that the outputs differ by.

    It is quick, and takes little memory; what it does not know needs `compared_outputs`.
    """
    return all(is_accounted(*sides, limit) for *_, sides in _laid_out(matched, pairs, plain))


def mostly_beyond(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
    least: int = limits.LARGE_OUTPUT,
) -> bool:
    """Whether most elements of a large output differ by more than rounding accounts for.

    Args:
        least: how many elements make it large.
    """
    return any(
        sides[0][0].size >= least and share_beyond(*sides, ACCOUNTED) > limits.MOST_BEYOND
        for *_, sides in _laid_out(matched, pairs, plain)
    )


def compared_outputs(
    matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns
) -> list[ComparedOutput]:
    """The outputs, but for those of other shapes: they are reported by themselves."""
    measured = not any(run.fallbacks for run in (matched.reference.run, matched.side.run))
    found = []
    for pair, lay, sides in _laid_out(matched, pairs, plain):
        (ran, reference), (other, replayed) = sides
        masks = are_masks(matched, pair, reference, replayed)
        allowed = allowance(*sides, measured, None, masks)
        if _is_to_be_measured(sides, allowed, measured, masks):
            moved = moved_outputs(matched, pair)
            if moved is not None:
                allowed = allowance(*sides, measured, moved, masks)
        besides: Array | float = 0.0
        if is_constant(matched, pair) and reference.dtype.kind == "f":
            besides = rounded_constants(reference, replayed)
        allowed = allowed + besides
        both = ran, other
        found.append(ComparedOutput(pair, lay, reference, both, allowed, masks, besides))
    return found


def _laid_out(
    matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns
) -> Iterator[tuple[OutputPair, Lay, tuple[Side, Side]]]:
    ran = as_they_ran(matched, plain)
    exact = exact_outputs(matched, {})
    for pair in pairs:
        name = pair.candidate_name
        lay = partial(in_reference_layout, matched, pair)
        reference = matched.reference.array(pair.reference)
        own, other, replayed = ran[0][pair.name], lay(ran[1][name]), lay(exact[name])
        if other is None or replayed is None or own.shape != reference.shape:
            continue  # see `listed_otherwise`
        own, reference, other, replayed = of_one_kind(own, reference, other, replayed)
        yield pair, lay, ((own, reference), (other, replayed))


def exact_outputs(matched: Match, substituted: Mapping[int, Array]) -> Outputs:
    """The candidate's outputs in float64, by itself but for inputs, draws, and `substituted`."""
    if not substituted:
        return matched.exact_outputs
    return matched.side.tape.outputs_of("float64", {**matched.given, **substituted})


def _is_to_be_measured(
    sides: tuple[Side, Side], allowed: Array, measured: bool, masks: bool
) -> bool:
    """Whether replays show no rounding, or only what is usual near an element accounts for it."""
    (ran, reference), (other, candidate) = sides
    if reference.dtype.kind != "f":
        return False
    if not excess(reference, candidate, allowed, masks).ratio <= ACCOUNTED:
        return not measured or ran.dtype == other.dtype == np.float64
    none = np.zeros(reference.shape)
    least = allowance(*sides, measured, (none, none), masks)
    return not excess(reference, candidate, least, masks).ratio <= ACCOUNTED
