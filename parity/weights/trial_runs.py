"""Whether a way to pair weights is worth a comparison: both models are run, and no more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.diagnosis.output_pairs import pair_outputs
from parity.inputs.preprocessing import plain
from parity.model import Inputs, Model
from parity.numerics.difference import residual
from parity.tape import Array, Tape
from parity.weights.probe_inputs import inputs_for

_FAR = 0.05  # of an output's size: far more than rounding leaves of any model but a chaotic one


def outputs_differ(
    models: tuple[Model, Model], tapes: tuple[Tape, Tape], inputs: Inputs
) -> Callable[[], bool]:
    """Says whether the two give other outputs now; never of models that draw."""
    pairs, _ = pair_outputs(*tapes)
    named = [{value: name for name, value in tape.outputs.items()} for tape in tapes]
    draw = any(op.role == "random" for tape in tapes for op in tape.ops)
    runs = [plain(model, as_called=True) for model in models]
    given = [inputs_for(model, models[0], inputs) for model in models]
    wanted = {} if draw or any(tape.lost_draws for tape in tapes) else runs[0](given[0])

    def far() -> bool:
        found = runs[1](given[1]) if wanted else {}
        return any(
            _differ(wanted[source], found[target])
            for pair in pairs
            if (source := named[0].get(pair.reference)) in wanted
            and (target := named[1].get(pair.candidate)) in found
        )

    return far


def _differ(one: Array, other: Array) -> bool:
    comparable = one.shape == other.shape and one.dtype.kind == other.dtype.kind == "f"
    if not comparable or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    return residual(one, other) > _FAR
