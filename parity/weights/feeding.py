"""The inputs that models are run on to see what their tensors do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.errors import InputError
from parity.model import Inputs, Model, as_arrays, lay_out

_BATCH = 4  # of inputs that are drawn


def fed(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The inputs as a model takes them, as `compare` feeds them."""
    own = model.inputs if model.inputs is not None else inputs
    if own is None:
        own = reference.inputs
    if own is None:
        raise InputError("No inputs: give transfer(..., inputs=array).")
    if model.inputs is not None:
        return as_arrays(own)
    return lay_out(as_arrays(own), reference.input_layout, model.input_layout)


def drawn(models: Sequence[Model]) -> Inputs:
    """Random inputs of the shapes that one of the models tells, in the first one's layout.

    Raises:
        InputError: none of them tells any.
    """
    for model in models:
        if model.inputs is not None:
            return None
    for model in models:
        told = getattr(model.obj, "inputs", None)
        shapes = [tuple(getattr(one, "shape", ())) for one in told or ()]
        if shapes and all(all(size for size in shape[1:]) for shape in shapes):
            rng = np.random.default_rng(0)
            arrays = tuple(
                rng.standard_normal((shape[0] or _BATCH, *shape[1:]), np.float32)
                for shape in shapes
            )
            given = arrays[0] if len(arrays) == 1 else arrays
            return lay_out(given, model.input_layout, models[0].input_layout or "NCHW")
    raise InputError("Neither model tells the shape of its inputs: give transfer(..., inputs=...).")
