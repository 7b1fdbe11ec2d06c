"""The rows of outputs, and the model that differs from all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.numerics.difference import measure
from parity.result import Comparison, OutputRow
from parity.rl.decisions import decide
from parity.tape import Array, Tape

if TYPE_CHECKING:
    from parity.diagnosis.region import OutputPair
    from parity.matching.match import Indexed


def odd_one_out(reference: str, comparisons: Sequence[Comparison]) -> str | None:
    """The model that differs from all others, where there are three or more."""
    if len(comparisons) < 2:
        return None
    diverged = [found for found in comparisons if found.verdict == "diverged"]
    if len(diverged) == 1 and all(
        found.verdict == "parity" for found in comparisons if found is not diverged[0]
    ):
        return diverged[0].candidate.name
    if len(diverged) == len(comparisons) and _agree([found.final_values for found in comparisons]):
        return reference
    return None


def _agree(values: Sequence[Mapping[str, Array]]) -> bool:
    """Whether the candidates' outputs agree with one another in float64."""
    first = values[0]
    return all(
        other.keys() == first.keys()
        and all(
            other[name].shape == first[name].shape
            and np.allclose(other[name], first[name], rtol=1e-6, atol=1e-9, equal_nan=True)
            for name in first
        )
        for other in values[1:]
    )


def output_rows(
    reference: Indexed,
    candidate: Tape,
    pairs: Sequence[OutputPair],
    verdicts: Mapping[str, str],
    lay: Callable[[OutputPair, Array], Array | None],
) -> tuple[OutputRow, ...]:
    """The outputs in the working precision.

    Args:
        verdicts: by name.
        lay: lays a candidate's output out as the reference's; None where its shape is another.
    """
    rows = []
    for pair in pairs:
        first = reference.tape.adapter.to_numpy(reference.tape.recorded[pair.reference])
        second = candidate.adapter.to_numpy(candidate.recorded[pair.candidate])
        difference = decisions = None
        is_gradient = pair.name in reference.tape.gradients
        laid_out = lay(pair, second)
        if laid_out is not None and laid_out.shape == first.shape:
            difference = measure(first, laid_out)
            if not is_gradient:
                decisions = decide(first, laid_out, reference.array(pair.reference))
        shapes = first.shape, second.shape
        verdict = verdicts[pair.name]
        rows.append(OutputRow(pair.name, verdict, *shapes, difference, decisions, is_gradient))
    return tuple(rows)
