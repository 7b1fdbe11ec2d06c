"""What several divergences of one comparison say of each other.

A divergence is located and explained with all others repaired. Where such a repair is itself what
the next explanation undoes, both hold at their places and neither is what was written wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.deduplicate import OF_FEWER, OF_ONE_STEP, is_weak
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import Mismatch
from parity.errors import ReplayError
from parity.findings import FORMULA, Cause, Divergence
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import SENTINEL, U32
from parity.tape import Array, Op

_REARRANGEMENTS = ("-order", "-swap", "-swapped", "-pairing", "-transposed", "-reshaped")


@dataclass(frozen=True)
class Finding:
    """A divergence, and the place that it was found at."""

    mismatch: Mismatch
    divergence: Divergence

    @cached_property
    def stated(self) -> object:
        """What its cause says, wherever it says so."""
        cause = self.divergence.cause
        if cause is None or self.side_of_zeros is not None:
            return self.side_of_zeros
        stated = repr(sorted(cause.parameters.items()))
        if cause.kind == FORMULA:  # each turn of a loop reads another step
            stated = re.sub(r"\[[^]]*\]", "[]", stated)
        return cause.kind, stated

    @cached_property
    def place(self) -> tuple[tuple[str, str], ...]:
        """Its layers and lines."""
        sites = self.divergence.reference, self.divergence.candidate
        return tuple((site.layer, site.source) for site in sites)

    @cached_property
    def alike(self) -> object:
        """The same, with the last names of layers alone: a block in any stage."""
        cause = self.divergence.cause
        if cause is None:
            return None
        stated = repr(sorted(cause.parameters.items()))
        return cause.kind, re.sub(r"\([^()]*[/.](?=[^()/.]+\))", "(", stated)

    def is_of_one_line(self, other: Finding) -> bool:
        """Whether a line of either model runs several times, and both are found there."""
        here, there = self.divergence, other.divergence
        pairs = (here.reference, there.reference), (here.candidate, there.candidate)
        if is_weak(here):
            return any(a.frames and a.frames[0] == b.frames[0] for a, b in pairs if b.frames)
        return any(a.frames and a.frames == b.frames for a, b in pairs)

    @cached_property
    def side_of_zeros(self) -> object:
        """The kind of its cause, and where zeros change places with whole numbers, as in padding.

        None where they do not: a factor and its reciprocal undo each other.
        """
        cause = self.divergence.cause
        if cause is None:
            return None
        said = [repr(pair) for _, pair in sorted(cause.parameters.items())]
        if not all(re.fullmatch(r"[\d(), ]*", one) for one in said):
            return None
        places = tuple(
            tuple(re.sub("[1-9][0-9]*", "n", repr(one)) for one in pair)
            for _, pair in sorted(cause.parameters.items())
        )
        return (cause.kind, places) if any(a != b for a, b in places) else None

    @cached_property
    def behind(self) -> set[int]:
        """The candidate's inputs there, and the values that they are made of."""
        region = self.mismatch.candidate
        entering = set(region.boundary())
        made = region.tape.graph.ancestors(list(entering))
        return entering | {value for index in made for value in region.tape.ops[index].outputs}

    @cached_property
    def formula(self) -> set[int]:
        """The candidate's value there and what is made of it before parameters enter again."""
        if self.mismatch.values is None:
            return set()
        tape, value = self.mismatch.candidate.tape, self.mismatch.values[1]

        def goes_on(op: Op) -> bool:
            leaves = tape.graph.leaves(op.inputs)
            return all(tape.values[leaf].kind != "parameter" for leaf in leaves)

        reading = tape.graph.readers_onward([value], goes_on)
        return {value, *(made for op in reading if goes_on(op) for made in op.outputs)}


def without_effect(proofs: Proofs, mismatch: Mismatch) -> bool:
    """Whether nothing changes by a divergence on these inputs, as in rows that nobody reads.

    Everything else repaired, the outputs are the same with the candidate's own value as with the
    reference's. Such a pair may not even belong together. Where the candidate's operations no
    longer give another value, what was repaired lies among them, and nothing is known.
    """
    if mismatch.values is None:
        return False
    end, run = mismatch.values[1], proofs.repaired.side.run
    tape = proofs.repaired.side.tape
    producer, ends = tape.producer(end), {pair.candidate for pair in proofs.outputs}
    is_read = any(end in op.inputs for op in tape.ops if op.index in tape.used)
    if producer is None or end in ends or not is_read:
        return False
    faint = min(U32, mismatch.residual / limits.DAMPED)  # what constants leave of something else
    other, changed = run.branch(), {end}
    region = {op.index for op in mismatch.candidate.ops}
    try:
        for index in sorted(region | tape.graph.static_before(mismatch.candidate.ops)):
            other.step(tape.ops[index])
        alone = other.array(end)
        if not _distance(run.array(end), alone) > SAME:
            return False
        other = run.branch()
        other.replace(end, alone)
        for op in tape.ops[producer.index + 1 :]:
            if op.index not in tape.used or changed.isdisjoint(op.inputs):
                continue
            if op.role == "random":
                return False
            given = proofs.given_by(op)
            other.step(op)
            for value, before in zip(op.outputs, given, strict=True):
                after = other.array(value)
                apart = value not in ends and _clearly_differ(before, after)
                distance = np.inf if apart else _distance(before, after)
                if distance <= SAME or value in ends and distance <= faint:
                    other.replace(value, run.array(value))
                    continue
                if value in ends or before.shape != after.shape:
                    return False
                changed.add(value)
                repaired = run.array(value)
                if before.dtype.kind == "f" and not _distance(repaired, before) <= SAME:
                    other.replace(value, repaired + (after - before))
    except ReplayError:
        return False
    return True


def is_repaired_before(proofs: Proofs, mismatch: Mismatch, others: Sequence[Mismatch]) -> bool:
    """Whether the repair of another place repairs this one too, as it makes a constant of it.

    What no input reaches has no partner among what inputs reach: such a place may be found later.
    """
    if mismatch.values is None:
        return False
    run, tape, ops = proofs.repaired.side.run, proofs.repaired.side.tape, mismatch.candidate.ops
    made = {value for op in ops for value in op.outputs}
    read = {value for op in ops for value in op.inputs if not tape.is_live(value)} - made
    before = {value for index in tape.graph.ancestors(read) for value in tape.ops[index].outputs}
    ends = {one.values[1] for one in others if one is not mismatch and one.values}
    if before.isdisjoint(ends):
        return False
    alone, end = run.branch(), mismatch.values[1]
    try:
        for op in ops:
            alone.step(op)
        return _distance(run.array(end), alone.array(end)) <= SAME
    except ReplayError:
        return False


def not_undone(divergences: Sequence[Divergence]) -> list[Divergence]:
    """The divergences without values of the other sign, which each model reads rightly.

    Repaired alone they harm, and another is all that differs at the outputs.
    """
    if not any(map(_restores, divergences)):
        return list(divergences)
    return [one for one in divergences if not (_harms_outputs(one) and _is_of_the_other_sign(one))]


def _is_of_the_other_sign(one: Divergence) -> bool:
    """Whether its values are each other's negative, and nothing proves that either is wrong."""
    known = one.capture
    if known is None or known.reference.shape != known.candidate.shape:
        return False
    if one.cause is not None and one.cause.confirmed or known.reference.dtype.kind != "f":
        return False
    return residual(-known.reference, known.candidate) <= SAME


def _restores(one: Divergence) -> bool:
    """Whether its repair alone makes the outputs agree, but for rounded constants."""
    before, after = one.output_before, one.output_after
    return before is not None and after is not None and after <= limits.RESTORED * before


def _harms_outputs(one: Divergence, more: float = limits.WORSE_WITHOUT) -> bool:
    """Whether the outputs differ by so many times as much with its repair alone."""
    before, after = one.output_before, one.output_after
    return before is not None and after is not None and after > more * before


def without_proof(findings: Sequence[Finding], matched: Match) -> list[Divergence]:
    """The divergences; a cause that others make doubtful is consistent with the evidence."""
    return [_doubted(one, findings, matched) for one in findings]


def _doubted(here: Finding, findings: Sequence[Finding], matched: Match) -> Divergence:
    cause = here.divergence.cause
    if cause is None or not cause.confirmed:  # nothing to be made doubtful
        return here.divergence
    if len(findings) < 2:
        doubt = _harms(here.divergence)
    else:
        doubts = _makes_up_for_another, _of_another_repair, _of_fewer, _of_one_step
        doubt = next(filter(None, (one(here, cause, findings) for one in doubts)), "")
        doubt = doubt or _between_equals(here, findings, matched)
    if not doubt:
        return here.divergence
    return replace(here.divergence, cause=replace(cause, confirmed=False, unproved=doubt))


def _harms(one: Divergence) -> str:
    """Where nothing else diverges, a repair after which the outputs differ more is none."""
    if not _harms_outputs(one):
        return ""
    return "with the reference's value there the outputs differ more, and nothing else diverges"


def _between_equals(here: Finding, findings: Sequence[Finding], matched: Match) -> str:
    """Why two values may both be right that each have an equal partner in the other model."""
    if here.mismatch.values is None or _restores(here.divergence):
        return ""
    reference, candidate = here.mismatch.values
    pair = matched.pairs.get(candidate)
    if pair is None or not pair.same or reference not in matched.taken:
        return ""
    if not any(_restores(one.divergence) for one in findings):
        return ""
    return "both models have both values, and with another divergence repaired the outputs agree"


def _makes_up_for_another(here: Finding, cause: Cause, findings: Sequence[Finding]) -> str:
    """A repair that harms shows that two places make up for each other: either may be wrong."""
    for other in findings:
        if other is here or not _may_undo(here, cause, other):
            continue
        alike = here.stated == other.stated
        more = limits.MUCH_WORSE_WITHOUT if alike else limits.WORSE_WITHOUT
        for one in (here.divergence, other.divergence):
            if _harms_outputs(one, more):
                return (
                    f"the divergences make up for each other: with {_name(one)} alone repaired the "
                    "outputs differ more"
                )
    return ""


def _may_undo(here: Finding, cause: Cause, other: Finding) -> bool:
    """Whether one may be what makes up for the other, and not a fault of its own.

    The same change in two places undoes itself only where it puts back an order, and never where it
    is one line that runs several times. Two weights that are exchanged are one fault, seen where
    either is read.
    """
    known = other.divergence.cause
    if here.alike == other.alike and here.is_of_one_line(other):
        return False
    if known is not None and cause.kind == known.kind == "weight-swapped":
        mirrored = {name: pair[::-1] for name, pair in known.parameters.items()}
        return dict(cause.parameters) != mirrored
    if known is None or _says_less(known, cause):
        return True
    if all(one.kind.endswith(_REARRANGEMENTS) for one in (cause, known)):
        return True
    return cause.kind == known.kind and (here.stated != other.stated or is_weak(here.divergence))


def _of_another_repair(here: Finding, cause: Cause, findings: Sequence[Finding]) -> str:
    """Why it may be one with an unexplained divergence: it starts from that one's repair."""
    entering = set(here.mismatch.candidate.boundary())
    rearranges = cause.kind.endswith(_REARRANGEMENTS)
    behind = here.behind if rearranges or is_weak(here.divergence) else entering
    for one in findings:
        other = one.divergence.cause
        if one is here or one.stated == here.stated:
            continue
        if other is not None and other.confirmed and not _says_less(other, cause):
            continue
        if _is_proved_in_a_turn(one, findings):
            continue
        repaired = one.mismatch.values
        if not entering.isdisjoint(one.formula) or (repaired and repaired[1] in behind):
            return (
                f"{_name(one.divergence)} before it diverges without an explanation: the two may "
                "be one"
            )
        end = here.mismatch.values
        if rearranges and end and end[1] in one.behind:
            return (
                f"{_name(one.divergence)} behind it diverges without an explanation: what is in "
                "another order here may be put back there"
            )
    return ""


def _says_less(other: Cause, cause: Cause) -> bool:
    """Whether two formulas are all that is said elsewhere, which is so of whatever differs."""
    return other.kind == FORMULA != cause.kind


def _is_proved_in_a_turn(here: Finding, findings: Sequence[Finding]) -> bool:
    """Whether another turn of the same loop shows what is wrong: the first may be of zeros."""
    sites = here.divergence.reference, here.divergence.candidate
    return any(
        (one.divergence.reference, one.divergence.candidate) == sites
        for one in findings
        if one.divergence.cause is not None and one.divergence.cause.confirmed
    )


def _of_fewer(here: Finding, cause: Cause, findings: Sequence[Finding]) -> str:
    """One line is wrong in one way: what explains it the most often counts.

    As often may be explained what another operation of the line does.
    """
    times: Counter[object] = Counter()
    others: set[object] = set()
    for one in findings:
        if one.divergence.cause is not None and one.place == here.place:
            times[one.stated] += one.divergence.times
            if one.divergence.candidate.op != here.divergence.candidate.op:
                others.add(one.stated)
    own = times.pop(here.stated)
    if any(count > own or count == own and one not in others for one, count in times.items()):
        return OF_FEWER
    return ""


def _of_one_step(here: Finding, cause: Cause, findings: Sequence[Finding]) -> str:
    """One line of a loop is wrong in one way: what is said of fewer of its steps is chance."""
    site = here.divergence.reference
    elsewhere = sum(
        one.divergence.times
        for one in findings
        if one.stated != here.stated and one.divergence.reference == site
    )
    own = sum(
        one.divergence.times
        for one in findings
        if one.stated == here.stated and one.divergence.reference == site
    )
    return OF_ONE_STEP if site.frames and elsewhere > own else ""


def _name(divergence: Divergence) -> str:
    site = divergence.candidate
    where = site.layer or site.source.rsplit("/", 1)[-1]
    return site.op + (f" ({where})" if where else "")


def _clearly_differ(a: Array, b: Array) -> bool:
    """Whether one element alone makes the residual more than `SAME`: asked of every value."""
    if a.dtype.kind != "f" or a.shape != b.shape or not a.size:
        return False
    gap, most = np.abs(a - b).max(), max(np.abs(a).max(), np.abs(b).max())
    # its mean square is no larger than this; sentinels are compared among themselves
    return bool(SAME * most * a.size**0.5 < gap and most <= SENTINEL)


def _distance(a: Array, b: Array) -> float:
    if a.shape != b.shape:  # as where draws decide how many there are
        return np.inf
    return residual(a, b) if a.dtype.kind == "f" else float((a != b).any())
