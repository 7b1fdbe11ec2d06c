"""A third opinion: which of two models is right by a formula of the same inputs.

The formula runs in float64 as one more model, and each model's outputs are held against its own.
The rule is the one for two models: what is left in float64 must be what constants rounded to
float32 explain, or shrink with the precision; and as the model ran, nothing may be NaN or infinite
that the formula gives as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis.region import OutputPair
from parity.errors import ModelError, UsageError
from parity.inputs.preprocessing import record
from parity.matching.match import Match
from parity.model import Inputs, map_arrays, wrap
from parity.numerics.difference import count_mask_differences, mask_sentinels, residual
from parity.numerics.precision_scaling import is_rounding
from parity.numerics.rounding import explained_by_constants
from parity.result import ByFormula, FormulaRow, Held, Right
from parity.tape import Array, Replay, Tape


def record_formula(formula: Callable[..., Any], inputs: Inputs) -> Tape:
    """Runs a formula on the reference's inputs, in float64: what the formula says is right.

    Args:
        formula: a function of NumPy arrays; positional for an array or a tuple, by names for a
            dict.
        inputs: as the reference takes them.

    Raises:
        UsageError: it is no function, raised, or returned no arrays.
    """
    if not callable(getattr(formula, "obj", formula)):
        raise UsageError(
            f"formula is {formula!r}; give a function of NumPy arrays, such as parity.rl.dueling_q."
        )
    exact = map_arrays(lambda array: array.astype(_exact_type(array)), inputs)
    try:
        return record(wrap(formula, framework="numpy"), exact)
    except ModelError as error:
        raise UsageError(f"formula: {error}") from error


def _exact_type(array: Array) -> Any:
    # also of bfloat16, which NumPy counts as no float
    return array.dtype if array.dtype.kind in "biuc" else np.float64


def hold_against(
    book: Tape,
    answers: Sequence[OutputPair],
    problems: Sequence[str],
    matched: Match,
    outputs: Sequence[OutputPair],
    verdict: str,
) -> ByFormula:
    """Says which model is right.

    Args:
        book: the formula's tape.
        answers: the reference's outputs and the formula's.
        problems: outputs that have no counterpart in the formula, or it in them.
        matched: the models as they are.
        outputs: the reference's outputs and the candidate's.
        verdict: of the two models. Models that agree are right or wrong together.
    """
    reference, candidate = matched.reference.tape, matched.side.tape
    run = candidate.replay("float64", matched.given)
    candidates = {pair.reference: pair.candidate for pair in outputs}
    problems = list(problems)
    rows = []
    for pair in answers:
        answer = np.asarray(book.recorded[pair.candidate])
        own = _hold(answer, reference, matched.reference.run, pair.reference)
        other = candidates.get(pair.reference)
        held = None if other is None else _hold(answer, candidate, run, other)
        rows.append(FormulaRow(pair.name, answer.shape, own, held))
        for model, one in ((reference.model, own), (candidate.model, held)):
            if one is not None and one.residual is None:
                problems.append(
                    f"the formula has another shape: {book.model} gives {answer.shape}, {model} "
                    f"{one.shape} for output {pair.name!r}"
                )
    return ByFormula(book.model, _right(rows, verdict), tuple(rows), tuple(problems))


def _right(rows: Sequence[FormulaRow], verdict: str) -> Right:
    """Which model is right in all outputs: models that agree are right or wrong together."""
    both = (
        _all([row.reference.right for row in rows]),
        _all([row.candidate.right if row.candidate else None for row in rows]),
    )
    if True in both and verdict == "parity":
        both = True, True
    elif True in both and verdict == "diverged" and all(row.candidate for row in rows):
        both = both[0] or False, both[1] or False
    return _RIGHT.get(both, "unknown")


_RIGHT: Mapping[tuple[bool | None, bool | None], Right] = {
    (True, True): "both",
    (True, False): "reference",
    (False, True): "candidate",
    (False, False): "neither",
}


def _all(right: Sequence[bool | None]) -> bool | None:
    """False if one is wrong; None if one is not known, or there are none."""
    if False in right:
        return False
    return True if right and None not in right else None


def _hold(answer: Array, tape: Tape, run: Replay, value: int) -> Held:
    """One output of a model against the formula's answer."""
    recorded = tape.adapter.to_numpy(tape.recorded[value])
    if recorded.shape != answer.shape:
        return Held(recorded.shape, None, None, None)
    left, as_ran = residual(answer, run.array(value)), residual(answer, recorded)
    leaves = [leaf.id for leaf in tape.values if leaf.op < 0 and leaf.kind != "input"]
    explained = explained_by_constants(tape, run, tape.ops, leaves, value, left)
    right = left <= explained or is_rounding(left, as_ran)
    return Held(recorded.shape, left, as_ran, right and not _masks_differ(answer, recorded))


def _masks_differ(answer: Array, recorded: Array) -> bool:
    """Whether one is NaN or infinite where the other is not, in the precision of the model."""
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite there by right
        here = answer.astype(recorded.dtype) if recorded.dtype.kind == "f" else answer
    return bool(count_mask_differences(mask_sentinels(here), mask_sentinels(recorded)))
