"""Brings the weights of one model into another, and proves it by running both."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parity.atomic import write_json
from parity.diagnosis.weights_alone import with_learned_inputs
from parity.errors import FileError, InputError
from parity.frameworks.invoke import own_arithmetic
from parity.inputs.layout_advice import record
from parity.keeping import lost, reporting_losses
from parity.model import Inputs, Model, wrap
from parity.progress import say
from parity.report.report import Report
from parity.weights.by_effect import ROLE, with_effects
from parity.weights.file_pairing import pair_file
from parity.weights.file_tensors import FileTensors
from parity.weights.files import WeightFile, read_weights
from parity.weights.hints import hints
from parity.weights.mapped import by_map, read_map, with_the_last
from parity.weights.pairing import Pairing, Side, pairings
from parity.weights.probe_inputs import inputs_for, side_of, with_layouts
from parity.weights.remarks import other_momenta, own_buffers, unmoved, unproved
from parity.weights.saving import fill
from parity.weights.sides import as_sides
from parity.weights.table import Table, tabulate
from parity.weights.tensors import Tensor, collision_notes
from parity.weights.trial_runs import Trial, in_inference
from parity.weights.writing import write


@dataclass(frozen=True)
class Transfer:
    """What became of a transfer.

    Attributes:
        verdict: of the comparison afterwards: `parity`, `diverged` or `unverified`.
        report: that comparison; None where the source is a file without its model.
        table: what was written where, and how.
        written: whether the target has the new weights; it has its own where the two diverged,
            unless the transfer was forced.
        pairing: the map, to be saved or edited.
        hints: what would help where the two diverged, in sentences.
    """

    verdict: str
    report: Report | None
    table: Table
    written: bool
    pairing: Pairing
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        why = "" if self.report is None or self.verdict == "parity" else f"\n\n{self.report}"
        return self.summary() + why

    def summary(self) -> str:
        """The verdict, the table and what would help; without the report, which says why."""
        parts = [f"{self._headline()}\n\n{self.table}"]
        if self.hints:
            parts.append("\n".join(["what would help:", *(f"  - {hint}" for hint in self.hints)]))
        return "\n\n".join(parts)

    def to_markdown(self) -> str:
        hints = "".join(f"- {hint}\n" for hint in self.hints)
        text = f"**{self._headline()}**\n\n{self.table.to_markdown()}"
        return f"{text}\nWhat would help:\n\n{hints}" if hints else text

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "written": self.written,
            "map": self.pairing.to_map(),
            "table": self.table.to_dict(),
            "hints": list(self.hints),
            "report": self.report.to_dict() if self.report is not None else None,
        }

    def save_map(self, path: str | Path) -> None:
        """Writes the map as JSON, to be edited and passed back."""
        write_json(path, self.pairing.to_map())

    def _headline(self) -> str:
        count = sum(len(row.target) for row in self.table.rows)
        headline = (
            f"{self.verdict}: {count} tensors of {self.table.source} into {self.table.target}"
        )
        if not self.written:
            return f"{headline}; the target is left as it was"
        return f"{headline}; written all the same" if self.verdict == "diverged" else headline


@own_arithmetic()
@reporting_losses()
def transfer(
    source: Any,
    target: Any,
    inputs: Inputs = None,
    map: Mapping[str, Any] | str | Path | None = None,
    source_model: Any = None,
    adapt_variances: bool = False,
    force: bool = False,
) -> Transfer:
    """Writes one model's weights into another of any framework, and compares the two.

    Tensors are paired by what they do in the two programs, whatever their names, order and
    contents, and converted by their role. Where the models then diverge the target is put back, and
    the result says why and what would help.

    Args:
        source: a model of any framework, or `parity.wrap` of one; or the path of a file of
            weights, which is paired by names and shapes, and cannot be proved without its model.
        target: the model that is written to, in place.
        inputs: as for `compare`; random ones where a model states its shapes.
        map: which tensors belong together, as `Transfer.pairing.to_map()` gives it, or the file
            that it was saved to, or one in TOML that says the same.
        source_model: the model that a file was saved from; it gets the file's weights.
        adapt_variances: whether a batch norm whose epsilon is another gets the difference added to
            its variance: it then computes the same in inference, and trains otherwise.
        force: whether to write what was paired where the models diverge, too; what has no partner
            stays as it was. The verdict is the same.

    Raises:
        ParityError: as for `compare`; or the map does not fit the models.
    """
    if source_model is not None and not isinstance(source, (str, Path)):
        raise InputError("source_model: only for a file; this source is a model itself.")
    if isinstance(source, (str, Path)) and source_model is None:
        return _from_file(read_weights(source), wrap(target), inputs, map)
    models, inputs, note = _both_models(source, target, inputs, source_model)
    say(f"pairing the weights of {models[0].name} and {models[1].name}")
    first, second = _as_paired(models, inputs)
    if map is not None:
        ways, by_effect = by_map(first, second, read_map(map), leave=ROLE)
    else:
        ways, by_effect = with_the_last(first, second, pairings(first, second)), True
    if by_effect:
        ways = with_effects(first, second, ways)
    trial = Trial(models, (first, second), inputs, adapt_variances)
    with _kept(second.tensors) as put_back:
        report, way = trial.first_that_agrees(ways, put_back)
        verdict, written = trial.verdict(report, way), force or report.verdict != "diverged"
        if report.verdict != "parity" and written:
            write(first, second, way)
    unlike = unmoved(first, second, way) if verdict == "parity" else ""
    way.notes += [one for one in (unlike, note) if one]
    if report.verdict == "parity":
        way.notes += [*unproved(second, way), *own_buffers(first, second, way)]
    way.notes += other_momenta(first, second, way)
    _note_models(models, (first, second), way)
    table = tabulate(first, second, way, (models[0].name, models[1].name))
    helpful = hints(report, second, way, adapt_variances, written, bool(unlike))
    return Transfer("unverified" if unlike else verdict, report, table, written, way, helpful)


def _both_models(
    source: Any, target: Any, inputs: Inputs, source_model: Any
) -> tuple[tuple[Model, Model], Inputs, str]:
    """The models, the source's filled from its file if there is one; inputs; and a note on them."""
    if not isinstance(source, (str, Path)):
        return with_layouts((wrap(source), wrap(target)), inputs)
    file = read_weights(source)
    models, inputs, note = with_layouts((wrap(source_model), wrap(target)), inputs)
    record(models[0], models[0], inputs_for(models[0], models[0], inputs))  # builds what is lazy
    fill(models[0], file)
    return models, inputs, note


def _from_file(
    file: WeightFile, target: Model, inputs: Inputs, map: Mapping[str, Any] | str | Path | None
) -> Transfer:
    """Writes what a file holds; nothing is there to compare with."""
    side, stored = side_of(target, inputs), FileTensors(file)
    found = pair_file(stored, side, read_map(map) if map is not None else None)
    with _kept(side.tensors):
        write(stored, side, found)
    found.notes.append(
        "not proved, as a file cannot be run: give the model that it was saved from too "
        "(source_model=, --source-model), and both are run"
    )
    _note_models([target], [side], found)
    table = tabulate(stored, side, found, (file.path.name, target.name))
    return Transfer("unverified", None, table, True, found)


@contextmanager
def _kept(tensors: Sequence[Tensor]) -> Iterator[Callable[[], None]]:
    """Keeps a model's contents in a file; gives what puts them back, as any error does."""
    with tempfile.TemporaryFile(buffering=0) as before:  # unbuffered: NumPy copies nothing
        try:
            for tensor in tensors:
                np.save(before, tensor.read(), allow_pickle=False)
        except OSError as error:
            raise FileError(
                f"The target's old weights could not be kept in {tempfile.gettempdir()}: {error}. "
                "Nothing was changed; make room there, or name another folder in TMPDIR."
            ) from error

        def put_back() -> None:
            before.seek(0)
            for tensor in tensors:
                tensor.write(np.load(before, allow_pickle=False))

        try:
            yield put_back
        except BaseException:
            put_back()
            raise


def _note_models(models: Sequence[Model], sides: Sequence[Side], found: Pairing) -> None:
    """Notes what running the models has changed for good, and the names that collide in them."""
    for model, side in zip(models, sides, strict=True):
        found.notes += [*lost(model.obj, model.name), *collision_notes(model.name, side.tensors)]


def _as_paired(models: tuple[Model, Model], inputs: Inputs) -> tuple[Side, Side]:
    """Both models as their tensors are paired: in inference, where statistics are read.

    As they are where a tensor is read in training alone.
    """
    found = _sides(models, inputs)
    if all(model.mode == "eval" for model in models):
        return found
    inference = _sides(in_inference(models), inputs)
    for one, other in zip(found, inference, strict=True):
        # tensors that can be paired, as a count of batches cannot
        names = {name for part in one.all_parts() for name in one.names(part)}
        if not names <= other.read():
            return found
    return inference


def _sides(models: tuple[Model, Model], inputs: Inputs) -> tuple[Side, Side]:
    """Both models with their tapes."""
    given = [inputs_for(model, models[0], inputs) for model in models]
    first, second = (
        record(model, models[0], own)[1] for model, own in zip(models, given, strict=True)
    )
    learned = with_learned_inputs(first), with_learned_inputs(second)
    if learned[0] is not first and learned[1] is not second:
        first, second = learned
    sides = as_sides(models, (first, second), given)
    for tape in (first, second):
        for value in tape.values:
            if value.kind in ("parameter", "buffer"):  # recorded, they would keep old contents
                tape.recorded.pop(value.id, None)
    return sides
