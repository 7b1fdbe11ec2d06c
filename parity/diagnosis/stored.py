"""A model that has stored what the other one computes: on the inputs at hand they agree."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis.beside import apart
from parity.diagnosis.elsewhere import (
    NUDGES,
    Apart,
    Gap,
    apart_elsewhere,
    elsewhere,
    is_by_sample,
    names_of,
    usual_gaps,
)
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import Outputs, PlainRun, recorded_outputs
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.rounding import U32
from parity.outputs import Outputs as Flat
from parity.tape import Replay, Tape


def stored_results(
    matched: Match,
    pairs: Sequence[OutputPair],
    every: Sequence[OutputPair],
    plain: tuple[PlainRun, PlainRun],
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
    found = _stored(matched, pairs)
    fixed = [pair for pair in every if not _drawn(matched, pair, plain)]
    orders = plain[0].orders
    if not fixed or not same_orders(plain):
        told = [f"{one}; more than one sample would show it" for one in found]
        return ("unverified" if found else "parity"), told
    usual = usual_gaps(matched, fixed, [one.run() for one in plain], plain[0].count)
    refused = 0
    for at in range(len(orders)):
        try:
            seen = _as_they_lie(matched, fixed, plain, at)
            differing = apart_elsewhere(matched, seen, plain, at, usual)
            if not differing:
                continue
            by_sample = [is_by_sample(matched, differing, plain, side, at) for side in (0, 1)]
        except ParityError:  # a model takes no samples in this order
            refused += 1
            continue
        if all(by_sample):
            continue  # what differs there differs here, among samples that hide it
        # what mixes samples may differ there for their own sake: a spread of zero, ties;
        told = [f"{one}; {_where(plain, at)} they differ" for one in found] or [
            on_others(plain, at)
        ]
        told += not_finite(plain, at, differing)
        # so does what a first call builds of its batch, which both may do
        sure = any(by_sample) and not any(one.built() for one in plain)
        return ("diverged" if sure else "unverified"), told
    if found and refused == len(orders):
        return "unverified", [f"{one}; the models take no other samples" for one in found]
    return _stored_numbers(matched, fixed, plain, usual)


def _stored_numbers(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: tuple[PlainRun, PlainRun],
    usual: Mapping[str, Gap],
) -> tuple[str, list[str]]:
    """Whether a number that one model holds is what the other computes from all samples.

    As the largest of clipped observations it may be the same in every part of the batch. A number
    may be equal by chance, and samples that are a few percent off may be none that a model takes
    (no unit quaternions, say): it takes both to doubt.
    """
    held = _held_numbers(matched)
    others = len(plain[0].orders)  # samples that are a few percent off
    with contextlib.suppress(ParityError):  # which a model may refuse
        if held and apart_elsewhere(matched, pairs, plain, others, usual):
            return "unverified", [f"{one}; {_where(plain, others)} they differ" for one in held]
    return "parity", []


def _held_numbers(matched: Match) -> list[str]:
    """Numbers that one model holds and the other computes from its inputs."""
    tapes = matched.reference.tape, matched.side.tape
    found = []
    for tape, run, other in (
        (tapes[0], matched.reference.run, tapes[1]),
        (tapes[1], matched.side.run, tapes[0]),
    ):
        held = np.array(sorted(_numbers(other)))
        for op in tape.ops:
            for value in op.outputs if op.index in tape.used and not op.static else ():
                if tape.values[value].size != 1 or not held.size or not tape.is_live(value):
                    continue
                number = float(run.array(value).ravel()[0])
                if (np.abs(held - number) <= _ALIKE * abs(number)).any() and number:
                    found.append(
                        f"{other.model} holds the number {number:.6g}, which {op.site.described} "
                        f"of {tape.model} computes from its inputs"
                    )
    return list(dict.fromkeys(found))


def _numbers(tape: Tape) -> set[float]:
    """The floating numbers that a model's operations were given, as settings or as constants."""
    found = {
        one
        for index in tape.used
        for setting in tape.ops[index].attributes.values()
        for one in (setting if isinstance(setting, (tuple, list)) else (setting,))
        if isinstance(one, float)
    }
    recorded = Replay(tape, None, tape.recorded)
    for value in tape.values:
        if value.size == 1 and value.kind in ("constant", "buffer") and "float" in value.dtype:
            found.add(float(recorded.array(value.id).ravel()[0]))
    return found


def stored_leaves(plain: tuple[PlainRun, PlainRun]) -> list[str]:
    """Of strings and the like, which both models return alike, those that differ elsewhere."""
    if not same_orders(plain):
        return []
    found: dict[str, str] = {}
    for at in range(len(plain[0].orders)):
        try:
            ours, theirs = (_others(elsewhere(one, at)) for one in plain)
            for name in ours.keys() & theirs.keys():
                if apart(ours[name], theirs[name]) and _is_steady(plain, name, at):
                    found[name] = f"output {name!r}: {on_others(plain, at)}"
        except ParityError:  # a model takes no samples in this order
            continue
    return list(found.values())


def _is_steady(plain: tuple[PlainRun, PlainRun], name: str, at: int) -> bool:
    """Whether a leaf is what was recorded when a model runs again, and no rounding changes it."""
    return not any(
        apart(one.tape.other_outputs.get(name), _others(one.run()).get(name))
        or apart(_others(elsewhere(one, at)).get(name), _others(moved).get(name))
        for one in plain
        for moved in (elsewhere(one, at, seed) for seed in range(NUDGES))
    )


def _others(outputs: Outputs) -> Mapping[str, Any]:
    return outputs.others if isinstance(outputs, Flat) else {}


def same_orders(plain: tuple[PlainRun, PlainRun]) -> bool:
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


def not_finite(plain: Sequence[PlainRun], at: int, differing: Sequence[Apart]) -> list[str]:
    """That one model alone has no numbers somewhere in what it gives on other samples."""
    found = []
    for one in differing:
        if one.finite[0] != one.finite[1]:
            side = one.finite.index(False)
            found.append(
                f"{_where(plain, at)} output {one.names[side]!r} of {plain[side].tape.model} is "
                f"not finite throughout, that of {plain[1 - side].tape.model} is: a mean or a "
                "quotient of what is empty there may be NaN in the one and 0 in the other. Samples "
                "of which each half leaves nothing empty would tell"
            )
    return found


def _as_they_lie(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun], at: int
) -> Sequence[OutputPair]:
    """The outputs that can be held against each other: of fewer samples those of one shape.

    A model that gives as many samples as before is built for a batch of that size.
    """
    if len(plain[0].orders[at]) == plain[0].count:
        return pairs
    ours, theirs = (tape.values for tape in (matched.reference.tape, matched.side.tape))
    alike = [pair for pair in pairs if ours[pair.reference].shape == theirs[pair.candidate].shape]
    there = [elsewhere(one, at) for one in plain]
    return [
        pair
        for pair, *names in zip(alike, *names_of(matched, alike), strict=True)
        if len({one[name].shape for one, name in zip(there, names, strict=True) if name in one}) < 2
    ]


def _drawn(matched: Match, pair: OutputPair, plain: tuple[PlainRun, PlainRun]) -> bool:
    """Whether an output is another one in another run, as it is made of random draws."""
    names = (name for [name] in names_of(matched, [pair]))
    for one, name in zip(plain, names, strict=True):
        recorded = recorded_outputs(one.tape)
        if name in one.drawn:
            return True
        # what the host made of draws is on no tape
        if name in one.tape.by_value and not np.array_equal(recorded[name], one.run()[name]):
            return True
    return False


_ALIKE = 8 * U32
_ENOUGH = 4  # numbers that are equal by no chance


def _stored(matched: Match, pairs: Sequence[OutputPair]) -> list[str]:
    """Outputs that one model alone computes from its inputs; its constants that the other does."""
    tapes = matched.reference.tape, matched.side.tape
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
    for one in matched.pairs.values():
        values = one.reference, one.candidate
        if tapes[0].values[values[0]].size < _ENOUGH or not one.residual <= _ALIKE:
            continue
        if not matched.reference.informative(values[0]):
            continue
        constant = [
            tape.producer(value) is None and tape.values[value].kind != "input"
            for tape, value in zip(tapes, values, strict=True)
        ]
        live_too = [tape.is_live(value) for tape, value in zip(tapes, values, strict=True)]
        for side in (0, 1):
            if constant[side] and live_too[1 - side] and _is_used(tapes[side], values[side]):
                producer = tapes[1 - side].producer(values[1 - side])
                place = f" at {producer.site.source}" if producer and producer.site.source else ""
                value = tapes[side].values[values[side]]
                found.append(
                    f"{value.name or 'a constant'} {value.shape} of {tapes[side].model} holds what "
                    f"{tapes[1 - side].model} computes from its inputs{place}"
                )
    return found


def _is_used(tape: Tape, value: int) -> bool:
    return not tape.used.isdisjoint(tape.consumers[value]) or value in tape.outputs.values()
