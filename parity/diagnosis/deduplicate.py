"""Divergences that one change fixes are reported as one.

A fault in a loop, in a line that several others read, or in a cell's gates makes the models differ
at many operations. What a person fixes is one line or one layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parity.diagnosis.causes import causes
from parity.findings import FORMULA, Cause, Divergence
from parity.tape import Site

Place = tuple[str, str]

# One line is wrong in one way: what a cause that explains it more often leaves to another.
OF_FEWER = "at the same line another cause explains as much or more"
_WIRED = {"branch-missing", FORMULA, "op-extra", "op-missing", "wrong-source"}
OF_ONE_STEP = "at most other steps of the same line something else is wrong"


def merge(divergences: Sequence[Divergence]) -> list[Divergence]:
    """The divergences in their order; each counts how often it occurs."""
    found: list[Divergence] = []
    for divergence in divergences:
        twin = next((i for i, one in enumerate(found) if _one_cause(one, divergence)), None)
        if twin is None:
            found.append(divergence)
        else:
            found[twin] = replace(found[twin], times=found[twin].times + divergence.times)
    return _systemic(_without_echoes(_one_of_turns(_one_way_wrong(found))))


def _one_way_wrong(divergences: Sequence[Divergence]) -> list[Divergence]:
    """What one cause explains at a line where one of another kind explains more, as that one's.

    The same kind with other parameters says something of its own, as of an axis that each turn of
    a loop takes for itself.
    """
    found = list(divergences)
    for one in divergences:
        cause = one.cause
        if cause is None or cause.unproved not in (OF_FEWER, OF_ONE_STEP):
            continue
        proved = (
            at
            for at, other in enumerate(found)
            if other.cause and other.cause.confirmed and other.cause.kind != cause.kind
            if _places(other) == _places(one)
            or cause.unproved == OF_ONE_STEP
            and other.reference == one.reference
        )
        at = next(proved, None)
        if at is not None:
            found[at] = replace(found[at], times=found[at].times + one.times)
            found.remove(one)
    return found


def _one_cause(one: Divergence, other: Divergence) -> bool:
    """Whether two have one cause in one layer, and on either side one line or recurrent cell."""
    if one.cause is None or other.cause is None:
        same = one.cause is other.cause and one.leaves == other.leaves
        return same and _places(one) == _places(other) and all(map(any, _places(one)))
    if one.cause.kind != other.cause.kind:
        return False
    reference, candidate = one.cause.parameters, other.cause.parameters
    if any(reference[name] != candidate[name] for name in reference.keys() & candidate.keys()):
        return False
    form = _function if _family(one.cause.kind).startswith("recurrent") else _line
    sides = (one.reference, other.reference), (one.candidate, other.candidate)
    if any(a.layer != b.layer for a, b in sides):
        return False
    return any(any(form(a)) and form(a) == form(b) for a, b in sides)


def _without_echoes(divergences: list[Divergence]) -> list[Divergence]:
    """Leaves out what a ready-made layer's fault leaves elsewhere in the same layer.

    Within one call of a layer the operations of two frameworks are laid out differently. Where one
    of several differences there has a cause of its own, the unexplained ones, and those that say no
    more than that something is wired otherwise, are its echoes. Where none has one, they are one.
    """
    found: list[Divergence] = []
    merged: dict[int, list[Divergence]] = {}  # by the place in `found` what is weak there
    for divergence in divergences:
        here = [at for at, one in enumerate(found) if _one_call(one, divergence)]
        stronger = next((at for at in here if not is_weak(found[at])), None)
        if not here or (stronger is not None and not is_weak(divergence)):
            merged[len(found)] = [divergence]
            found.append(divergence)
            continue
        at = here[0] if stronger is None else stronger
        merged[at].append(divergence)
        stays = found[at] if is_weak(divergence) else divergence
        times = found[at].times + divergence.times
        turn = _of_a_turn(found[at], divergence) or _said_twice(merged[at])
        cause = turn or _said_alike(merged[at]) if is_weak(stays) else stays.cause
        found[at] = replace(stays, times=times, cause=cause)
    return found


def _said_twice(weak: Sequence[Divergence]) -> Cause | None:
    """What is confirmed of one call more than once, as of two steps, and nothing else besides."""
    confirmed = [(one.cause, one.times) for one in weak if one.cause and one.cause.confirmed]
    kinds = {cause.kind for cause, _ in confirmed}
    said = len(kinds) == 1 and sum(times for _, times in confirmed) > 1
    return confirmed[0][0] if said else None


def _said_alike(weak: Sequence[Divergence]) -> Cause | None:
    """What is said first of one call, where all that is said of it is of one kind, proved or not.

    As where two states have changed places, each of which is read.
    """
    causes = [one.cause for one in weak]
    kinds = {None if cause is None else cause.kind for cause in causes}
    return causes[0] if len(kinds) == 1 else None


def _one_of_turns(divergences: Sequence[Divergence]) -> list[Divergence]:
    """Turns of a loop as one, where one of them is proved and the others say nothing else."""
    found = [*divergences]
    for one in divergences:
        if one.cause is not None and one.cause.confirmed or not is_weak(one):
            continue
        proved = (at for at, other in enumerate(found) if _of_a_turn(one, other) is not None)
        at = next(proved, None)
        if at is not None:
            found[at] = replace(found[at], times=found[at].times + one.times)
            found.remove(one)
    return found


def _of_a_turn(one: Divergence, other: Divergence) -> Cause | None:
    """The cause that is proved of several turns of a loop, where another says nothing else.

    The first turn, which starts from zeros, may show nothing.
    """
    sites = one.reference, one.candidate
    if sites != (other.reference, other.candidate) or not one.reference.frames:
        return None
    causes = [found.cause for found in (one, other) if found.cause is not None]
    proved = [
        found.cause
        for found in (one, other)
        if found.cause is not None and found.cause.confirmed and found.times > 1
    ]
    return proved[0] if proved and len({cause.kind for cause in causes}) == 1 else None


def _systemic(divergences: list[Divergence]) -> list[Divergence]:
    """What is wrong alike in several places, as an epsilon in every layer, as one with its places.

    Each of them is confirmed by itself, with the same parameters; what says only that something is
    wired otherwise is one where it is of one line, too.
    """
    found: dict[object, Divergence] = {}
    for number, one in enumerate(divergences):
        cause = one.cause
        alike: object = number
        if cause is not None and cause.confirmed:
            line = one.reference.frames[:1] if is_weak(one) else ()
            if line or not is_weak(one):
                alike = cause.kind, repr(sorted(cause.parameters.items())), line
        first = found.setdefault(alike, one)
        if first is not one:
            here, known = (one.reference, one.candidate), (first.reference, first.candidate)
            new = () if here == known or here in first.places else (here,)
            times, places = first.times + one.times, first.places + new
            found[alike] = replace(first, times=times, places=places)
    return list(found.values())


def _one_call(one: Divergence, other: Divergence) -> bool:
    layers = one.reference.layer and one.candidate.layer
    return bool(layers) and _places(one) == _places(other)


def is_weak(divergence: Divergence) -> bool:
    """Whether nothing is said of a divergence but that something is wired otherwise."""
    return divergence.cause is None or divergence.cause.kind in _WIRED


def _family(kind: str) -> str:
    return next((one.family for one in causes() if kind in one.kinds), "")


def _places(divergence: Divergence) -> tuple[Place, Place]:
    return _line(divergence.reference), _line(divergence.candidate)


def _line(site: Site) -> Place:
    """The layer and the line, with the lines that called it: a function called twice is two."""
    return site.layer, ", ".join(map(str, site.frames))


def _function(site: Site) -> Place:
    frame = site.frames[0] if site.frames else None
    return site.layer, f"{frame.file}:{frame.function}" if frame else ""
