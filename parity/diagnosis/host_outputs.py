"""Outputs beside the traced ones: what the host computed, and leaves that hold no numbers.

A number that a model computed with Python or NumPy has no history on the tape: all that is known
is what it was, so no replay says what rounding did to it. A string, a member of an enum or None is
equal or not. Of an object of any other kind nothing is known unless both models gave an equal one:
then the comparison says that it was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parity.diagnosis import limits
from parity.diagnosis.other_outputs import are_devices, brief, described, equal, is_array, is_plain
from parity.diagnosis.output_pairs import NamedOutputs, in_order, paired_names, recorded, wide
from parity.diagnosis.printed_numbers import compare_arrays, compare_leaves, equal_but_for_digits
from parity.diagnosis.region import OutputPair
from parity.diagnosis.renamed_settings import classes_of_one_module, renamed_settings
from parity.diagnosis.replay_check import PlainRun
from parity.errors import ParityError
from parity.numerics.difference import residual
from parity.outputs.flatten import Outputs as Flat
from parity.outputs.objects import Private, Setting
from parity.tape import Array, Tape


@dataclass
class Beside:
    """What the outputs beside the traced ones came to.

    Attributes:
        apart: reasons why outputs differ, by name.
        unverified: of those that were not compared, what each is.
        doubts: why a comparison of what the host computed tells nothing.
        verdicts: of the outputs that the host computed, by name.
        notes: how outputs were paired, where no name tells it.
    """

    apart: dict[str, str] = field(default_factory=dict)
    unverified: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    verdicts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def by_value(reference: Tape, candidate: Tape, pair: OutputPair) -> bool:
    """Whether a pair of outputs can be held against each other by what was recorded only."""
    return any(
        value in (tape.outputs[name] for name in tape.by_value)
        for tape, value in ((reference, pair.reference), (candidate, pair.candidate))
    )


def judge_beside(
    reference: Tape,
    candidate: Tape,
    pairs: Sequence[OutputPair],
    plain: Sequence[PlainRun] = (),
) -> Beside:
    """Compares what the tapes cannot replay, and says what nobody compared.

    Args:
        plain: how both are run without being recorded.
    """
    named = paired_names(reference, candidate)
    found = Beside(notes=named.reported(reference, candidate))
    names = _in_another_order(candidate, pairs, named)
    if names:
        found.unverified.append(
            f"outputs of the two models have no name in common, and hold the same in another "
            f"order than they come in ({names}): give them the same names"
        )
    for pair in pairs:
        if by_value(reference, candidate, pair):
            _compare_recorded(found, reference, candidate, pair, plain)
    _compare_leaves(found, reference, candidate, plain, named)
    found.unverified += classes_of_one_module(reference, named.of(candidate))
    _nothing_dropped(found, reference, candidate, pairs)
    return found


def _in_another_order(candidate: Tape, pairs: Sequence[OutputPair], named: NamedOutputs) -> str:
    """Which outputs were paired by what they hold; "" if none were."""
    placed = [pair for pair in pairs if pair.name in named.placed]
    if all(pair.candidate == candidate.outputs[named.own(pair.name)] for pair in placed):
        return ""
    names = {value: name for name, value in candidate.outputs.items()}
    return ", ".join(f"{pair.name!r} and {names[pair.candidate]!r}" for pair in placed)


def _compare_recorded(
    found: Beside,
    reference: Tape,
    candidate: Tape,
    pair: OutputPair,
    plain: Sequence[PlainRun],
) -> None:
    ours, theirs = recorded(reference, pair.reference), recorded(candidate, pair.candidate)
    if ours.shape != theirs.shape:
        found.verdicts[pair.name] = "diverged"  # the shapes are told with the others'
        return
    values = pair.reference, pair.candidate
    again = [_moved(one, value) for one, value in zip(plain, values, strict=False)]
    state = compare_arrays(ours, theirs, again)
    if state == "equal":
        found.verdicts[pair.name] = "parity"
        return
    who = reference if pair.reference in _by_host(reference) else candidate
    runs = zip(plain, values, strict=False)
    changing = next((run.tape for run, value in runs if _changes(run, value)), None)
    if changing is not None or state == "unclear":
        found.verdicts[pair.name] = "unverified"
        found.doubts.append(
            f"output {pair.name!r} of {changing.model} is another one in every run, as a time that "
            "was taken: it cannot be compared. Leave it out, or return what it is made of"
            if changing is not None
            else f"output {pair.name!r} of {who.model} is computed by Python or NumPy, where it "
            f"cannot be followed, and differs by {residual(wide(ours), wide(theirs)):.1e} of its "
            "size, or by more in a small element: rounding cannot be told "
            "from a fault. Compute it with the framework's operations, or return what it is made of"
        )
        return
    found.verdicts[pair.name] = "diverged"
    found.apart[pair.name] = (
        f"output {pair.name!r}, which {who.model} computes by Python or NumPy, is "
        f"{brief(ours)} in {reference.model} and {brief(theirs)} in {candidate.model}"
    )


def _moved(plain: PlainRun, value: int) -> list[Array | None]:
    """An output of a model whose inputs moved by a rounding, run by run."""
    name = next((name for name, one in plain.tape.outputs.items() if one == value), "")
    return [again.get(name) for again in _nudged(plain)]


def _nudged(plain: PlainRun) -> Sequence[Mapping[str, Any]]:
    """Runs of a model whose inputs moved by a rounding."""
    if plain.nudged is None:
        return []
    try:
        return [plain.nudged(seed, None) for seed in range(limits.HOST_NUDGES)]
    except ParityError:  # moved inputs are outside what it takes
        return []


def _changes(plain: PlainRun, value: int) -> bool:
    """Whether what the host computed for an output is another number in another run."""
    tape = plain.tape
    names = [name for name in tape.by_value if tape.outputs[name] == value]
    try:
        again = plain.run() if names else {}
    except ParityError:  # told where the tape is held against that run
        return False
    before = recorded(tape, value)
    return any(name in again and not _alike(before, again[name]) for name in names)


def _alike(a: Array, b: Array) -> bool:
    return a.shape == b.shape and residual(wide(a), wide(b)) <= limits.SAME_HOST_NUMBER


def _by_host(tape: Tape) -> set[int]:
    return {tape.outputs[name] for name in tape.by_value}


def _compare_leaves(
    found: Beside, reference: Tape, candidate: Tape, plain: Sequence[PlainRun], named: NamedOutputs
) -> None:
    runs = plain or (None, None)
    candidate = named.of(candidate)
    ours = _held_against(reference, candidate, runs[0])
    theirs = _held_against(candidate, reference, runs[1], named)
    other_name = {name: named.own(name) for name in theirs}
    if in_order(reference, candidate, ours, theirs):
        other_name = dict(zip(ours, map(named.own, theirs), strict=True))
        theirs = dict(zip(ours, theirs.values(), strict=True))
    found.unverified += renamed_settings(reference, candidate)
    for name in dict.fromkeys((*ours, *theirs)):
        if name in ours and name in theirs:
            sides = (reference, ours[name]), (candidate, theirs[name])
            runs_of = list(zip(plain, (name, other_name[name]), strict=False))
            _compare_leaf(found, name, *sides, runs_of)
            continue
        holder, other = (reference, candidate) if name in ours else (candidate, reference)
        leaf = ours.get(name, theirs.get(name))
        # None against nothing holds no values; None against a tensor is told with that tensor
        lacks = leaf is not None or _is_one_of_a_list(name, holder, other)
        if lacks and name not in other.outputs:
            found.unverified.append(
                f"output {name!r} of {holder.model}, {described(leaf)}, is missing in {other.model}"
            )


def _is_one_of_a_list(name: str, holder: Tape, other: Tape) -> bool:
    """Whether a leaf is an item of a list of single things that both have: it counts in its length.

    Of a tuple of tensors what is None may be left out, as a state that a model has not.
    """
    path, _, place = name.rpartition("/")
    if not path or not place.isdecimal():
        return False
    sides = [
        [one for one in (*tape.outputs, *tape.other_outputs) if one.rpartition("/")[0] == path]
        for tape in (holder, other)
    ]
    return all(sides) and not any(
        tape.values[tape.outputs[one]].shape
        for tape, items in zip((holder, other), sides, strict=True)
        for one in items
        if one in tape.outputs
    )


def apart(ours: Any, theirs: Any) -> bool:
    """Whether two leaves are what they show, and differ."""
    plain = is_plain(ours) and is_plain(theirs)
    return plain and not equal(ours, theirs) and not equal_but_for_digits(ours, theirs)


def _held_against(
    tape: Tape, other: Tape, plain: PlainRun | None, named: NamedOutputs | None = None
) -> dict[str, Any]:
    """The leaves of a model, without the settings that the other one's object has not.

    What is another number for other samples, as an action, is no setting. A mark of a framework's
    at an output, as a mask, is one, unless both models are of that framework.
    """
    own = () if tape.framework == other.framework else tape.adapter.TRAITS.marks
    return {
        name: leaf.value if isinstance(leaf, Setting) else leaf
        for name, leaf in tape.other_outputs.items()
        if not name.endswith(own)
        and (
            not isinstance(leaf, Setting)
            or name in other.other_outputs
            or plain is not None
            and _follows_the_inputs(plain, named.own(name) if named else name, leaf)
        )
    }


def _follows_the_inputs(plain: PlainRun, name: str, leaf: Setting) -> bool:
    for at in range(len(plain.orders)):
        try:
            found = plain.elsewhere(at, None) if plain.elsewhere is not None else None
        except ParityError:  # it takes no samples in this order
            continue
        if isinstance(found, Flat) and not equal(found.others.get(name, leaf), leaf):
            return True
    return False


def _compare_leaf(
    found: Beside,
    name: str,
    ours: tuple[Tape, Any],
    theirs: tuple[Tape, Any],
    runs_of: Sequence[tuple[PlainRun, str]],
) -> None:
    if equal(ours[1], theirs[1]):
        return
    again = [_moved_leaf(*one) for one in runs_of]
    if is_array(ours[1]) and is_array(theirs[1]) and _arrays_agree(ours[1], theirs[1], again):
        return
    if is_plain(ours[1]) and is_plain(theirs[1]):
        state = compare_leaves(ours[1], theirs[1], again or ((), ()))
        unclear = state == "unclear" or are_devices(ours[1], theirs[1])
        if unclear or any(_leaf_changes(*one) for one in runs_of):
            found.unverified.append(
                f"output {name!r} is {brief(ours[1])} in {ours[0].model} and {brief(theirs[1])} in "
                f"{theirs[0].model}: rounding cannot be distinguished from a fault there. Return "
                "the numbers that it is made of"
            )
        elif state == "differ":
            found.apart[name] = (
                f"output {name!r} is {brief(ours[1])} in {ours[0].model} and {brief(theirs[1])} in "
                f"{theirs[0].model}"
            )
        return
    kept = [one.value for _, one in (ours, theirs) if isinstance(one, Private)]
    if len(kept) == 2 and all(map(is_plain, kept)):
        found.unverified.append(
            f"private attribute {name!r} is {brief(kept[0])} in {ours[0].model} and "
            f"{brief(kept[1])} in {theirs[0].model}: a method reads it, which is not compared. "
            "Return what the method gives"
        )
        return
    tape, leaf = theirs if is_plain(ours[1]) else ours
    found.unverified.append(
        f"output {name!r} of {tape.model} is {described(leaf)}, which is not compared: return the "
        "tensors that it holds, by name or as a tuple"
    )


def _arrays_agree(ours: Private, theirs: Private, again: Sequence[Sequence[Any]]) -> bool:
    """Whether private arrays are equal but for rounding."""
    if ours.value.shape != theirs.value.shape:
        return False
    moved = [[one.value if is_array(one) else None for one in runs] for runs in again]
    return compare_arrays(ours.value, theirs.value, moved) == "equal"


def _moved_leaf(plain: PlainRun, name: str) -> list[Any]:
    """A leaf of a model whose inputs moved by a rounding, run by run."""
    found = (_others(one).get(name) for one in _nudged(plain))
    return [leaf.value if isinstance(leaf, Setting) else leaf for leaf in found]


def _leaf_changes(plain: PlainRun, name: str) -> bool:
    """Whether a leaf is another one in another run, as a time that was taken."""
    try:
        again = _others(plain.run())
    except ParityError:  # told where the tape is held against that run
        return False
    return name in again and not equal(again[name], plain.tape.other_outputs.get(name))


def _others(outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return outputs.others if isinstance(outputs, Flat) else {}


def _nothing_dropped(
    found: Beside, reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> None:
    """Every output is in a pair, or is missing on the other side, which is told there."""
    paired = {pair.reference for pair in pairs}, {pair.candidate for pair in pairs}
    for tape, other, values in zip(
        (reference, candidate), (candidate, reference), paired, strict=True
    ):
        for name, value in tape.outputs.items():
            if value not in values and name in other.outputs:
                found.unverified.append(f"output {name!r} of {tape.model} was not compared")
