"""A model that has stored what the other one computes: on the inputs at hand they agree."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis.beside import apart
from parity.diagnosis.outputs import in_layout_of_a_cube, in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import (
    Outputs,
    PlainRun,
    recorded_outputs,
)
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.difference import by_column
from parity.numerics.rounding import U32
from parity.outputs import Outputs as Flat
from parity.tape import Array, Replay, Tape


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
    usual = difference(matched, fixed, plain[0].run(), plain[1].run())
    refused = 0
    for at in range(len(orders)):
        try:
            seen = _as_they_lie(matched, fixed, plain, at)
            if not _differ_elsewhere(matched, seen, plain, at, usual):
                continue
            by_sample = [
                _is_by_sample(one, names, at)
                for one, names in zip(plain, names_of(matched, seen), strict=True)
            ]
        except ParityError:  # a model takes no samples in this order
            refused += 1
            continue
        if all(by_sample):
            continue  # what differs there differs here, among samples that hide it
        # what mixes samples may differ there for their own sake: a spread of zero, ties;
        told = [f"{one}; {_where(plain, at)} they differ" for one in found] or [
            on_others(plain, at)
        ]
        # so does what a first call builds of its batch, which both may do
        sure = any(by_sample) and not any(one.built() for one in plain)
        return ("diverged" if sure else "unverified"), told
    if found and refused == len(orders):
        return "unverified", [f"{one}; the models take no other samples" for one in found]
    return _stored_numbers(matched, fixed, plain, usual)


def _stored_numbers(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun], usual: float
) -> tuple[str, list[str]]:
    """Whether a number that one model holds is what the other computes from all samples.

    As the largest of clipped observations it may be the same in every part of the batch. A number
    may be equal by chance, and samples that are a few percent off may be none that a model takes
    (no unit quaternions, say): it takes both to doubt.
    """
    held = _held_numbers(matched)
    others = len(plain[0].orders)  # samples that are a few percent off
    with contextlib.suppress(ParityError):  # which a model may refuse
        if held and _differ_elsewhere(matched, pairs, plain, others, usual):
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
            ours, theirs = (_others(_elsewhere(one, at)) for one in plain)
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
        or apart(_others(_elsewhere(one, at)).get(name), _others(moved).get(name))
        for one in plain
        for moved in (_elsewhere(one, at, seed) for seed in range(NUDGES))
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
    there = [_elsewhere(one, at) for one in plain]
    return [
        pair
        for pair, *names in zip(alike, *names_of(matched, alike), strict=True)
        if len({one[name].shape for one, name in zip(there, names, strict=True) if name in one}) < 2
    ]


def _differ_elsewhere(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: tuple[PlainRun, PlainRun],
    at: int,
    usual: float,
) -> bool:
    """Whether the models differ on samples in another order by more than rounding does there."""
    gap = difference(matched, pairs, *(_elsewhere(one, at) for one in plain))
    if gap <= ELSEWHERE * max(usual, U32):
        return False
    sides = list(zip(plain, names_of(matched, pairs), strict=True))
    # half of the samples may leave a matrix singular, or an element between two others
    if gap <= ELSEWHERE * max(_moved(*side, at, seed) for side in sides for seed in range(NUDGES)):
        return False
    # a kernel may round otherwise by where a sample lies: what saturates may be rounding alone
    return gap > ELSEWHERE * max(_rounded(*side, at) for side in sides)


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


def names_of(matched: Match, pairs: Sequence[OutputPair]) -> tuple[list[str], list[str]]:
    """The names of outputs in the reference, and in the candidate."""
    tapes = matched.reference.tape, matched.side.tape
    ours, theirs = ({value: name for name, value in tape.outputs.items()} for tape in tapes)
    return [ours[pair.reference] for pair in pairs], [theirs[pair.candidate] for pair in pairs]


def _elsewhere(plain: PlainRun, at: int, seed: int | None = None) -> Outputs:
    assert plain.elsewhere is not None
    return plain.elsewhere(at, seed)


def _moved(plain: PlainRun, names: list[str], at: int, seed: int) -> float:
    """By how much of their size a model's outputs move where its inputs move by a rounding."""
    ours, moved = _elsewhere(plain, at), _elsewhere(plain, at, seed)
    if any(name not in ours or name not in moved for name in names):
        return float("inf")
    return max(
        by_column(ours[name], moved[name])
        if moved[name].shape == ours[name].shape
        else float("inf")
        for name in names
    )


def _rounded(plain: PlainRun, names: list[str], at: int) -> float:
    """By how much of their size a model's outputs are rounded there: what float64 gives instead."""
    if plain.recorded is None:
        return 0.0
    tape = plain.recorded(at)
    ran, exact = recorded_outputs(tape), tape.outputs_of("float64", {})
    # of a list that is longer in float64 nothing is known: moved inputs have to tell
    known = [name for name in names if name in exact and exact[name].shape == ran[name].shape]
    return max((by_column(exact[name], ran[name]) for name in known), default=0.0)


def _is_by_sample(plain: PlainRun, names: list[str], at: int) -> bool:
    """Whether a model computes each sample by itself: then it takes them in any order."""
    order, here, there = plain.orders[at], plain.run(), _elsewhere(plain, at)
    return plain.axis == 0 and all(
        name in there
        and here[name].ndim > 0
        and len(here[name]) == plain.count
        and here[name][order].shape == there[name].shape
        and by_column(here[name][order], there[name]) <= _ONE_BY_ONE
        for name in names
    )


ELSEWHERE = 64.0  # times what the models differ by on the inputs that were given
_ONE_BY_ONE = 1e-3  # of its size, and no more, an output may change with where its sample lies
NUDGES = 2
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


def differ(
    matched: Match, pairs: Sequence[OutputPair], ours: Outputs, theirs: Outputs, limit: float
) -> bool:
    return not difference(matched, pairs, ours, theirs) <= limit


def difference(
    matched: Match, pairs: Sequence[OutputPair], ours: Outputs, theirs: Outputs
) -> float:
    """The largest relative difference of outputs of two runs; inf where they cannot be compared."""
    found = [0.0]
    for pair, name, other in zip(pairs, *names_of(matched, pairs), strict=True):
        if name not in ours or other not in theirs:
            return float("inf")
        laid_out: Array | None
        if theirs[other].shape == ours[name].shape:  # which may depend on the samples
            laid_out = in_layout_of_a_cube(matched, pair, theirs[other])
        else:
            laid_out = in_reference_layout(matched, pair, theirs[other])
        if laid_out is None or laid_out.shape != ours[name].shape:
            return float("inf")
        found.append(by_column(ours[name], laid_out))
    return max(found)
