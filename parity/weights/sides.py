"""Two models as their tensors are paired: their programs, tensors, and inputs numbered alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from parity.diagnosis.output_pairs import pair_outputs
from parity.frameworks import load
from parity.inputs.preprocessing import plain
from parity.model import Inputs, Model, lay_out
from parity.tape import Array, Tape
from parity.weights.channel_order import moved_as
from parity.weights.pairing import Side, numbered


def as_sides(
    models: Sequence[Model], tapes: tuple[Tape, Tape], given: Sequence[Inputs]
) -> tuple[Side, Side]:
    """Both models, of which these are recordings on these inputs."""
    first, second = tapes
    pairs, _ = pair_outputs(first, second)
    outputs = (
        {pair.reference: f"output {n}" for n, pair in enumerate(pairs)},
        {pair.candidate: f"output {n}" for n, pair in enumerate(pairs)},
    )
    elements = _elements(models, first, second)
    runs = [
        partial(plain(model, as_called=True), own) for model, own in zip(models, given, strict=True)
    ]
    sides = [
        Side(tape, load(model.framework).tensors(model.obj), named, own, run)
        for tape, model, named, own, run in zip(
            (first, second), models, outputs, elements, runs, strict=True
        )
    ]
    return sides[0], sides[1]


def _elements(
    models: Sequence[Model], first: Tape, second: Tape
) -> tuple[dict[int, Array], dict[int, Array]]:
    """The elements of both models' inputs, numbered alike."""
    source: dict[int, Array] = {}
    target: dict[int, Array] = {}
    start = 0
    # inputs in their order: names may differ, as two signatures do
    for one, other in zip(first.inputs.values(), second.inputs.values(), strict=False):
        own = source[one] = numbered(first.values[one].shape) + start
        contents = first.adapter.to_numpy(first.recorded[one])
        found = moved_as(own, contents, second.adapter.to_numpy(second.recorded[other]))
        if found is None:
            laid_out = lay_out(own, models[0].input_layout, models[1].input_layout)
            found = laid_out if laid_out.shape == second.values[other].shape else None
        if found is not None:
            target[other] = found
        start += own.size
    return source, target
