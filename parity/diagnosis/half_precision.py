"""Half precision in words: numbers may be rounded to it and cast back, no more."""

from __future__ import annotations

from parity.tape import Op, Tape

NARROW = ("float16", "bfloat16", "float8", "complex32")  # beginnings of the names of such formats


def computes_in_narrow(tape: Tape) -> bool:
    """Whether something is computed in a narrow format, and not only cast to it."""
    return any(
        tape.values[value].dtype.startswith(NARROW)
        for index in tape.used
        if tape.ops[index].role == "compute"
        for value in tape.ops[index].outputs
    )


def told_of(tape: Tape, op: Op, dtype: str, effect: float) -> str:
    """What a model does in a narrow format that the other one does not, from an operation on."""
    done = f"computes in {dtype} from here on"
    if not computes_in_narrow(tape):
        done = f"rounds {_rounded(tape, op)} to {dtype}"
    return (
        f"{tape.model} {done}, the other model does not; in float64 they agree, as they ran their "
        f"outputs differ by {effect:.1e} of their size"
    )


def rounded_alone(tape: Tape, op: Op, by_candidate: bool) -> str:
    """The same of a model that only rounds, as a cause; "" of one that computes."""
    if computes_in_narrow(tape):
        return ""
    dtype = tape.values[op.outputs[0]].dtype
    if by_candidate:
        return f"{_rounded(tape, op)} is rounded to {dtype}, the reference's is not"
    return f"{_rounded(tape, op)} is not rounded, the reference rounds it to {dtype}"


def _rounded(tape: Tape, op: Op) -> str:
    if not op.inputs:
        return f"the result of {op.kind}"  # which is drawn in it, or made of nothing
    value = tape.before_moves(op.inputs[0])
    maker = tape.producer(value)
    if maker is not None:
        return f"the result of {maker.kind}"
    leaf = tape.values[value]
    return leaf.name or f"a {leaf.kind} of {leaf.shape}"
