"""Both models run plainly, without being recorded: is a difference larger than rounding?

The answer is a suspicion and no verdict. What rounding leaves is measured for these models: how far
their working precision is from float64 on a batch of observations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.distribution_laws import are_in_one_law
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.region import OutputPair
from parity.errors import ParityError
from parity.inputs.fitting import fitted
from parity.inputs.preprocessing import plain
from parity.model import Inputs, Model, as_arrays, lay_out
from parity.numerics.difference import as_real, count_mask_differences, mask_sentinels
from parity.numerics.limits import U32
from parity.tape import Array, Tape

Outputs = dict[str, Array]
# Another order of summation alone may leave a few roundings of the output.
_LEAST = 4 * U32


@dataclass(frozen=True)
class Floor:
    """What rounding leaves in an output: over a row's largest number, and by itself."""

    relative: float
    absolute: float


@dataclass(frozen=True)
class _Pair:
    """A candidate's plain run, and which of its outputs is which of the reference's."""

    run: Callable[[Inputs], Outputs]
    names: Mapping[str, tuple[str, Floor]]  # the reference's name: the candidate's, and the floor
    unpaired: frozenset[str]


class PlainRuns:
    """A reference and its candidates, ready to be run on many observations."""

    def __init__(
        self,
        reference: Callable[[Inputs], Outputs],
        pairs: Sequence[_Pair],
        usual: Mapping[str, float],
    ) -> None:
        self._reference = reference
        self._pairs = pairs
        self._usual = usual
        self.reach = 0.0

    def excess(self, inputs: Inputs) -> float:
        """The largest difference in any row of any output, in units of what rounding leaves.

        Inf where outputs cannot be subtracted, or a model raised. `reach` is afterwards how large
        the reference's outputs were, in units of what is usual.
        """
        self.reach = 0.0
        try:
            reference = self._reference(inputs)
            self.reach = max(
                (_size(reference[name]) / usual for name, usual in self._usual.items()), default=0.0
            )
            return max(_excess_of(pair, reference, pair.run(inputs)) for pair in self._pairs)
        except ParityError:
            return float("inf")


def plain_runs(models: Sequence[Model], inputs: Inputs) -> PlainRuns | None:
    """The plain runs of models, with their rounding measured on `inputs`.

    Returns:
        None where a model draws random numbers, gives other outputs when it is run again, has
        outputs without a counterpart, or distributions that are given by other parameters: there a
        plain run shows nothing.
    """
    tapes, runs = [], []
    for model in models:
        given = _inputs_of(model, models[0], inputs)
        model, tape = fitted(model, models[0], given)
        if any(op.role == "random" for op in tape.ops):
            return None
        run = _plain(model, models[0])
        if not _repeats(run, inputs, tape):
            return None
        tapes.append(tape)
        runs.append(run)
    wide = [_in_float64(tape) for tape in tapes]
    pairs = []
    for run, tape, exact in zip(runs[1:], tapes[1:], wide[1:], strict=True):
        paired, problems = pair_outputs(tapes[0], tape)
        differ = any(_shape_differs(tapes[0], tape, one) for one in paired)
        if problems or not paired or differ or not are_in_one_law(tapes[0], tape):
            return None
        outputs = {value: name for name, value in tape.outputs.items()}
        names = {}
        for name, value in tapes[0].outputs.items():
            partner = next(pair.candidate for pair in paired if pair.reference == value)
            floor = _floor([(tapes[0], wide[0], value), (tape, exact, partner)])
            names[name] = (outputs[partner], floor)
        unpaired = frozenset(tape.outputs) - {other for other, _ in names.values()}
        pairs.append(_Pair(run, names, unpaired))
    first = {name: _recorded(tapes[0], value) for name, value in tapes[0].outputs.items()}
    usual = {name: size for name, array in first.items() if (size := _size(array)) > 0}
    return PlainRuns(runs[0], pairs, usual)


def _shape_differs(reference: Tape, candidate: Tape, pair: OutputPair) -> bool:
    return reference.values[pair.reference].shape != candidate.values[pair.candidate].shape


def _size(array: Array) -> float:
    """The largest finite value of an output; 0 where it holds no floats."""
    if array.dtype.kind != "f":
        return 0.0
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _inputs_of(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    return lay_out(as_arrays(inputs), reference.input_layout, model.input_layout)


def _plain(model: Model, reference: Model) -> Callable[[Inputs], Outputs]:
    run = plain(model)
    return lambda inputs: run(_inputs_of(model, reference, inputs))


def _repeats(run: Callable[[Inputs], Outputs], inputs: Inputs, tape: Tape) -> bool:
    """Whether a model gives, run plainly, what it gave when it was recorded."""
    again = run(inputs)
    return again.keys() == tape.outputs.keys() and all(
        np.array_equal(
            _recorded(tape, tape.outputs[name]), array, equal_nan=array.dtype.kind == "f"
        )
        for name, array in again.items()
    )


def _recorded(tape: Tape, value: int) -> Array:
    return tape.adapter.to_numpy(tape.recorded[value])


def _in_float64(tape: Tape) -> dict[int, Array] | None:
    """The outputs in float64 by their value; None where the tape cannot be replayed."""
    try:
        run = tape.replay("float64")
    except ParityError:
        return None
    return {value: run.array(value) for value in tape.outputs.values()}


def _floor(sides: Sequence[tuple[Tape, dict[int, Array] | None, int]]) -> Floor:
    """What both models' rounding adds up to in the middle one of the rows."""
    relative = absolute = 0.0
    for tape, exact, value in sides:
        if exact is None:
            continue
        rows = _rows(exact[value], _recorded(tape, value))
        if rows is None or not rows[0].size:
            continue
        gaps, scales = rows
        absolute += float(np.median(gaps))
        sized = scales > 0
        if sized.any():
            relative += float(np.median(gaps[sized] / scales[sized]))
    return Floor(max(relative, _LEAST), absolute)


def _excess_of(pair: _Pair, reference: Outputs, candidate: Outputs) -> float:
    expected = {other for other, _ in pair.names.values()} | pair.unpaired
    if reference.keys() != pair.names.keys() or candidate.keys() != expected:
        return float("inf")  # other outputs than those that were paired
    found = 0.0
    for name, (other, floor) in pair.names.items():
        rows = _rows(reference[name], candidate[other])
        if rows is None:
            return float("inf")
        gaps, scales = rows
        allowed = np.maximum(floor.relative * scales, floor.absolute)
        differing = gaps > 0
        if (allowed[differing] <= 0).any():
            return float("inf")
        found = max(found, float((gaps[differing] / allowed[differing]).max(initial=0.0)))
    return found


def _rows(a: Array, b: Array) -> tuple[Array, Array] | None:
    """For each row of the first axis the largest difference and the largest magnitude.

    None where they cannot be subtracted: other shapes or masks, or integers that are not equal.
    """
    if a.shape != b.shape:
        return None
    if a.dtype.kind not in "fc":
        same = np.array_equal(a, b)
        return (np.zeros(0), np.zeros(0)) if same else None
    rows = len(a) if a.ndim and len(a) else 1
    x, y = (mask_sentinels(as_real(np.ascontiguousarray(one).ravel())) for one in (a, b))
    if x.shape != y.shape or count_mask_differences(x, y):
        return None
    finite = np.isfinite(x)
    x, y = (np.where(finite, one, 0).astype(np.float64).reshape(rows, -1) for one in (x, y))
    return np.abs(x - y).max(axis=1, initial=0.0), np.abs(x).max(axis=1, initial=0.0)
