"""Half precision in one model only: reported at its start, or noted where the model asks for it.

In float64 such models agree, so nothing else would show it. A model whose parameters are in float16
or bfloat16 is what it says, and its outputs are noted with the size of the effect. A float32 model
that computes in half precision on the way has a cast that the other one has not.

A kernel that rounds what it multiplies shows no cast: TF32 on a GPU keeps 10 bits of the 23. It is
known by its result, which is that of rounded inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.half_precision import NARROW, rounded_alone, told_of
from parity.diagnosis.region import OutputPair
from parity.errors import ReplayError
from parity.findings import Cause, Divergence, Note
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import UNITS
from parity.tape import Array, Op, Replay, Site, Tape, Value

_FLOAT8, _TF32 = 2.0**-4, 2.0**-11  # units roundoff


def low_precision_divergences(repaired: Match) -> list[Divergence]:
    """The first operation in half precision of a model that does not say so."""
    tape, op = _undeclared(repaired)
    if tape is None or op is None or not _is_seen(repaired):
        return []
    other = _counterpart(repaired, tape, op)
    ours, theirs = (op.site, other) if tape is repaired.reference.tape else (other, op.site)
    effect = _effect(repaired)
    dtype = " and ".join(sorted(_formats(repaired, tape)))
    return [
        Divergence(
            reference=ours,
            candidate=theirs,
            residual=effect,
            detail=told_of(tape, op, dtype, effect),
            cause=_cause(repaired, effect, tape, op),
        )
    ]


def low_precision_doubts(repaired: Match) -> list[str]:
    """The same, where no output shows it: a gate that is closed altogether, or a greedy action.

    And where both models compute in a format, and one of them in more places than the other.
    """
    tape, op = _undeclared(repaired)
    if tape is None and _is_seen(repaired):
        return [_elsewhere(*one) for one in _one_sided(repaired)]
    if tape is None or op is None or _is_seen(repaired):
        return []
    dtype = " and ".join(sorted(_formats(repaired, tape)))
    return [
        f"{tape.model} computes in {dtype} from {op.site.described} on, the other model does not. "
        "No output shows it on these inputs; on others it may: compare on more of them"
    ]


def _one_sided(repaired: Match) -> Iterator[tuple[Tape, Op]]:
    """Where a model that declares no narrow format rounds what the other one does not; the first.

    So where both of them use the same formats.
    """
    ours, theirs = repaired.reference.tape, repaired.side.tape
    partner = {one.reference: one.candidate for one in repaired.pairs.values()}
    back = {one.candidate: one.reference for one in repaired.pairs.values()}
    for tape, other, pairs in ((ours, theirs, partner), (theirs, ours, back)):
        unit = _declared_unit(tape)
        for op in tape.ops:
            if op.index not in tape.used or not _rounds(repaired, tape, op):
                continue
            wide = [value for value in op.outputs if value in pairs]
            if any(
                _unit(other.values[pairs[value]].dtype) < _unit(tape.values[value].dtype) > unit
                for value in wide
            ):
                yield tape, op
                return


def _elsewhere(tape: Tape, op: Op) -> str:
    dtype = tape.values[op.outputs[0]].dtype
    return (
        f"{tape.model} rounds the result of {op.site.described} to {dtype}, and the other model "
        "does not there, though it does elsewhere: as they ran the outputs differ by more than "
        "float32 leaves. Compute in the same format at the same places"
    )


def _undeclared(repaired: Match) -> tuple[Tape | None, Op | None]:
    """The model that computes in half precision and does not say so, and where it first does."""
    tape = _odd_one(repaired)
    if tape is None:
        return None, None
    return tape, _first(repaired, tape, _declared_unit(tape))


def _is_seen(repaired: Match) -> bool:
    """Whether some output differs, as the models ran, by more than float32 rounding."""
    reference, candidate = repaired.reference.tape, repaired.side.tape
    if reference.outputs.keys() != candidate.outputs.keys():
        return True
    for name, value in reference.outputs.items():
        a = reference.adapter.to_numpy(reference.recorded[value])
        b = candidate.adapter.to_numpy(candidate.recorded[candidate.outputs[name]])
        if a.shape != b.shape:
            return True
        if a.dtype.kind == b.dtype.kind == "f":
            if (
                not residual(a.astype(np.float64), b.astype(np.float64))
                <= limits.ROUNDED_AS_FLOAT32
            ):
                return True
        elif not np.array_equal(a, b):
            return True
    return False


def low_precision_notes(repaired: Match) -> list[Note]:
    """A model that is in half precision throughout, or in TF32, against one that is not."""
    tape = _odd_one(repaired)
    if tape is None:
        return _rounded_inside(repaired)
    if not _declared_unit(tape):
        return []
    op = _first(repaired, tape)
    site = op.site if op else Site("model", "")
    other = _counterpart(repaired, tape, op) if op else Site("model", "")
    reference, candidate = (site, other) if tape is repaired.reference.tape else (other, site)
    dtype = " and ".join(sorted(_formats(repaired, tape)))
    return [
        Note(
            "low-precision",
            reference,
            candidate,
            _effect(repaired),
            f"{tape.model} is in {dtype}; in float64 the models agree",
        )
    ]


def in_half_precision(repaired: Match, pair: OutputPair) -> bool:
    """Whether one of the models, or both, computes an output in a narrow format somewhere."""
    return bool(_formats_behind(repaired, pair))


def in_the_same_formats(repaired: Match, pair: OutputPair) -> bool:
    """Whether both models compute an output in narrow formats somewhere, and in the same."""
    reference = _formats(repaired, repaired.reference.tape, [pair.reference])
    return bool(reference) and reference == _formats(repaired, repaired.side.tape, [pair.candidate])


def loosened(repaired: Match, pairs: Sequence[OutputPair], noted: bool) -> dict[str, float]:
    """The outputs that a narrow format leads to, by name, with the unit roundoff of the coarsest.

    Args:
        noted: whether one of the models is noted to be in one. Of TF32 it is not known which
            outputs it leads to: it shows in no format.
    """
    hidden = noted and _odd_one(repaired) is None
    return {
        pair.name: coarsest_unit(repaired, pair)
        for pair in pairs
        if hidden or in_half_precision(repaired, pair)
    }


def coarsest_unit(repaired: Match, pair: OutputPair) -> float:
    """The unit roundoff of the narrowest format in which one of the models computes an output."""
    return max(map(_unit, _formats_behind(repaired, pair)), default=_TF32)


def _formats_behind(repaired: Match, pair: OutputPair) -> set[str]:
    sides = (repaired.reference.tape, pair.reference), (repaired.side.tape, pair.candidate)
    return {name for tape, end in sides for name in _formats(repaired, tape, [end])}


def _rounded_inside(repaired: Match) -> list[Note]:
    """Kernels that round their inputs to TF32, where outputs are as far apart as that leaves."""
    effect = _effect(repaired)
    if not limits.SHOWS_LOW_PRECISION <= effect < np.inf:
        return []
    notes = []
    for tape in (repaired.reference.tape, repaired.side.tape):
        op = next((op for op in tape.ops if not op.static and _is_tf32(tape, op)), None)
        if op is None:
            continue
        other = _counterpart(repaired, tape, op)
        sites = (op.site, other) if tape is repaired.reference.tape else (other, op.site)
        detail = (
            f"{tape.model} multiplies in TF32 from here on, which keeps 10 bits of each "
            "number; in float64 the models agree. `parity doctor` shows the switches"
        )
        notes.append(Note("low-precision", *sites, effect, detail))
    return notes


def _is_tf32(tape: Tape, op: Op) -> bool:
    """Whether an operation gave what it gives for inputs rounded to TF32, and not for its own."""
    single = [value for value in op.inputs if tape.values[value].dtype == "float32"]
    if op.role != "compute" or not single or tape.values[op.outputs[0]].dtype != "float32":
        return False
    recorded = Replay(tape, None, dict(tape.recorded))
    given = recorded.array(op.outputs[0])
    try:
        apart = _off(tape, op, {v: recorded.array(v).astype(np.float64) for v in single}, given)
        if not limits.SHOWS_LOW_PRECISION / 4 <= apart < np.inf:
            return False
        rounded = {value: to_tf32(recorded.array(value)) for value in single}
        return _off(tape, op, rounded, given) < apart / 16
    except ReplayError:  # it takes no other inputs, as a table of what it was given
        return False


def _off(tape: Tape, op: Op, inputs: Mapping[int, Array], given: Array) -> float:
    """How far an operation is from what it gave, for other inputs; infinitely for another count."""
    base = Replay(tape, "float64", {**tape.recorded})
    with np.errstate(all="ignore"):  # NaN
        found = tape.replay("float64", inputs, base, only=(op.index,)).array(op.outputs[0])
        return residual(found, given) if found.shape == given.shape else np.inf


def to_tf32(array: Array) -> Array:
    """Float32 numbers rounded to TF32's 10 bits of mantissa, ties to even; as float64.

    Source: NVIDIA, "TensorFloat-32 in the A100 GPU Accelerates AI Training, HPC" (2020).
    """
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & limits.TF32_BITS
    finite = np.where(np.isfinite(array), kept, bits).view(np.float32)
    return finite.astype(np.float64)


def _cause(repaired: Match, effect: float, tape: Tape, op: Op) -> Cause | None:
    """Half precision, if the same operations agree in float64."""
    tapes = repaired.reference.tape, repaired.side.tape
    left = [0.0]
    for name, value in tapes[0].outputs.items():
        other = tapes[1].outputs.get(name)
        if other is None or tapes[0].values[value].shape != tapes[1].values[other].shape:
            continue
        left.append(residual(repaired.reference.array(value), repaired.side.array(other)))
    if not max(left) < limits.LEFT_IN_FLOAT64 * effect:
        return None
    formats = [sorted(_formats(repaired, tape)) or ["float32"] for tape in tapes]
    ours, theirs = (" and ".join(names) for names in formats)
    return Cause(
        kind="low-precision",
        summary=rounded_alone(tape, op, tape is repaired.side.tape)
        or f"computes in {theirs}, the reference in {ours}",
        parameters={"dtype": (ours, theirs)},
        confirmed=True,
        residual_before=effect,
        residual_after=max(left),
        inputs=1,
        evidence=("run in float64, the same operations agree",),
    )


def _odd_one(repaired: Match) -> Tape | None:
    """The tape that computes in a half precision that the other does not use."""
    reference, candidate = repaired.reference.tape, repaired.side.tape
    formats = _formats(repaired, reference), _formats(repaired, candidate)
    if formats[0] == formats[1]:
        return None
    return candidate if formats[1] - formats[0] else reference


def _formats(repaired: Match, tape: Tape, ends: Sequence[int] = ()) -> set[str]:
    """The narrow formats that something is rounded to on the way to an output, weights too.

    Args:
        ends: the outputs in question; default all.
    """
    return {
        tape.values[value].dtype
        for index in (tape.graph.ancestors(ends) if ends else tape.used)
        if _rounds(repaired, tape, tape.ops[index])
        for value in tape.ops[index].outputs
        if _is_narrow(tape, value)
    }


def _rounds(repaired: Match, tape: Tape, op: Op) -> bool:
    """Whether an operation rounds to a narrow format.

    Not one that only moves what is narrow, nor one that gives what the format holds: a mask of 0
    and 1, a small whole number.
    """
    narrow = [value for value in op.outputs if _is_narrow(tape, value)]
    if not narrow or all(_is_exact(repaired, tape, value) for value in narrow):
        return False
    units = [[_unit(tape.values[one].dtype) for one in some] for some in (op.inputs, narrow)]
    return op.role != "move" or min(units[0], default=0.0) < max(units[1])


def _is_exact(repaired: Match, tape: Tape, value: int) -> bool:
    """Whether a value was recorded as it is in float64."""
    run = repaired.reference.run if tape is repaired.reference.tape else repaired.side.run
    if value not in run:
        return False
    recorded = tape.adapter.to_numpy(tape.recorded[value])
    return np.array_equal(recorded.astype(np.float64), run.array(value), equal_nan=True)


def _is_narrow(tape: Tape, value: int) -> bool:
    return tape.values[value].dtype.startswith(NARROW)


def _declared_unit(tape: Tape) -> float:
    """The unit roundoff of the narrowest format that a model says it is in; 0 if it says none.

    It does so where most of its weights, and most of what it computes, are narrow; or all that it
    computes and returns. Of a function its constants are the weights.
    """
    computed = [
        tape.values[value]
        for op in tape.ops
        if op.role == "compute" and not op.static
        for value in op.outputs
    ]
    for kinds, least in ((("parameter", "buffer"), 1), (("constant",), 2)):
        held = [one for one in tape.values if one.kind in kinds and one.size >= least]
        floats = [one for one in held if "float" in one.dtype]
        if _are_mostly_narrow(floats) and _are_mostly_narrow(computed):
            return max(_unit(one.dtype) for one in floats)
        if floats:
            break
    returned = [tape.values[value] for value in tape.outputs.values()]
    dtypes = {one.dtype for one in (*computed, *returned)}
    if dtypes & {"float32", "float64"}:
        return 0.0
    return max(map(_unit, dtypes), default=0.0)


def _are_mostly_narrow(values: Sequence[Value]) -> bool:
    floats = [one for one in values if "float" in one.dtype or "complex" in one.dtype]
    narrow = sum(one.size for one in floats if one.dtype.startswith(NARROW))
    return 2 * narrow > sum(one.size for one in floats)


def _unit(dtype: str) -> float:
    """The unit roundoff of a narrow format; 0 of any other."""
    if not dtype.startswith(NARROW):
        return 0.0
    return UNITS["float16"] if dtype == "complex32" else UNITS.get(dtype, _FLOAT8)


def _first(repaired: Match, tape: Tape, declared: float = 0.0) -> Op | None:
    """The first operation that rounds to a format narrower than the model says it is in."""
    for op in tape.ops:
        if op.index not in tape.used or not _rounds(repaired, tape, op):
            continue
        if any(_unit(tape.values[value].dtype) > declared for value in op.outputs):
            return op
    return None


def _counterpart(repaired: Match, tape: Tape, op: Op) -> Site:
    """Where the other model has the inputs of the operation, or its outputs."""
    by_reference = repaired.by_reference
    for value in (*op.outputs, *op.inputs):
        if tape is repaired.reference.tape:
            pair = by_reference.get(value)
            producer = repaired.side.tape.producer(pair.candidate) if pair else None
        else:
            pair = repaired.pairs.get(value)
            producer = repaired.reference.tape.producer(pair.reference) if pair else None
        if producer is not None:
            return producer.site
    return Site("input", "")


def _effect(repaired: Match) -> float:
    """The largest relative difference of the outputs as the models ran."""
    reference, candidate = repaired.reference.tape, repaired.side.tape
    found = [0.0]
    for name, value in reference.outputs.items():
        other = candidate.outputs.get(name)
        if other is None or reference.values[value].shape != candidate.values[other].shape:
            continue
        a = reference.adapter.to_numpy(reference.recorded[value])
        b = candidate.adapter.to_numpy(candidate.recorded[other])
        if a.dtype.kind == "f" and b.dtype.kind == "f":
            found.append(residual(a.astype("float64"), b.astype("float64")))
    return max(found)
