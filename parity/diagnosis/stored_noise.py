"""What was stored in a model whose outputs are made of random draws, which differ in every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import (
    Outputs,
    PlainRun,
    as_ran,
    draws_numbers,
    nudged_run,
)
from parity.diagnosis.stored import ELSEWHERE, NUDGES, difference, names_of, on_others, same_orders
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.rounding import U32
from parity.tape import Array, Replay, Tape

_Draws = Mapping[int, Array]


def stored_beside_draws(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun]
) -> list[str]:
    """Why outputs that draws reach differ on other samples, with the draws that were paired.

    Both models are recorded there anew, as what Python decides by the samples may be otherwise.
    """
    if not all(draws_numbers(one.tape) and not one.tape.lost_draws for one in plain):
        return []
    drawn = [pair for pair in pairs if _is_drawn(matched, pair, plain)]
    draws = _drawn_by(plain[0].tape), matched.draws
    if not drawn or not same_orders(plain):
        return []
    usual = difference(matched, drawn, *map(as_ran, plain, draws))
    compared = False
    for at, order in enumerate(plain[0].orders):
        if len(order) < plain[0].count:
            continue  # the draws would be of another size
        try:
            there = [_there(one, at) for one in plain]
            if None in there:
                continue
            runs = [replace(one, tape=tape) for one, tape in zip(plain, there, strict=True) if tape]
            gap = difference(matched, drawn, *map(as_ran, runs, draws))
            names = names_of(matched, drawn)
            moved = max(map(_moved, runs, draws, names))
        except ParityError:  # a model takes no samples in this order
            continue
        compared = True
        if gap > ELSEWHERE * max(usual, U32, moved):
            return [on_others(plain, at)]
    if compared:
        return []
    return [
        "what the models compute follows the samples, as by their lengths, so that draws of other "
        "samples are not these: whether a model holds what it computed of these inputs is not known"
    ]


def _is_drawn(matched: Match, pair: OutputPair, plain: Sequence[PlainRun]) -> bool:
    names = (name for [name] in names_of(matched, [pair]))
    return all(name in one.drawn for one, name in zip(plain, names, strict=True))


def _drawn_by(tape: Tape) -> _Draws:
    recorded = Replay(tape, None, tape.recorded)
    return {v: recorded.array(v) for op in tape.ops if op.role == "random" for v in op.outputs}


def _there(plain: PlainRun, at: int) -> Tape | None:
    """The tape of other samples; None where it is another program, whose draws are others."""
    if plain.recorded is None:
        return None
    tape = plain.recorded(at)
    same = [op.kind for op in tape.ops] == [op.kind for op in plain.tape.ops]
    shapes = [one.shape for one in tape.values] == [one.shape for one in plain.tape.values]
    return tape if same and shapes else None


def _moved(plain: PlainRun, draws: _Draws, names: Sequence[str]) -> float:
    """By how much of their size outputs move where the inputs and draws move by a rounding."""
    found = [0.0]
    ours = as_ran(plain, draws)
    for seed in range(NUDGES):
        moved: Outputs = nudged_run(plain, draws, seed, None) or ours
        found += [residual(ours[name], moved[name]) for name in names]
    return max(found)
