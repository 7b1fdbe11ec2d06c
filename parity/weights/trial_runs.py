"""Tries ways to pair weights: writes each, and runs both models to see whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from parity.comparison import compare
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.unread_inputs import noted_only
from parity.diagnosis.unshared import after_a_transfer
from parity.errors import ParityError
from parity.inputs.layout_advice import record
from parity.inputs.preprocessing import plain
from parity.model import Inputs, Model
from parity.numerics.difference import residual
from parity.report.report import Report
from parity.tape import Array, Tape
from parity.weights.pairing import Pairing, Side
from parity.weights.probe_inputs import inputs_for
from parity.weights.remarks import other_epsilons
from parity.weights.writing import write

_FAR = 0.05  # of an output's size: far more than rounding leaves of any model but a chaotic one
_NEAR = 1e-4  # what rounding leaves, and no wrong weights
_MORE = 12  # ways that are tried after one that leaves something over
_BRIEFLY = 0.1  # seconds for what differs, of ways after the first


def in_inference(models: tuple[Model, Model]) -> tuple[Model, Model]:
    """Both models as they compute in inference."""
    return replace(models[0], mode="eval"), replace(models[1], mode="eval")


@dataclass
class Trial:
    """Two models that pairings of their tensors are tried on.

    Attributes:
        sides: of the source and of the target.
        adapt: whether a variance takes up another epsilon.
    """

    models: tuple[Model, Model]
    sides: tuple[Side, Side]
    inputs: Inputs
    adapt: bool

    def first_that_agrees(
        self, ways: Iterable[Pairing], put_back: Callable[[], None]
    ) -> tuple[Report, Pairing]:
        """Writes one pairing after another until both models agree; else puts the old values back.

        Returns:
            The comparison and the pairing; of the first one where none agrees. One whose outputs
            are the same ends it too, if all that is open is how much that proves.
        """
        first: Pairing | None = None
        report: Report | None = None  # of the first
        more = _MORE
        later: list[Pairing] = []  # whose outputs are neither near nor far: of a chaotic model
        apart = self._outputs_apart()

        def agrees(way: Pairing, gap: float | None) -> Report | None:
            nonlocal report
            found = self._compared(way, None if way is first else _BRIEFLY)
            if way is first:
                report = found
            elif found.verdict == "unverified":  # for want of time, it may be
                found = self._compared(way)
            same = gap is not None and gap <= _NEAR and not way.left[1]
            agree = found.verdict == "parity" or found.verdict == "unverified" and same
            return found if agree else None

        agreeing: tuple[Report, Pairing] | None = None  # that leaves tensors of both over
        for way in ways:
            if agreeing is not None and (more := more - 1) < 0:
                break
            first = first or way
            self._write(way)
            gap = apart()
            if gap is not None and _NEAR < gap <= _FAR:
                later.append(way)
            elif gap is None or gap <= _NEAR:
                found = agrees(way, gap)
                if found is not None and not all(way.left):
                    return found, way
                if agreeing is None and found is not None:
                    agreeing = found, way
            put_back()
        if agreeing is not None:
            self._write(agreeing[1])
            return agreeing
        for way in later:
            self._write(way)
            found = agrees(way, None)
            if found is not None:
                return found, way
            put_back()
        assert first is not None
        if report is None:  # why they diverge is asked only where no way leads to agreement
            self._write(first)
            report = self._compared(first)
            if report.verdict != "parity":
                put_back()
        return report, first

    def _write(self, way: Pairing) -> None:
        other_epsilons(*self.sides, way, self.adapt)
        write(*self.sides, way)

    def _compared(self, way: Pairing, seconds: float | None = None) -> Report:
        """The comparison; of `seconds`, where nobody reads why the two diverge."""
        with noted_only() as notes:
            found = compare(*self.models, inputs=self.inputs, seconds=seconds)
            report = after_a_transfer(found)
        way.notes += notes if report.verdict == "parity" else []
        return report

    def _outputs_apart(self) -> Callable[[], float | None]:
        """Says without a comparison how far the outputs of the two are apart now, of their size.

        None where that is not known: of models that draw, and of what cannot be subtracted.
        """
        tapes = [side.tape for side in self.sides]
        pairs, _ = pair_outputs(*tapes)
        named = [{value: name for name, value in tape.outputs.items()} for tape in tapes]
        runs = [plain(model, as_called=True) for model in self.models]
        given = [inputs_for(model, self.models[0], self.inputs) for model in self.models]
        draw = any(tape.lost_draws or any(op.role == "random" for op in tape.ops) for tape in tapes)
        wanted = {} if draw else runs[0](given[0])

        def apart() -> float | None:
            try:
                found = runs[1](given[1]) if wanted else {}
            except ParityError:  # a comparison gives it the inputs in the container that it reads
                return None
            gaps = [
                _gap(wanted[source], found[target])
                for pair in pairs
                if (source := named[0].get(pair.reference)) in wanted
                and (target := named[1].get(pair.candidate)) in found
            ]
            known = [gap for gap in gaps if gap is not None]
            far = max(known, default=0.0)
            return far if far > _FAR or gaps and len(known) == len(pairs) else None

        return apart

    def verdict(self, report: Report, way: Pairing) -> str:
        """What is proved, in inference too where the models were compared in training.

        In training no statistics are read.
        """
        if report.verdict != "parity" or all(model.mode != "train" for model in self.models):
            return report.verdict
        models = in_inference(self.models)
        if self._has_other_outputs(models):  # as a policy that has no value where it only acts
            return "parity"
        with noted_only():
            found = compare(*models, inputs=self.inputs)
        if found.verdict == "parity":
            return "parity"
        way.notes.append(
            "in training the two agree, in inference they do not: what is read there alone, as "
            f"running statistics, is not proved ({found.comparisons[0].reasons[0]})"
        )
        return "unverified"

    def _has_other_outputs(self, models: tuple[Model, Model]) -> bool:
        """Whether inference has no pairs of outputs, and reads nothing but what training shows.

        Args:
            models: as they compute in inference.
        """
        inferring = self._tapes(models)
        if not pair_outputs(*inferring)[1]:
            return False
        both = zip(inferring, self._tapes(self.models), strict=True)
        return all(_shown(one) <= _shown(other) for one, other in both)

    def _tapes(self, models: tuple[Model, Model]) -> list[Tape]:
        given = [inputs_for(model, models[0], self.inputs) for model in models]
        return [record(model, models[0], one)[1] for model, one in zip(models, given, strict=True)]


def _shown(tape: Tape) -> set[str]:
    """The names of the tensors that outputs show.

    Of parameters those on the way to them; of buffers those that change them, as running
    statistics do not in training.
    """
    leaves = [value for value in tape.values if tape.graph.is_used(value.id)]
    return {
        leaf.name
        for leaf in leaves
        if leaf.kind == "parameter" or leaf.kind == "buffer" and _changes(tape, leaf.id)
    }


def _changes(tape: Tape, buffer: int) -> bool:
    """Whether outputs change with the contents of a buffer."""
    held = tape.recorded_array(buffer)
    before = tape.outputs_of(None)
    after = tape.outputs_of(None, {buffer: np.asarray(1.5 * held + 1, held.dtype)})
    return any(
        not np.array_equal(one, after[name], equal_nan=one.dtype.kind in "fc")
        for name, one in before.items()
    )


def _gap(one: Array, other: Array) -> float | None:
    comparable = one.shape == other.shape and one.dtype.kind == other.dtype.kind == "f"
    if not comparable or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return None
    return residual(one, other)
