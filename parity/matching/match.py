"""Finds for each value of the candidate its partner among the reference's values.

The candidate is replayed with the reference at hand: a value is looked up as soon as it is
computed, and where it has a partner it is replaced by it, in its own order of axes. So what an
operation gets is always the reference's own values, and what a pair differs by is what *this*
operation, or the few since the last partner, added. Errors do not travel, and a value far down a
chaotic network is judged as sharply as one near the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from parity.draws.pairing import Choice, Drawing, assignments, mirrors, substitute
from parity.matching import limits
from parity.matching.axis_order import Order, orders
from parity.matching.look_alikes import leads_astray
from parity.matching.matched import Indexed as Indexed
from parity.matching.matched import Match as Match
from parity.matching.matched import Pair as Pair
from parity.matching.matched import Side as Side
from parity.numerics.difference import same_bits
from parity.tape import Array, Op, Replay, Tape


def match(
    reference: Indexed,
    candidate: Tape,
    done: Callable[[], object] | None = None,
    drawing: Drawing | None = None,
) -> Match:
    """Replays the candidate in float64 and pairs its values with the reference's.

    Args:
        done: called after each operation.
        drawing: the counterparts of the candidate's draws, where they are known already.
    """
    if drawing is not None:
        return _match(reference, candidate, drawing, done)
    drawing = Drawing.of(reference.tape, candidate)
    ordered = drawing.in_program_order() if drawing.candidate else None
    if ordered is not None:
        found = _match(reference, candidate, ordered, done)
        spoken_for = all(choice.evidence == 2 for choice in ordered.chosen.values())
        if _all_outputs_matched(found):
            return found
        if len(drawing.reference) == 1 or spoken_for and not _crossed(found):
            return _better(found, mirrors(found.drawing))
    else:
        found = _match(reference, candidate, drawing, done)
    if not drawing.candidate:
        return found
    return _by_what_they_feed(found, drawing)


def _by_what_they_feed(found: Match, drawing: Drawing) -> Match:
    """The match with the draws paired otherwise, if more outputs have a partner then."""
    reference, candidate = found.reference, found.side.tape
    if found.drawing is not drawing:
        drawing.chosen.clear()
        found = max(found, _match(reference, candidate, drawing, None), key=_outputs_matched)
    if _all_outputs_matched(found):
        return found
    found = _better(found, assignments(found.drawing, _crossed(found)))
    return found if _all_outputs_matched(found) else _better(found, mirrors(found.drawing))


def _better(found: Match, others: Iterable[dict[int, Choice]]) -> Match:
    """The match with other counterparts for draws, if more outputs have a partner then."""
    for chosen in others:
        drawing = replace(found.drawing, chosen=chosen)
        tried = _match(found.reference, found.side.tape, drawing, None)
        found = max(found, tried, key=_outputs_matched)
    return found


def _all_outputs_matched(found: Match) -> bool:
    return _outputs_matched(found) == len(found.side.tape.outputs)


def _outputs_matched(found: Match) -> int:
    """How many of the candidate's outputs have a partner that is no other output."""
    return sum(
        value in found.pairs and found.pairs[value].same and not _is_of_another(found, name)
        for name, value in found.side.tape.outputs.items()
    )


def _crossed(found: Match) -> bool:
    """Whether an output is another one of the reference's, as with draws in another order."""
    return any(_is_of_another(found, name) for name in found.side.tape.outputs)


def _is_of_another(found: Match, name: str) -> bool:
    """Whether what an output of the candidate is equal to is an output of another name."""
    reference, outputs = found.reference, found.reference.tape.outputs
    pair = found.pairs.get(found.side.tape.outputs[name])
    if pair is None or not pair.same or name not in outputs:
        return False
    print_ = reference.print(pair.reference)
    return print_ != reference.print(outputs[name]) and any(
        print_ == reference.print(value) for value in outputs.values()
    )


def _match(
    reference: Indexed, candidate: Tape, drawing: Drawing, done: Callable[[], object] | None
) -> Match:
    found = Match(reference, Side(candidate, Replay(candidate, "float64", {})), drawing=drawing)

    def after(op: Op, run: Replay) -> None:
        found.side.run = run
        for value in op.outputs:
            pair_up(found, op, value, run)
        if done is not None:
            done()

    leaves = candidate.replay("float64", only=())
    found.side.run = leaves
    for value in candidate.values:
        if value.op < 0 and (value.size <= limits.SMALL_LEAF or value.kind == "input"):
            pair_up(found, None, value.id, leaves)
    found.inputs = _inputs_in_full(found)
    found.side.run = candidate.replay("float64", found.inputs, after=after)
    return found


def _inputs_in_full(found: Match) -> dict[int, Array]:
    """Inputs that one model takes in a narrower format, as the reference has them.

    Only where the one's are the other's, correctly rounded: inputs of the candidate's own count.
    """
    reference, candidate = found.tapes
    full = {}
    for name, value in candidate.inputs.items():
        other = reference.inputs.get(name)
        if other is None or reference.values[other].dtype == candidate.values[value].dtype:
            continue
        shapes = reference.values[other].shape, candidate.values[value].shape
        order = next((order for order in orders(*shapes) if order.stable), None)
        if order is None or not rounded_alike(reference, other, candidate, value, order):
            continue
        if found.side.array(value).dtype.kind == "f":
            full[value] = order.apply(found.reference.array(other))
            found.pairs[value] = Pair(other, value, order, 0.0)
            found.side.forget(value)
    return full


def rounded_alike(reference: Tape, other: int, candidate: Tape, value: int, order: Order) -> bool:
    """Whether two inputs as recorded are one, the narrower rounded as a cast rounds the wider.

    Both may have been rounded from something wider still: what lies in the middle between two
    numbers of the narrower format may then have gone either way.
    """
    dtypes = reference.values[other].dtype, candidate.values[value].dtype
    bfloat16 = [dtype == "bfloat16" for dtype in dtypes]
    wide = order.apply(reference.recorded_array(other))
    narrow = candidate.recorded_array(value)
    if wide.dtype.kind != "f" or narrow.dtype.kind != "f":
        return False
    tape, to_bfloat16 = candidate, bfloat16[1]
    if np.finfo(wide.dtype).nmant < np.finfo(narrow.dtype).nmant or bfloat16[0]:
        wide, narrow, tape, to_bfloat16 = narrow, wide, reference, bfloat16[0]

    def cast(array: Array) -> Array:
        if to_bfloat16:
            return tape.adapter.to_numpy(tape.native(array, "bfloat16"))
        with np.errstate(over="ignore"):
            return array.astype(narrow.dtype)

    low, high = (np.nextafter(wide, np.array(end, wide.dtype)) for end in (-np.inf, np.inf))
    same = [np.isnan(wide) & np.isnan(narrow), *(cast(one) == narrow for one in (wide, low, high))]
    return bool(np.logical_or.reduce(same).all())


def pair_up_leaves(found: Match, leaves: Iterable[int]) -> None:
    """Looks up parameters and constants that were too large to be looked up without need."""
    for leaf in leaves:
        if leaf not in found.pairs and leaf not in found.arranged:
            pair_up(found, None, leaf, found.side.run)


def rematch(found: Match, injected: dict[int, Array], go_on: Callable[[Match, Op], bool]) -> Match:
    """Matches anew what depends on substituted values.

    Args:
        injected: candidate's value id to the array to put there, besides those of `found`.
        go_on: asked after each operation, when its outputs were looked up; False ends the replay.

    Returns:
        A new match; `found` stays as it is.
    """
    fresh = replace(
        found,
        side=Side(found.side.tape, found.side.run),
        pairs=dict(found.pairs),
        arranged=dict(found.arranged),
        taken=set(found.taken),
        injected={**found.injected, **injected},
        draws=dict(found.draws),
        alone=False,
    )
    fresh.side._prints = dict(found.side._prints)

    def after(op: Op, run: Replay) -> None:
        fresh.side.run = run
        for value in op.outputs:
            if value in found.injected and value not in injected:
                # what comes before it was substituted later
                run.replace(value, found.injected[value])
            if value in fresh.injected:
                continue
            fresh.pairs.pop(value, None)
            fresh.arranged.pop(value, None)
            pair_up(fresh, op, value, run)
        if not go_on(fresh, op):
            raise _Enough

    for value in injected:
        fresh.side.forget(value)
    try:
        fresh.side.run = found.side.tape.replay("float64", injected, found.side.run, after)
    except _Enough:
        pass
    return fresh


class _Enough(Exception):
    pass


def share(found: Match, pair: Pair, run: Replay) -> None:
    """Lets a large value that is its partner to the bit lie where that one does."""
    candidate, value = found.reference.run, pair.reference
    array = run.array(pair.candidate)
    if array.size < limits.LARGE_VALUE or pair.residual or not pair.order.identity:
        return
    if found.side.tape.adapter is not candidate.tape.adapter or value not in candidate.native:
        return
    own = candidate.array(value)
    if array.dtype.kind == "f" and same_bits(own, array):
        run.native[pair.candidate], run._arrays[pair.candidate] = candidate.native[value], own


def pair_up(found: Match, op: Op | None, value: int, run: Replay) -> None:
    """Looks one value up, and replaces it by its partner where that is not the same to the bit."""
    found.side.forget(value)
    if value in found.drawing.candidate and op is not None:
        substitute(found, op, value, run)
        return
    array = run.array(value)
    if not array.size:
        return
    print_ = found.side.print(value)
    partner = found.reference.partner(array, print_, found.taken)
    if isinstance(partner, int):
        found.arranged[value] = partner
    elif partner is not None:
        pair = Pair(partner.reference, value, partner.order, partner.residual)
        if not pair.same and op is not None:
            # what is made of leaves stays as it is where it is near another leaf, as leaves do
            leaf = found.reference.tape.producer(pair.reference) is None
            if op.static and (op.role == "move" or leaf) or leads_astray(found, pair, op, run):
                return
        found.pairs[value] = pair
        if pair.same:
            found.taken.add(pair.reference)
        if op is not None:
            share(found, pair, run)
        # leaves stay as they are: equal outputs may come from weights that differ on purpose
        if op is not None and pair.residual > limits.UNCHANGED and print_.informative:
            run.replace(value, pair.order.apply(found.reference.array(pair.reference)))
            found.side.forget(value)
            found.alone = False
