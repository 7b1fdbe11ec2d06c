"""A model that has stored what the other one computes: on the inputs at hand they agree."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.host_outputs import leaves_differ
from parity.diagnosis.other_samples import (
    Gap,
    OutputGap,
    differing_elsewhere,
    is_by_sample,
    lay,
    usual_gaps,
)
from parity.diagnosis.precomputed import (
    HeldResult,
    held_numbers,
    held_results,
    never_changed,
    of_all_samples,
)
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import Outputs, PlainRun, PlainRuns, recorded_outputs
from parity.errors import ParityError
from parity.matching.match import Match
from parity.outputs.flatten import Outputs as Flat


def stored_results(
    matched: Match,
    pairs: Sequence[OutputPair],
    every: Sequence[OutputPair],
    plain: PlainRuns,
) -> tuple[str, list[str]]:
    """Whether one model has stored what the other computes from the inputs.

    What is stored, as a mask, a list of lengths, a scale, agrees on the inputs that it was computed
    from. So both run on other samples too: on half of them, in another order.

    Args:
        pairs: the outputs that a tape can replay.
        every: those and what the host computed.

    Returns:
        The verdict that follows, and the reasons; none where the models agree there as well.
    """
    held = held_results(matched)
    found = [*_stored_outputs(matched, pairs), *(one.text for one in held)]
    fixed = [pair for pair in every if not _is_drawn(pair, plain)]
    orders = plain[0].orders
    alone = plain[0].count == 1 and not orders and not plain[1].orders  # of whole numbers, say
    if not fixed or not same_orders(plain) and (found or not alone):
        reasons = [f"{one}; more than one sample would show it" for one in found]
        return ("unverified" if found else "parity"), reasons
    usual = usual_gaps(matched, fixed, [one.run() for one in plain], plain[0].count)
    refused = 0
    for ways in plain[0].halves:
        try:
            verdict, reasons = _on_half(matched, fixed, plain, ways, usual, found)
        except ParityError:
            refused += 1
            continue
        if reasons:
            return verdict, reasons
    every_one = refused == len(plain[0].halves)
    if found and every_one:
        return "unverified", [f"{one}; the models take no other samples" for one in found]
    return _a_few_percent_off(matched, fixed, plain, usual, held, every_one)


def _on_half(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
    ways: Sequence[int],
    usual: Mapping[str, Gap],
    found: Sequence[str],
) -> tuple[str, list[str]]:
    """The verdict on half of the samples, in the first of the ways in which both models take them.

    Raises:
        ParityError: a model takes them in none.
    """
    compared = False
    for at in ways:
        try:
            seen = _as_they_lie(matched, pairs, plain, at)
            differing = differing_elsewhere(matched, seen, plain, at, usual)
            by_sample = [is_by_sample(matched, differing, plain, side, at) for side in (0, 1)]
        except ParityError:  # a model takes no samples in this order
            if not compared and at == ways[-1]:
                raise
            continue
        # what differs there differs here, too, where each sample goes by itself: others hide it
        if differing and not all(by_sample):
            # what mixes samples may differ there for their own sake: a spread of zero, ties;
            # so does what a first call builds of its batch, which both may do
            sure = any(by_sample) and not any(one.built() for one in plain)
            reasons = [f"{one}; {_where(plain, at)} they differ" for one in found]
            reasons = reasons or [on_others(plain, at)]
            reasons += not_finite(plain, at, differing)
            return ("diverged" if sure else "unverified"), reasons
        compared = True
        if len(seen) == len(pairs):
            break
    return "parity", []


def _a_few_percent_off(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
    usual: Mapping[str, Gap],
    found: Sequence[HeldResult],
    refused: bool,
) -> tuple[str, list[str]]:
    """The same on samples that are a few percent off, where what every part of a batch has shows.

    As the largest of clipped observations. Such samples may be none that a model takes (no unit
    quaternions, say), and right models may differ there. So it takes something else to doubt: what
    one of them holds and the other computes, or what one alone computes of all samples; or that
    nothing else is known, as the models take no other order.
    """
    held = [*found, *held_numbers(matched)]
    others = len(plain[0].orders)
    together = [] if held else of_all_samples(matched, plain)
    if not held and not together and not refused:
        return "parity", []
    differing: list[OutputGap] = []
    with contextlib.suppress(ParityError):  # which a model may refuse
        differing = differing_elsewhere(matched, pairs, plain, others, usual)
    if differing:
        where = _where(plain, others)
        reasons = [f"{one.text}; {where} they differ" for one in held]
        reasons = reasons or [
            f"{where} the outputs differ: {one} computes of all samples what the other model "
            "computes nowhere, and may hold"
            for one in together[:1]
        ]
        if refused and not reasons:
            reasons = [on_others(plain, others)]
        if reasons:
            return "unverified", reasons
    same = never_changed([one for one in held if one.sure], plain, others + 1)
    reasons = [
        f"{one.text}; no other samples were seen on which that is something else" for one in same
    ]
    return ("unverified" if reasons else "parity"), reasons


def stored_leaves(plain: PlainRuns) -> list[str]:
    """Of strings and the like, which both models return alike, those that differ elsewhere."""
    if not same_orders(plain):
        return []
    found: dict[str, str] = {}
    for ways in plain[0].halves:
        for at in ways:
            try:
                reference, candidate = (_others(one.elsewhere(at)) for one in plain)
                for name in reference.keys() & candidate.keys():
                    a, b = reference[name], candidate[name]
                    if leaves_differ(a, b) and _is_steady(plain, name, at):
                        found[name] = f"output {name!r}: {on_others(plain, at)}"
                break
            except ParityError:  # a model takes no samples in this order
                continue
    return list(found.values())


def _is_steady(plain: PlainRuns, name: str, at: int) -> bool:
    """Whether a leaf is what was recorded when a model runs again, and no rounding changes it."""
    return not any(
        leaves_differ(one.tape.other_outputs.get(name), _others(one.run()).get(name))
        or leaves_differ(_others(one.elsewhere(at)).get(name), _others(moved).get(name))
        for one in plain
        for moved in (one.elsewhere(at, seed) for seed in range(limits.NUDGES))
    )


def _others(outputs: Outputs) -> Mapping[str, Any]:
    return outputs.others if isinstance(outputs, Flat) else {}


def same_orders(plain: PlainRuns) -> bool:
    """Whether both models can be given the same other samples."""
    return len(plain[0].orders) == len(plain[1].orders) > 0


def _where(plain: Sequence[PlainRun], at: int) -> str:
    if at >= plain[0].moved:
        return "on samples that are a few percent off"
    return "on half of the samples, in another order"


def on_others(plain: Sequence[PlainRun], at: int) -> str:
    """That outputs differ on other samples, and why they may."""
    return (
        f"{_where(plain, at)} the outputs differ: one of the models may hold what it computed of "
        "these inputs, as a mask, lengths or a scale, or they treat what is missing there otherwise"
    )


def not_finite(plain: Sequence[PlainRun], at: int, differing: Sequence[OutputGap]) -> list[str]:
    """That one model alone is NaN or infinite somewhere in what it gives on other samples."""
    found = []
    models = [one.tape.model for one in plain]
    for one in differing:
        if one.finite[0] != one.finite[1]:
            side = one.finite.index(False)
            found.append(
                f"{_where(plain, at)} output {one.pair.names[side]!r} of {models[side]} is "
                f"not finite throughout, that of {models[1 - side]} is: a mean or a "
                "quotient of what is empty there may be NaN in the one and 0 in the other. Samples "
                "of which each half leaves nothing empty would show which"
            )
    return found


def _as_they_lie(
    matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns, at: int
) -> Sequence[OutputPair]:
    """The outputs of one shape: what gives as many for fewer samples is built for such a batch."""
    if len(plain[0].orders[at]) == plain[0].count:
        return pairs
    reference, candidate = (one.elsewhere(at) for one in plain)

    def is_of_one_shape(pair: OutputPair) -> bool:
        shape = reference[pair.name].shape
        return lay(matched, pair, candidate[pair.candidate_name], shape).shape == shape

    return [
        pair
        for pair in pairs
        if pair.name not in reference
        or pair.candidate_name not in candidate
        or is_of_one_shape(pair)
    ]


def _is_drawn(pair: OutputPair, plain: PlainRuns) -> bool:
    """Whether an output is another one in another run, as it is made of random draws."""
    return any(
        name in one.drawn
        # what the host made of draws is on no tape
        or name in one.tape.by_value
        and not np.array_equal(recorded_outputs(one.tape)[name], one.run()[name])
        for one, name in zip(plain, pair.names, strict=True)
    )


def _stored_outputs(matched: Match, pairs: Sequence[OutputPair]) -> list[str]:
    """Outputs that one model alone computes from its inputs."""
    tapes = matched.tapes
    found = []
    for pair in pairs:
        live = tapes[0].is_live(pair.reference), tapes[1].is_live(pair.candidate)
        if live[0] != live[1]:
            name = tapes[live.index(False)].model
            found.append(
                f"output {pair.name!r} of {name} does not depend on its inputs as far as "
                "operations were recorded, the other model's does: it may be a stored result, or "
                "computed where it cannot be followed, as through NumPy"
            )
    return found
