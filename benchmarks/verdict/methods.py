"""Other people's rules for 'these two models differ', on the same runs as parity's verdict.

allclose        |a - b| <= 1e-5 + 1e-5 |b| for every output value
assert_close    `torch.testing.assert_close` with its defaults, which go by the dtype
float64 rule    `torch._dynamo.utils.same`, PyTorch's check of its compiler: allclose at 1e-4, or
                RMSE(candidate, float64) <= k RMSE(reference, float64) + 1e-5, k = 2 or 3, where
                float64 is the reference in float64
CRADLE          (Pham et al., ICSE 2019) for layer l, d(l) = mean |a - b|, the rate of change is
                R(l) = (d(l) - d) / (d + 1e-7), d the largest of the layers before; a layer with
                R > 1 more than doubles the difference. The paper ranks layers, and cuts nowhere
Muffin          (Gu et al., ICSE 2022) layer l is at fault when max |a - b| > 0.15 there and < 1e-5
                in every layer before

Layers are taken as finely as can be: every operation whose result has a partner, with parity's own
pairs and axis orders, which neither tool would find by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._dynamo.utils import same

from benchmarks.corpus.scenarios.pair import Pair
from parity.diagnosis.locate import locate
from parity.diagnosis.output_pairs import pair_outputs
from parity.frameworks import load
from parity.matching.match import Indexed, match
from parity.tape import Site, Tape

logging.getLogger("torch._dynamo.utils").setLevel(logging.CRITICAL)
CRADLE_RATE = 1.0
CRADLE_FLOOR = 1e-7
MUFFIN_FAULT, MUFFIN_BEFORE = 0.15, 1e-5


@dataclass(frozen=True)
class Layer:
    """How much a layer's results differ in the working precision, and where it stands."""

    reference: Site
    candidate: Site
    mean: float
    largest: float


@dataclass(frozen=True)
class Run:
    """Both models' outputs, the reference laid out as the candidate, and their layers."""

    outputs: tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], ...]
    layers: tuple[Layer, ...]
    candidate: Tape


@dataclass(frozen=True)
class Answer:
    """What a rule says: whether the models differ, and where, if it says."""

    differ: bool
    sites: tuple[Site, Site] | None = None
    rate: float = 0.0


def record(pair: Pair, candidate: bool) -> Tape:
    """One side's tape."""
    side = pair.candidate if candidate else pair.reference
    model = side.wrapped()
    inputs = pair.candidate_inputs() if candidate else pair.inputs
    return load(model.framework).record(model, inputs if len(inputs) > 1 else inputs[0])


def run(pair: Pair) -> Run:
    """Runs both models again, beside parity's own comparison."""
    reference, candidate = record(pair, False), record(pair, True)
    side = Indexed(reference, reference.replay("float64"))
    outputs, _ = pair_outputs(reference, candidate)
    mismatches, repaired = locate(match(side, candidate), outputs)
    partners = {b: (found.reference, found.order) for b, found in repaired.pairs.items()}
    for mismatch in mismatches:
        if mismatch.values is not None and mismatch.order is not None:
            partners[mismatch.values[1]] = (mismatch.values[0], mismatch.order)
    compared, layers = [], []
    for output in outputs:
        right = tensor(reference, output.reference)
        given = tensor(candidate, output.candidate)
        truth = torch.from_numpy(np.array(side.array(output.reference)))
        if right.shape != given.shape and output.candidate in partners:
            order = partners[output.candidate][1]
            right, truth = (
                torch.from_numpy(np.array(order.apply(one.double().numpy()))).to(one.dtype)
                for one in (right, truth)
            )
        compared.append((right, given, truth))
    for op in candidate.ops:
        if op.role == "move" or op.static:
            continue
        for value in op.outputs:
            made = partners.get(value)
            source = reference.producer(made[0]) if made else None
            if made is None or source is None or not candidate.values[value].size:
                continue
            right = made[1].apply(values(reference, made[0]))
            gap = np.abs(right - values(candidate, value))
            gap = gap[np.isfinite(gap)]
            if gap.size:
                layers.append(Layer(source.site, op.site, float(gap.mean()), float(gap.max())))
    return Run(tuple(compared), tuple(layers), candidate)


def values(tape: Tape, value: int) -> np.ndarray:
    return np.asarray(tape.adapter.to_numpy(tape.recorded[value])).astype(np.float64)


def tensor(tape: Tape, value: int) -> torch.Tensor:
    """A recorded value as a torch tensor of its own dtype."""
    array = values(tape, value)
    return torch.from_numpy(array).to(getattr(torch, tape.values[value].dtype))


def allclose(found: Run) -> Answer:
    with np.errstate(all="ignore"):
        return Answer(
            not all(
                a.shape == b.shape
                and np.allclose(b.double(), a.double(), rtol=1e-5, atol=1e-5, equal_nan=True)
                for a, b, _ in found.outputs
            )
        )


def assert_close(found: Run) -> Answer:
    try:
        for a, b, _ in found.outputs:
            torch.testing.assert_close(b, a, equal_nan=True, check_dtype=False)
    except AssertionError:
        return Answer(True)
    return Answer(False)


def float64_rule(found: Run) -> Answer:
    def silent(*_: Any) -> None: ...

    return Answer(
        not all(
            a.shape == b.shape
            and same(a, b, truth, equal_nan=True, exact_dtype=False, log_error=silent)
            for a, b, truth in found.outputs
        )
    )


def cradle(found: Run) -> Answer:
    """Fires where a layer more than doubles the difference; names the layer of the highest rate."""
    before, highest, place = 0.0, 0.0, None
    for layer in found.layers:
        rate = (layer.mean - before) / (before + CRADLE_FLOOR)
        if rate > highest:
            highest, place = rate, (layer.reference, layer.candidate)
        before = max(before, layer.mean)
    return Answer(highest > CRADLE_RATE, place, highest)


def muffin(found: Run) -> Answer:
    before = 0.0
    for layer in found.layers:
        if layer.largest > MUFFIN_FAULT and before < MUFFIN_BEFORE:
            return Answer(True, (layer.reference, layer.candidate))
        before = max(before, layer.largest)
    return Answer(False)


CRADLE = "CRADLE, rate above 1"
METHODS: dict[str, Callable[[Run], Answer]] = {
    "allclose 1e-5": allclose,
    "assert_close defaults": assert_close,
    "PyTorch's float64 rule": float64_rule,
    CRADLE: cradle,
    "Muffin": muffin,
}
