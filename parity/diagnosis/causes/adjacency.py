"""A matrix of the code, as the adjacency of a graph, is read transposed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import MATRICES_TURNED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.operations import PRODUCTS
from parity.tape import Array, Op


@cause("axis-order", tier=1)
@first_fitting
def matrix_transposed(case: Case) -> Iterator[Explanation]:
    """A square matrix that the code holds is multiplied by as its transpose.

    Looks like: messages of a graph that run against its edges.
    Proof: one side's operations with the matrix transposed, or with each that one line reads, give
        the other side's value.
    """
    for side in sides(case)[::-1]:
        found = _matrices(side)
        lines: dict[tuple[str, tuple[int, ...]], list[tuple[int, Op]]] = {}
        for value, op in found:
            alike = op.site.source, side.view.tape.values[value].shape
            lines.setdefault(alike, []).append((value, op))
        for some in (*([one] for one in found), *(ones for ones in lines.values() if ones[1:])):
            shape, op = side.view.tape.values[some[0][0]].shape, some[0][1]
            axes = len(shape) - 2, len(shape) - 1
            at = op.site.source.rsplit("/", 1)[-1]
            many = f"the {len(some)} matrices" if some[1:] else "the matrix"
            are = "are" if some[1:] else "is"
            yield side.changed(
                Explanation(
                    "axis-order",
                    f"{many} of {shape} that {op.kind} reads"
                    f"{f' at {at}' if at else ''} {are} the transpose of the reference's"
                    if side.is_candidate
                    else f"{many} of {shape} that {op.kind} reads in the reference "
                    f"{are} transposed here",
                    partial(_transposed, side, [value for value, _ in some]),
                    parameters={"axes": (axes, axes[::-1])},
                    places=(None, op) if side.is_candidate else (op, None),
                )
            )


def _matrices(side: CaseSide) -> list[tuple[int, Op]]:
    """Square matrices that no layer owns, and that are no symmetric ones, with what reads them."""
    tape, found = side.view.tape, dict[int, Op]()
    for op in side.view.ops:
        for value in op.inputs if op.word in PRODUCTS else ():
            if tape.is_live(value) or any(
                tape.values[leaf].kind == "parameter" for leaf in tape.graph.leaves([value])
            ):
                continue
            array = side.model.run.array(value)
            square = array.ndim > 1 and array.shape[-1] == array.shape[-2]
            if square and not np.array_equal(array, np.swapaxes(array, -1, -2)):
                found.setdefault(value, op)
    return list(itertools.islice(found.items(), MATRICES_TURNED))


def _transposed(side: CaseSide, values: Sequence[int], trial: Trial) -> Array:
    arrays = (side.model.run.array(value) for value in values)
    turned = {v: np.swapaxes(a, -1, -2) for v, a in zip(values, arrays, strict=True)}
    return side.run(trial.given, turned)
