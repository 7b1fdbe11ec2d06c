"""Outputs beside the traced ones: what the host computed, and leaves that hold no values.

A number that a model computed with Python or NumPy has no history on the tape: all that is known
is what it was, so no replay says what rounding did to it. A string, a member of an enum or None is
equal or not. Of an object of any other kind nothing is known unless both models gave an equal one:
then the comparison says that it was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parity.diagnosis import limits
from parity.diagnosis.other_outputs import are_devices, brief, described, equal, is_array, is_plain
from parity.diagnosis.output_pairs import NamedOutputs, in_order, paired_names, recorded, wide
from parity.diagnosis.printed_numbers import compare_arrays, compare_leaves, equal_but_for_digits
from parity.diagnosis.region import OutputPair
from parity.diagnosis.renamed_settings import classes_of_one_module, renamed_settings
from parity.diagnosis.replay_check import Outputs, PlainRun, PlainRuns
from parity.errors import ParityError
from parity.numerics.difference import residual
from parity.outputs.flatten import Outputs as Flat
from parity.outputs.objects import Private, Setting
from parity.tape import Array, Tape


@dataclass
class Beside:
    """What the outputs beside the traced ones came to.

    Attributes:
        differing: reasons why outputs differ, by name.
        unverified: of those that were not compared, what each is.
        doubts: why a comparison of what the host computed shows nothing.
        verdicts: of the outputs that the host computed, by name.
        notes: how outputs were paired, where no name says it.
    """

    differing: dict[str, str] = field(default_factory=dict)
    unverified: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    verdicts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def by_value(reference: Tape, candidate: Tape, pair: OutputPair) -> bool:
    """Whether a pair of outputs can be held against each other by what was recorded only."""
    sides = zip((reference, candidate), pair.values, strict=True)
    return any(_is_by_host(tape, value) for tape, value in sides)


def _is_by_host(tape: Tape, value: int) -> bool:
    return value in (tape.outputs[name] for name in tape.by_value)


def judge_beside(
    reference: Tape,
    candidate: Tape,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
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
            _compare_recorded(found, (reference, candidate), pair, plain)
    _compare_leaves(found, reference, candidate, plain, named)
    found.unverified += classes_of_one_module(reference, named.of(candidate))
    _nothing_dropped(found, reference, candidate, pairs)
    return found


def _in_another_order(candidate: Tape, pairs: Sequence[OutputPair], named: NamedOutputs) -> str:
    """Which outputs were paired by what they hold; "" if none were."""
    placed = [pair for pair in pairs if pair.name in named.placed]
    if all(pair.candidate == candidate.outputs[named.own(pair.name)] for pair in placed):
        return ""
    names = candidate.output_names
    return ", ".join(f"{pair.name!r} and {names[pair.candidate]!r}" for pair in placed)


def _compare_recorded(
    found: Beside, tapes: tuple[Tape, Tape], pair: OutputPair, plain: PlainRuns
) -> None:
    reference, candidate = map(recorded, tapes, pair.values)
    if reference.shape != candidate.shape:
        found.verdicts[pair.name] = "diverged"  # the shapes are reported with the others'
        return
    names = [tape.output_names[value] for tape, value in zip(tapes, pair.values, strict=True)]
    runs = list(zip(plain, names, strict=True))
    state = compare_arrays(reference, candidate, [_moved(*one, _output) for one in runs])
    if state == "equal":
        found.verdicts[pair.name] = "parity"
        return
    who = tapes[0] if _is_by_host(tapes[0], pair.reference) else tapes[1]
    changing = next((run.tape for run, name in runs if _changes(run, name)), None)
    if changing is not None or state == "unclear":
        found.verdicts[pair.name] = "unverified"
        found.doubts.append(
            f"output {pair.name!r} of {changing.model} is another one in every run, as a time that "
            "was taken: it cannot be compared. Leave it out, or return what it is made of"
            if changing is not None
            else f"output {pair.name!r} of {who.model} is computed by Python or NumPy, where it "
            f"cannot be followed, and differs by {residual(wide(reference), wide(candidate)):.1e} "
            "of its size, or by more in a small element: rounding cannot be distinguished "
            "from a fault. Compute it with the framework's operations, or return what it is made of"
        )
        return
    found.verdicts[pair.name] = "diverged"
    found.differing[pair.name] = (
        f"output {pair.name!r}, which {who.model} computes by Python or NumPy, is "
        f"{brief(reference)} in {tapes[0].model} and {brief(candidate)} in {tapes[1].model}"
    )


def _moved(plain: PlainRun, name: str, read: Callable[[Outputs, str], Any]) -> list[Any]:
    """What is read of the outputs of a model whose inputs moved by a rounding, run by run."""
    if plain.nudged is None:
        return []
    try:
        return [read(plain.nudged(seed, None), name) for seed in range(limits.HOST_NUDGES)]
    except ParityError:  # moved inputs are outside what it takes
        return []


def _output(run: Outputs, name: str) -> Array | None:
    return run.get(name)


def _leaf(run: Outputs, name: str) -> Any:
    return _value(_others(run).get(name))


def _others(run: Outputs) -> Mapping[str, Any]:
    return run.others if isinstance(run, Flat) else {}


def _value(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Setting) else leaf


def _again(plain: PlainRun) -> Outputs:
    try:
        return plain.run()
    except ParityError:  # reported where the tape is held against that run
        return {}


def _changes(plain: PlainRun, name: str) -> bool:
    """Whether what the host computed for an output is another value in another run."""
    again = _again(plain).get(name) if name in plain.tape.by_value else None
    if again is None:
        return False
    before = recorded(plain.tape, plain.tape.outputs[name])
    same_shape = before.shape == again.shape
    return not (same_shape and residual(wide(before), wide(again)) <= limits.SAME_HOST_NUMBER)


def _leaf_changes(plain: PlainRun, name: str) -> bool:
    """Whether a leaf is another one in another run, as a time that was taken."""
    again = _others(_again(plain))
    return name in again and not equal(again[name], plain.tape.other_outputs.get(name))


def _compare_leaves(
    found: Beside,
    reference: Tape,
    candidate: Tape,
    plain: PlainRuns,
    named: NamedOutputs,
) -> None:
    candidate = named.of(candidate)
    held = (
        _held(reference, candidate, plain[0], lambda name: name),
        _held(candidate, reference, plain[1], named.own),
    )
    own = {name: named.own(name) for name in held[1]}
    if in_order(reference, candidate, *held):
        own = dict(zip(held[0], own.values(), strict=True))
        held = held[0], dict(zip(held[0], held[1].values(), strict=True))
    found.unverified += renamed_settings(reference, candidate)
    for name in dict.fromkeys((*held[0], *held[1])):
        if name in held[0] and name in held[1]:
            sides = (reference, held[0][name]), (candidate, held[1][name])
            _compare_leaf(found, name, *sides, ((plain[0], name), (plain[1], own[name])))
            continue
        holder, other = (reference, candidate) if name in held[0] else (candidate, reference)
        leaf = held[0].get(name, held[1].get(name))
        # None against nothing holds no values; None against a tensor is reported with that tensor
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


def leaves_differ(reference: Any, candidate: Any) -> bool:
    """Whether two leaves are what they show, and differ."""
    plain = is_plain(reference) and is_plain(candidate)
    return (
        plain and not equal(reference, candidate) and not equal_but_for_digits(reference, candidate)
    )


def _held(
    tape: Tape, other: Tape, plain: PlainRun, own_name: Callable[[str], str]
) -> dict[str, Any]:
    """The leaves of a model, without the settings that the other one's object has not.

    What is another value for other samples, as an action, is no setting. A mark of a framework's
    at an output, as a mask, is one, unless both models are of that framework.
    """
    marks = () if tape.framework == other.framework else tape.adapter.TRAITS.marks
    return {
        name: _value(leaf)
        for name, leaf in tape.other_outputs.items()
        if not name.endswith(marks)
        and (
            not isinstance(leaf, Setting)
            or name in other.other_outputs
            or _follows_the_inputs(plain, own_name(name), leaf)
        )
    }


def _follows_the_inputs(plain: PlainRun, name: str, leaf: Setting) -> bool:
    for at in range(len(plain.orders)):
        try:
            found = plain.elsewhere(at, None) if plain.elsewhere is not None else {}
        except ParityError:  # it takes no samples in this order
            continue
        if not equal(_others(found).get(name, leaf), leaf):
            return True
    return False


def _compare_leaf(
    found: Beside,
    name: str,
    reference: tuple[Tape, Any],
    candidate: tuple[Tape, Any],
    runs: tuple[tuple[PlainRun, str], tuple[PlainRun, str]],
) -> None:
    """Compares a leaf that both models hold, each given with its tape and its name in its runs."""
    (tape, a), (other, b) = reference, candidate
    if equal(a, b):
        return
    again = [_moved(*one, _leaf) for one in runs]
    if is_array(a) and is_array(b) and _arrays_agree(a, b, again):
        return
    if is_plain(a) and is_plain(b):
        state = compare_leaves(a, b, again)
        said = f"output {name!r} is {brief(a)} in {tape.model} and {brief(b)} in {other.model}"
        if state == "unclear" or are_devices(a, b) or any(_leaf_changes(*one) for one in runs):
            found.unverified.append(
                f"{said}: rounding cannot be distinguished from a fault there. Return the values "
                "that it is made of"
            )
        elif state == "differ":
            found.differing[name] = said
        return
    kept = [one.value for one in (a, b) if isinstance(one, Private)]
    if len(kept) == 2 and all(map(is_plain, kept)):
        found.unverified.append(
            f"private attribute {name!r} is {brief(kept[0])} in {tape.model} and "
            f"{brief(kept[1])} in {other.model}: a method reads it, which is not compared. "
            "Return what the method gives"
        )
        return
    holder, leaf = candidate if is_plain(a) else reference
    found.unverified.append(
        f"output {name!r} of {holder.model} is {described(leaf)}, which is not compared: return "
        "the tensors that it holds, by name or as a tuple"
    )


def _arrays_agree(reference: Private, candidate: Private, again: Sequence[Sequence[Any]]) -> bool:
    """Whether private arrays are equal but for rounding."""
    if reference.value.shape != candidate.value.shape:
        return False
    moved = [[one.value if is_array(one) else None for one in runs] for runs in again]
    return compare_arrays(reference.value, candidate.value, moved) == "equal"


def _nothing_dropped(
    found: Beside, reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> None:
    """Every output is in a pair, or is missing on the other side, which is reported there."""
    paired = {pair.reference for pair in pairs}, {pair.candidate for pair in pairs}
    tapes = reference, candidate
    for tape, other, values in zip(tapes, tapes[::-1], paired, strict=True):
        for name, value in tape.outputs.items():
            if value not in values and name in other.outputs:
                found.unverified.append(f"output {name!r} of {tape.model} was not compared")
