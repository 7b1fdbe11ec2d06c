"""What has to hold before a comparison says `parity`, whatever led there.

1. The tape is the model: replayed in the recorded precision it gives the outputs of an unrecorded
   run of the same object, as its user calls it.
2. The difference is accounted for: element by element, what the outputs differ by is the rounding
   that each model's own float64 replay measures, or what a note explains.

Matching compares each operation on the reference's own values, so what it calls parity is so of the
operations. These look at the outputs alone, and trust nothing that was found on the way. (That
every output is compared at all is seen to where outputs are read: `parity.outputs`.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.case import case_of
from parity.diagnosis.judge import Verdict
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair, Parting
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.accounting import (
    ACCOUNTED,
    FAULTY,
    Excess,
    allowance,
    elementwise,
    excess,
    rounding,
)
from parity.numerics.difference import residual
from parity.numerics.rounding import U32
from parity.numerics.scaling import CUT
from parity.tape import Array, Replay, Tape

Outputs = Mapping[str, Array]

# A kernel that is run again may round otherwise, by where an array lies in memory: not more than
# this many times what rounding does to the same output anyway.
_KERNELS = 8.0


@dataclass(frozen=True)
class PlainRun:
    """A tape with the means to run its model as its user does."""

    tape: Tape
    run: Callable[[], Outputs]


@dataclass(frozen=True)
class Unaccounted:
    """An output whose difference nothing accounts for."""

    name: str
    excess: Excess

    @property
    def reason(self) -> str:
        """The difference in words."""
        one = self.excess
        where = f"element {list(one.index)} of " if one.index else ""
        return (
            f"{where}output {self.name!r} is {one.reference:.9g} in the reference and "
            f"{one.candidate:.9g} in the candidate, in float64: {one.ratio:.2g} times what the "
            f"rounding of both models accounts for ({one.count} of {one.size} elements differ so)"
        )


def close(
    matched: Match,
    repaired: Match,
    pairs: Sequence[OutputPair],
    verdict: Verdict,
    plain: tuple[PlainRun, PlainRun],
) -> tuple[Verdict, list[Unaccounted]]:
    """A verdict that is not `diverged`, after the closing checks; and what is not accounted for.

    Args:
        repaired: the match in which every divergence is repaired.
    """
    doubts = [doubt for one in plain if (doubt := tape_doubt(one))]
    if doubts:
        return _weaker(verdict, "unverified", doubts, [pair.name for pair in pairs]), []
    left, effect = unaccounted(matched, repaired, pairs, verdict.noted, plain)
    if effect:
        said = f"together with the other notes it changes the outputs by {effect:.1e} of their size"
        notes = [
            replace(one, detail="; ".join(filter(None, (one.detail, said))))
            for one in verdict.notes
        ]
        verdict = replace(verdict, notes=tuple(notes))
    if not left:
        return verdict, []
    found = "diverged" if left[0].excess.ratio > FAULTY else "unverified"
    reasons, names = [one.reason for one in left], [one.name for one in left]
    return _weaker(verdict, found, reasons, names), left


def _weaker(
    verdict: Verdict, instead: str, reasons: Sequence[str], outputs: Sequence[str]
) -> Verdict:
    """A verdict with another in its place, for the reasons given, and on some of the outputs."""
    each = {**verdict.outputs, **dict.fromkeys(outputs, instead)}
    return replace(verdict, verdict=instead, reasons=(*reasons, *verdict.reasons), outputs=each)


def tape_doubt(plain: PlainRun) -> str:
    """Why a tape does not stand for its model; "" if it does.

    A model that draws random numbers draws others in another run: its tape is held against the
    run that was recorded.
    """
    tape = plain.tape
    drew = any(op.role == "random" for op in tape.ops)
    try:
        expected = _recorded_outputs(tape) if drew else plain.run()
        again = tape.outputs_of()
        if expected.keys() != again.keys():
            return (
                f"{tape.model} gave the outputs {', '.join(again)} when it was recorded, and "
                f"{', '.join(expected)} when it ran again: it keeps state that cannot be put back"
            )
        exact: Outputs | None = None
        for name, array in expected.items():
            if np.array_equal(array, again[name], equal_nan=array.dtype.kind in "fc"):
                continue
            exact = exact or tape.outputs_of("float64")
            if not _is_kernel_rounding(array, again[name], exact[name]):
                return _not_the_model(tape, name, array, again[name], drew)
    except ParityError as error:
        return f"{tape.model} could not be run again as its user calls it: {error}"
    return ""


def _recorded_outputs(tape: Tape) -> Outputs:
    recorded = Replay(tape, None, tape.recorded)
    return {name: recorded.array(value) for name, value in tape.outputs.items()}


def _is_kernel_rounding(ran: Array, again: Array, exact: Array) -> bool:
    """Whether two runs differ by no more than rounding does, as the replay measures it."""
    if ran.shape != again.shape:
        return False
    if ran.dtype.kind not in "fc":
        differ = ran != again
        return bool((again[differ] != exact[differ]).all())  # rounding decides there
    unit = float(np.finfo(again.dtype).eps)
    allowed = _KERNELS * rounding(again, exact, unit)
    wide = np.complex128 if ran.dtype.kind == "c" else np.float64
    return excess(again.astype(wide), ran.astype(wide), allowed).ratio <= 1.0


def _not_the_model(tape: Tape, name: str, ran: Array, again: Array, drew: bool) -> str:
    """That a replay gives something else, and at which operation it does first."""
    if ran.shape == again.shape and ran.dtype.kind in "fc":
        gap = f" by {residual(ran, again):.1e} of its size"
    else:
        gap = ""
    text = (
        f"the recording of {tape.model} does not stand for the model: replayed, output {name!r} "
        f"differs{gap} from a run that is not recorded"
    )
    first = _first_changed(tape)
    if first:
        return f"{text}; the first value that differs is that of {first}"
    if drew:
        return text
    return (
        f"{text}. Traced or compiled code gives other values than the Python code it was made of, "
        "or the model keeps state of its own"
    )


def _first_changed(tape: Tape) -> str:
    """The first operation whose recorded result is not what it gives when it runs again."""
    run = tape.replay()
    exact = tape.replay("float64")
    recorded = Replay(tape, None, tape.recorded)
    for op in tape.ops:
        for value in op.outputs:
            arrays = recorded.array(value), run.array(value), exact.array(value)
            if np.array_equal(*arrays[:2], equal_nan=arrays[0].dtype.kind in "fc"):
                continue
            if not _is_kernel_rounding(*arrays):
                place = op.site.source or op.site.layer
                return f"{op.site.op} at {place}" if place else op.site.op
    return ""


def unaccounted(
    matched: Match,
    repaired: Match,
    pairs: Sequence[OutputPair],
    noted: Sequence[tuple[Parting, str]],
    plain: tuple[PlainRun, PlainRun],
) -> tuple[list[Unaccounted], float]:
    """The outputs that differ by more than is accounted for, the worst first.

    Args:
        repaired: the match in which every divergence is repaired.
        noted: what was found and is no alarm, with its kind. Its effect is measured where it is
            needed: the candidate's outputs with the reference's values there.

    Returns:
        The outputs, and by how much of their size the notes change the outputs (0 if not needed).
    """
    compared = _compared(matched, pairs, plain)
    own = _exact(matched, {})
    found = _exceeding(compared, own)
    if not found:
        return [], 0.0
    substituted = {
        parting.values[1]: parting.order.apply(matched.reference.array(parting.values[0]))
        for parting, kind in noted
        if parting.values is not None and parting.order is not None
        if _is_of_its_kind(repaired, parting, kind)
    }
    if not substituted:
        return found, 0.0
    fixed = _exact(matched, substituted)
    effect = max(
        (residual(own[one.name], fixed[one.name]) for one in compared if one.is_float), default=0.0
    )
    return _exceeding(compared, fixed), effect


def _is_of_its_kind(repaired: Match, parting: Parting, kind: str) -> bool:
    """Whether each element by itself differs by no more than the kind of a note allows.

    The kind was found by the values as a whole, in which a small element counts for nothing.
    """
    limits = {"rounding": CUT, "null-distribution": np.inf, "random": np.inf}
    limit = limits.get(kind, ACCOUNTED * max(U32, parting.explained))
    case = None if limit == np.inf else case_of(repaired, parting)
    if case is None or parting.values is None:
        return True
    tape, value = repaired.reference.tape, parting.values[0]
    recorded = Replay(tape, None, tape.recorded).array(value)
    first = case.first
    if recorded.shape != first.reference.shape:
        return True
    error = rounding(recorded, repaired.reference.array(value))
    return elementwise(first.reference, first.candidate, error) <= limit


@dataclass(frozen=True)
class _Compared:
    """A pair of outputs in the reference's layout, and what rounding accounts for."""

    pair: OutputPair
    name: str  # the candidate's
    lay: Callable[[Array], Array | None]
    reference: Array
    allowed: Array

    @property
    def is_float(self) -> bool:
        return self.reference.dtype.kind == "f"


def _compared(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun]
) -> list[_Compared]:
    runs = matched.reference.run, matched.side.run
    measured = not any(run.fallbacks for run in runs)
    ran = _as_ran(plain[0], {}), _as_ran(plain[1], _draws(matched))
    exact = _exact(matched, {})
    names = [{value: name for name, value in side.tape.outputs.items()} for side in plain]
    found = []
    for pair in pairs:
        name = names[1][pair.candidate]

        def lay(array: Array, pair: OutputPair = pair) -> Array | None:
            return in_reference_layout(matched, pair, array)

        reference = matched.reference.array(pair.reference)
        ours = ran[0][names[0][pair.reference]]
        theirs, replayed = lay(ran[1][name]), lay(exact[name])
        if theirs is None or replayed is None or ours.shape != reference.shape:
            continue  # another shape is reported as such
        allowed = allowance((ours, reference), (theirs, replayed), measured)
        found.append(_Compared(pair, name, lay, reference, allowed))
    return found


def _exceeding(compared: Sequence[_Compared], candidate: Outputs) -> list[Unaccounted]:
    found = []
    for one in compared:
        laid_out = one.lay(candidate[one.name])
        if laid_out is not None:
            found.append(Unaccounted(one.pair.name, excess(one.reference, laid_out, one.allowed)))
    found = [one for one in found if not one.excess.ratio <= ACCOUNTED]
    return sorted(found, key=lambda one: -one.excess.ratio)


def _as_ran(plain: PlainRun, draws: Mapping[int, Array]) -> Outputs:
    """A model's outputs as it runs, on the reference's random draws where there are some."""
    tape = plain.tape
    if not any(op.role == "random" for op in tape.ops):
        return plain.run()
    if not draws:
        return _recorded_outputs(tape)
    recorded = Replay(tape, None, tape.recorded)
    typed = {value: array.astype(recorded.array(value).dtype) for value, array in draws.items()}
    return tape.outputs_of(None, typed)


def _exact(matched: Match, substituted: Mapping[int, Array]) -> Outputs:
    """The candidate's outputs in float64, by itself but for inputs, draws, and `substituted`."""
    tape, run = matched.side.tape, matched.side.run
    if matched.alone and not substituted:
        return {name: run.array(value) for name, value in tape.outputs.items()}
    return tape.outputs_of("float64", {**matched.inputs, **_draws(matched), **substituted})


def _draws(matched: Match) -> Mapping[int, Array]:
    """The candidate's random draws for which the reference's were substituted."""
    return getattr(matched, "draws", {})
