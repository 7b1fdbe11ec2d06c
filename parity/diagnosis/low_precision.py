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
from parity.diagnosis.region import OutputPair
from parity.errors import ReplayError
from parity.findings import Cause, Divergence, Note
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import UNITS
from parity.tape import Array, Op, Replay, Site, Tape, Value

_NARROW = ("float16", "bfloat16", "float8", "complex32")  # beginnings of the names of such formats
_FLOAT8, _TF32 = 2.0**-4, 2.0**-11  # units roundoff


def low_precision_divergences(repaired: Match) -> list[Divergence]:
    """The first operation in half precision of a model that does not say so."""
    found = _undeclared(repaired)
    if found is None or not _is_seen(repaired):
        return []
    tape, op = found
    reference, candidate = _sites(repaired, tape, op)
    effect = _effect(repaired)
    dtypes = _dtypes(repaired, tape)
    done = f"computes in {dtypes} from here on"
    if not _computes_in_narrow(tape):
        done = f"rounds {_source(tape, op)} to {dtypes}"
    detail = (
        f"{tape.model} {done}, the other model does not; in float64 they agree, as they ran their "
        f"outputs differ by {effect:.1e} of their size"
    )
    cause = _cause(repaired, effect, tape, op)
    return [Divergence(reference, candidate, residual=effect, detail=detail, cause=cause)]


def low_precision_doubts(repaired: Match) -> list[str]:
    """The same, where no output shows it: a gate that is closed altogether, or a greedy action.

    And where both models compute in a format, and one of them in more places than the other.
    """
    if _odd_one(repaired) is None:
        return [_elsewhere(*one) for one in _one_sided(repaired)] if _is_seen(repaired) else []
    found = _undeclared(repaired)
    if found is None or _is_seen(repaired):
        return []
    tape, op = found
    return [
        f"{tape.model} computes in {_dtypes(repaired, tape)} from {op.site.described} on, the "
        "other model does not. No output shows it on these inputs; on others it may: compare on "
        "more of them"
    ]


def low_precision_notes(repaired: Match) -> list[Note]:
    """A model that is in half precision throughout, or in TF32, against one that is not."""
    tape = _odd_one(repaired)
    if tape is None:
        return _rounded_inside(repaired)
    if not _declared_unit(tape):
        return []
    sites = _sites(repaired, tape, _first(repaired, tape))
    detail = f"{tape.model} is in {_dtypes(repaired, tape)}; in float64 the models agree"
    return [Note("low-precision", *sites, _effect(repaired), detail)]


def _one_sided(repaired: Match) -> Iterator[tuple[Tape, Op]]:
    """Where models that use the same formats, undeclared, first round what the other does not."""
    for tape in repaired.tapes:
        unit, (other, partners) = _declared_unit(tape), _other_side(repaired, tape)
        for op in tape.ops:
            if op.index not in tape.used or not _rounds(repaired, tape, op):
                continue
            if any(
                _unit(other.values[partners[value]].dtype) < _unit(tape.values[value].dtype) > unit
                for value in op.outputs
                if value in partners
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


def _undeclared(repaired: Match) -> tuple[Tape, Op] | None:
    """The model that computes in half precision and does not say so, and where it first does."""
    tape = _odd_one(repaired)
    op = None if tape is None else _first(repaired, tape, _declared_unit(tape))
    return None if tape is None or op is None else (tape, op)


def _is_seen(repaired: Match) -> bool:
    """Whether some output differs, as the models ran, by more than float32 rounding."""
    shared = list(_shared_outputs(repaired))
    if any(len(tape.outputs) > len(shared) for tape in repaired.tapes):
        return True
    return not _effect(repaired) <= limits.ROUNDED_CONSTANTS or any(
        not np.array_equal(a, b) for a, b in _as_ran(repaired) if not _are_float(a, b)
    )


def narrow_formats(repaired: Match, pair: OutputPair) -> list[set[str]]:
    """The narrow formats in which either model computes an output somewhere."""
    sides = zip(repaired.tapes, pair.values, strict=True)
    return [_formats(repaired, tape, [end]) for tape, end in sides]


def loosened(repaired: Match, pairs: Sequence[OutputPair], noted: bool) -> dict[str, float]:
    """The outputs that a narrow format leads to, by name, with the unit roundoff of the coarsest.

    Args:
        noted: whether one of the models is noted to be in one. Of TF32 it is not known which
            outputs it leads to: it shows in no format.
    """
    hidden = noted and _odd_one(repaired) is None
    return {
        pair.name: max(map(_unit, formats), default=_TF32)
        for pair in pairs
        if (formats := set.union(*narrow_formats(repaired, pair))) or hidden
    }


def _rounded_inside(repaired: Match) -> list[Note]:
    """Kernels that round their inputs to TF32, where outputs differ by as much as that leaves."""
    effect = _effect(repaired)
    if not limits.SHOWS_LOW_PRECISION <= effect < np.inf:
        return []
    notes = []
    for tape in repaired.tapes:
        op = next((op for op in tape.ops if not op.static and _is_tf32(tape, op)), None)
        if op is not None:
            detail = (
                f"{tape.model} multiplies in TF32 from here on, which keeps 10 bits of each "
                "number; in float64 the models agree. `parity doctor` shows the switches"
            )
            sites = _sites(repaired, tape, op)
            notes.append(Note("low-precision", *sites, effect, detail))
    return notes


def _is_tf32(tape: Tape, op: Op) -> bool:
    """Whether an operation gave what it gives for inputs rounded to TF32, and not for its own."""
    single = [value for value in op.inputs if tape.values[value].dtype == "float32"]
    if op.role != "compute" or not single or tape.values[op.outputs[0]].dtype != "float32":
        return False
    recorded = {value: tape.recorded_array(value) for value in single}
    given = tape.recorded_array(op.outputs[0])
    try:
        own = {value: array.astype(np.float64) for value, array in recorded.items()}
        off = _off(tape, op, own, given)
        if not limits.SHOWS_LOW_PRECISION / 4 <= off < np.inf:
            return False
        rounded = {value: to_tf32(array) for value, array in recorded.items()}
        return _off(tape, op, rounded, given) < off / 16
    except ReplayError:  # it takes no other inputs, as a table of what it was given
        return False


def _off(tape: Tape, op: Op, inputs: Mapping[int, Array], given: Array) -> float:
    """How far an operation is from what it gave, for other inputs; infinitely for another count."""
    base = Replay(tape, "float64", {**tape.recorded})
    with np.errstate(all="ignore"):  # NaN
        found = tape.replay("float64", inputs, base, only=(op.index,)).array(op.outputs[0])
        return residual(found, given) if found.shape == given.shape else np.inf


def to_tf32(array: Array) -> Array:
    """Float32 values rounded to TF32's 10 bits of mantissa, ties to even; as float64.

    Source: NVIDIA, "TensorFloat-32 in the A100 GPU Accelerates AI Training, HPC" (2020).
    """
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & limits.TF32_BITS
    finite = np.where(np.isfinite(array), kept, bits).view(np.float32)
    return finite.astype(np.float64)


def _cause(repaired: Match, effect: float, tape: Tape, op: Op) -> Cause | None:
    """Half precision, if the same operations agree in float64."""
    exact = (
        residual(repaired.reference.array(a), repaired.side.array(b))
        for a, b in _shared_outputs(repaired)
    )
    left = max(exact, default=0.0)
    if not left < limits.LEFT * effect:
        return None
    reference, candidate = (_dtypes(repaired, one) or "float32" for one in repaired.tapes)
    dtype = tape.values[op.outputs[0]].dtype
    if _computes_in_narrow(tape):
        summary = f"computes in {candidate}, the reference in {reference}"
    elif tape is repaired.side.tape:
        summary = f"{_source(tape, op)} is rounded to {dtype}, the reference's is not"
    else:
        summary = f"{_source(tape, op)} is not rounded, the reference rounds it to {dtype}"
    return Cause(
        kind="low-precision",
        summary=summary,
        parameters={"dtype": (reference, candidate)},
        confirmed=True,
        residual_before=effect,
        residual_after=left,
        inputs=1,
        evidence=("run in float64, the same operations agree",),
    )


def _computes_in_narrow(tape: Tape) -> bool:
    """Whether something is computed in a narrow format, and not only cast to it."""
    return any(
        _is_narrow(tape, value)
        for index in tape.used
        if tape.ops[index].role == "compute"
        for value in tape.ops[index].outputs
    )


def _source(tape: Tape, op: Op) -> str:
    """What an operation rounds."""
    if not op.inputs:
        return f"the result of {op.kind}"  # which is drawn in it, or made of nothing
    value = tape.before_moves(op.inputs[0])
    maker = tape.producer(value)
    if maker is not None:
        return f"the result of {maker.kind}"
    leaf = tape.values[value]
    return leaf.name or f"a {leaf.kind} of {leaf.shape}"


def _odd_one(repaired: Match) -> Tape | None:
    """The tape that computes in a half precision that the other does not use."""
    reference, candidate = (_formats(repaired, tape) for tape in repaired.tapes)
    if reference == candidate:
        return None
    return repaired.tapes[bool(candidate - reference)]


def _dtypes(repaired: Match, tape: Tape) -> str:
    """The narrow formats of a model, in words."""
    return " and ".join(sorted(_formats(repaired, tape)))


def _formats(repaired: Match, tape: Tape, ends: Sequence[int] = ()) -> set[str]:
    """The narrow formats that values are rounded to on the way to some outputs, or to all."""
    return {
        tape.values[value].dtype
        for index in (tape.graph.ancestors(ends) if ends else tape.used)
        if _rounds(repaired, tape, tape.ops[index])
        for value in tape.ops[index].outputs
        if _is_narrow(tape, value)
    }


def _rounds(repaired: Match, tape: Tape, op: Op) -> bool:
    """Whether an operation rounds to a narrow format: no move, nor what the format can hold."""
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
    recorded = tape.recorded_array(value).astype(np.float64)
    return np.array_equal(recorded, run.array(value), equal_nan=True)


def _is_narrow(tape: Tape, value: int) -> bool:
    return tape.values[value].dtype.startswith(_NARROW)


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
    narrow = sum(one.size for one in floats if one.dtype.startswith(_NARROW))
    return 2 * narrow > sum(one.size for one in floats)


def _unit(dtype: str) -> float:
    """The unit roundoff of a narrow format; 0 of any other."""
    if not dtype.startswith(_NARROW):
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


def _sites(repaired: Match, tape: Tape, op: Op | None) -> tuple[Site, Site]:
    """Where an operation is, and where the other model has its outputs or its inputs."""
    site = other = Site("model", "")
    if op is not None:
        site, other = op.site, Site("input", "")
        other_tape, partners = _other_side(repaired, tape)
        for value in (*op.outputs, *op.inputs):
            producer = other_tape.producer(partners[value]) if value in partners else None
            if producer is not None:
                other = producer.site
                break
    return (site, other) if tape is repaired.reference.tape else (other, site)


def _other_side(repaired: Match, tape: Tape) -> tuple[Tape, dict[int, int]]:
    """The other model's tape, and its partners of the values of one."""
    pairs = repaired.pairs.values()
    if tape is repaired.reference.tape:
        return repaired.side.tape, {one.reference: one.candidate for one in pairs}
    return repaired.reference.tape, {one.candidate: one.reference for one in pairs}


def _effect(repaired: Match) -> float:
    """The largest relative difference of the outputs as the models ran."""
    ran = ((a.astype("f8"), b.astype("f8")) for a, b in _as_ran(repaired) if _are_float(a, b))
    return max((residual(a, b) for a, b in ran), default=0.0)


def _shared_outputs(repaired: Match) -> Iterator[tuple[int, int]]:
    """The outputs of one name and one shape in both models."""
    reference, candidate = repaired.tapes
    for name, value in reference.outputs.items():
        other = candidate.outputs.get(name)
        if other is not None and reference.values[value].shape == candidate.values[other].shape:
            yield value, other


def _as_ran(repaired: Match) -> Iterator[tuple[Array, Array]]:
    reference, candidate = repaired.tapes
    for a, b in _shared_outputs(repaired):
        yield reference.recorded_array(a), candidate.recorded_array(b)


def _are_float(a: Array, b: Array) -> bool:
    return a.dtype.kind == b.dtype.kind == "f"
