"""Comparisons that would prove nothing: what agrees there carries no information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.region import OutputPair
from parity.matching.match import Match
from parity.numerics.limits import U32, UNITS
from parity.result import Coverage
from parity.tape import Array, Op

# Replays have more digits than a narrow format keeps, and all that float32 keeps are compared.
_UNITS = {**dict.fromkeys(UNITS, U32), "float64": 2.0**-53}


def vacuous(matched: Match, outputs: Sequence[OutputPair], coverage: Coverage) -> list[str]:
    """Why the comparison would prove nothing, if so.

    Args:
        coverage: how many of the values inside have partners.
    """
    found = []
    reference = matched.reference
    if reference.tape.gradients:
        gradients = [pair for pair in outputs if pair.name in reference.tape.gradients]
        outputs = [pair for pair in outputs if pair not in gradients]
        if not any(reference.informative(pair.reference) for pair in gradients):
            found.append(
                "the gradients hold too few distinct values to be evidence of anything: nothing "
                "leads back from the outputs, or what does is zero; compare without gradients=True"
            )
    inputs = [reference.array(value) for value in reference.tape.given.values()]
    if inputs and all(array.min() == array.max() and array.size > 1 for array in inputs):
        found.append(
            f"every input is constant (all {inputs[0].flat[0]:g}): most faults cannot show; "
            "use distinct, signed inputs"
        )
    if outputs and not any(reference.informative(pair.reference) for pair in outputs):
        if not any(matched.side.informative(pair.candidate) for pair in outputs):
            found.append("the outputs hold too few distinct values to be evidence of anything")
    if not outputs:
        found.append("no output was compared")
    elif not any(
        reference.tape.is_live(pair.reference) or matched.side.tape.is_live(pair.candidate)
        for pair in outputs
    ):
        found.append("no output depends on the inputs, as far as operations were recorded")
    elif not found and _one_for_all_samples(matched, outputs):
        found.append(
            "every output is one for all samples, though the inputs are not: what computes it "
            "does not show, as behind a dead ReLU; use other inputs"
        )
    elif not found and _hidden_by_rounding(matched, outputs, coverage):
        found.append(
            "every output is one number, or one for all samples, but for rounding: what computes "
            "it does not show, as where logits next to zero go into a softmax, and "
            f"{coverage.reference_matched} of {coverage.reference_values} values inside agree; "
            "use other inputs or weights"
        )
    return found


def _one_for_all_samples(matched: Match, outputs: Sequence[OutputPair]) -> bool:
    """Whether samples that differ give the same, and what last differs by sample has no partner."""
    side = matched.reference
    inputs = [side.array(value) for value in side.tape.given.values()]
    lengths = {len(array) if array.ndim else 0 for array in inputs}
    if len(lengths) != 1 or min(lengths) < 2 or all(map(_rows_are_one, inputs)):
        return False
    (count,) = lengths

    def has_samples(value: int) -> bool:
        return side.array(value).shape[:1] == (count,)

    def differs_by_sample(value: int) -> bool:
        return has_samples(value) and not _rows_are_one(side.array(value))

    ends = [pair.reference for pair in outputs]
    if not all(has_samples(value) and not differs_by_sample(value) for value in ends):
        return False
    return _is_behind(matched, outputs, differs_by_sample)


def _hidden_by_rounding(matched: Match, outputs: Sequence[OutputPair], coverage: Coverage) -> bool:
    """Whether outputs are one number or row in float32, and few of the values inside met."""
    if coverage.reference_matched > limits.NEARLY_ALL_MATCHED * coverage.reference_values:
        return False
    side = matched.reference

    def is_one(value: int) -> bool:
        array = side.array(value)
        array = array.astype(np.int8) if array.dtype == bool else array
        rows = array if array.ndim > 1 and len(array) > 1 else array.reshape(-1)
        unit = _UNITS.get(side.tape.values[value].dtype, 0.0)
        with np.errstate(all="ignore"):  # of each element a few roundings
            allowed = limits.UNIFORM_ROUNDINGS * unit * np.abs(rows[:1])
            near = np.abs(rows - rows[:1]) <= allowed
        return bool((near | (rows == rows[:1])).all())

    ends = [pair.reference for pair in outputs]
    if not all(side.array(value).size > 1 and is_one(value) for value in ends):
        return False
    return _is_behind(matched, outputs, lambda value: not is_one(value))


def _is_behind(
    matched: Match, outputs: Sequence[OutputPair], informative: Callable[[int], bool]
) -> bool:
    """Whether the last values that vary, before outputs that do not, have no partner."""
    side = matched.reference
    ends = {pair.reference for pair in outputs}
    partners = matched.by_reference
    varies = cache(informative)

    def is_uniform(value: int, op: Op) -> bool:
        return value in ends or not op.static and not varies(value)

    return any(
        op is not None and not op.static and not is_uniform(value, op) and value not in partners
        for value, op in side.tape.graph.backward(ends, is_uniform)
    )


def _rows_are_one(array: Array) -> bool:
    return bool((array == array[:1]).all())
