"""What was stored in a model whose outputs are made of random draws, which differ in every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parity.diagnosis import limits
from parity.diagnosis.other_samples import difference
from parity.diagnosis.precomputed import held_numbers, of_all_samples
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRun, PlainRuns, as_ran, nudged_run, recorded_draws
from parity.diagnosis.stored_results import on_others, same_orders
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.tape import Array, Tape

_Draws = Mapping[int, Array]


def stored_beside_draws(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[str]:
    """Why outputs that draws reach differ on other samples, with the draws that were paired.

    Both models are recorded there anew, as what Python decides by the samples may be otherwise.
    """
    if not all(recorded_draws(one.tape) and not one.tape.lost_draws for one in plain):
        return []
    draws = recorded_draws(plain[0].tape), matched.draws
    drawn = [
        pair
        for pair in pairs
        if all(name in one.drawn for one, name in zip(plain, pair.names, strict=True))
    ]
    if not drawn or not same_orders(plain):
        return []
    known: list[int] = []
    for ways in plain[0].halves:
        for at in ways:
            differs = _differ_there(matched, drawn, plain, draws, at)
            if differs:
                return [on_others(plain, at)]
            if differs is False:
                known.append(at)
                break
    if not known:
        return [
            "what the models compute follows the samples, as by their lengths, so that draws of "
            "other samples are not these: whether a model holds what it computed of these inputs "
            "is not known"
        ]
    held = held_numbers(matched)
    if held or of_all_samples(matched, plain):
        others = len(plain[0].orders)
        if _differ_there(matched, drawn, plain, draws, others):
            return [f"{one.text}; {on_others(plain, others)}" for one in held] or [
                on_others(plain, others)
            ]
    return []


def _differ_there(
    matched: Match,
    drawn: Sequence[OutputPair],
    plain: PlainRuns,
    draws: tuple[_Draws, _Draws],
    at: int,
) -> bool | None:
    """Whether outputs that draws reach differ on other samples; None where that cannot be seen."""
    here = [as_ran(*both) for both in zip(plain, draws, strict=True)]
    try:
        there = [_there(*both, at) for both in zip(plain, draws, strict=True)]
        tapes = [one[0] for one in there if one is not None]
        if len(tapes) < len(there):
            return None
        runs = [replace(one, tape=tape) for one, tape in zip(plain, tapes, strict=True)]
        given = [one[1] for one in there if one is not None]
        ran = [as_ran(*both) for both in zip(runs, given, strict=True)]
        for pair in drawn:
            # one output that rounding moves excuses no other
            gap = difference(matched, [pair], ran[0], ran[1])
            usual = difference(matched, [pair], here[0], here[1])
            if gap > limits.TIMES_ELSEWHERE * max(usual, U32):
                moved = map(_moved, runs, given, pair.names)
                if gap > limits.TIMES_ELSEWHERE * max(moved):
                    return True
    except ParityError:  # a model takes no samples in this order
        return None
    return False


def _there(plain: PlainRun, draws: _Draws, at: int) -> tuple[Tape, _Draws] | None:
    """The tape of other samples and its draws; None where it is another program, with others."""
    tape = plain.recorded(at)
    if [op.kind for op in tape.ops] != [op.kind for op in plain.tape.ops]:
        return None
    fewer = at < len(plain.orders) and len(plain.orders[at]) < plain.count
    if not fewer and [one.shape for one in tape.values] != [one.shape for one in plain.tape.values]:
        return None
    cut = {v: _cut(draw, tape.values[v].shape, plain.count) for v, draw in draws.items()}
    found = {v: one for v, one in cut.items() if one is not None}
    return (tape, found) if len(found) == len(cut) else None


def _cut(draw: Array, shape: tuple[int, ...], count: int) -> Array | None:
    """The draws for the first samples; None where no axis is theirs, as of places among them."""
    if draw.shape == shape:
        return draw
    if draw.ndim != len(shape) or draw.dtype.kind != "f":
        return None
    others = [axis for axis, length in enumerate(shape) if length != draw.shape[axis]]
    if len(others) != 1 or draw.shape[others[0]] != count:
        return None
    return draw.take(range(shape[others[0]]), others[0])


def _moved(plain: PlainRun, draws: _Draws, name: str) -> float:
    """By how much of its size an output moves where the inputs and draws move by a rounding."""
    reference = as_ran(plain, draws)[name]
    moved = (nudged_run(plain, draws, seed, None)[name] for seed in range(limits.NUDGES))
    return max(0.0, *(residual(reference, one) for one in moved))
