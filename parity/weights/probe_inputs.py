"""The inputs that models are run on to see what their tensors do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.errors import InputError, ModelError
from parity.fitting import fitted
from parity.model import Inputs, Model, as_arrays, full_name, lay_out, wrap

_BATCH = 4  # of inputs that are drawn
_GIVE = "--inputs FILE.npz, --random SHAPE (as in 5,4,84,84), or --env ID"


def fed(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The inputs as a model takes them, as `compare` feeds them."""
    own = model.inputs if model.inputs is not None else inputs
    if own is None:
        own = reference.inputs
    if own is None:
        raise InputError(
            f"No inputs for {reference.name}: give inputs=array.",
            f"No inputs for {reference.name}: give {_GIVE}.",
        )
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
    names = [full_name(model.name, model.framework) for model in models]
    who = f"Neither {' nor '.join(names)} tells" if names[1:] else f"{names[0]} does not tell"
    raise InputError(
        f"{who} the shape of its inputs: give inputs=array.",
        f"{who} the shape of its inputs: give {_GIVE}.",
    )


def settled(models: tuple[Model, Model], inputs: Inputs) -> tuple[tuple[Model, Model], Inputs, str]:
    """The models with their layouts of images, found out by running where nobody told them.

    A model that told none is first taken to be laid out as its partner, or else as its framework
    has it: a Keras model that begins with a convolution over channels in last place takes NHWC.
    Of the two readings the wrong one fails at the first layer that meets other channels.

    Returns:
        The models; the inputs in the first one's layout; and what was found out, or "".

    Raises:
        ParityError: no inputs can be drawn, or a model fails with them.
    """
    own = [m.input_layout or ("NHWC" if _takes_last(m) else "NCHW") for m in models]
    told = all(model.input_layout or model.inputs is not None for model in models)
    if told or "NHWC" not in own:
        return models, drawn(models) if inputs is None else inputs, ""
    first, second = (wrap(m, input_layout=layout) for m, layout in zip(models, own, strict=True))
    note = ", ".join(f"{m.name} takes {layout}" for m, layout in zip(models, own, strict=True))
    guessed = (first, second), drawn((first, second)) if inputs is None else inputs, note
    ways = [guessed, (models, drawn(models) if inputs is None else inputs, "")]
    for way in ways if inputs is None else ways[::-1]:
        try:
            for model in way[0]:
                fitted(model, way[0][0], fed(model, way[0][0], way[1]))
        except (ModelError, InputError):
            continue
        return *way[:2], f"images: {way[2]}" if way[2] else ""
    return ways[0 if inputs is None else 1]  # which fails again, and says why


def _takes_last(model: Model) -> bool:
    """Whether a Keras model's first layer slides over images whose channels come last."""
    for layer in getattr(model.obj, "layers", None) or ():
        if type(layer).__name__ not in ("InputLayer", "Rescaling"):
            window = hasattr(layer, "kernel_size") or hasattr(layer, "pool_size")
            return window and getattr(layer, "data_format", None) == "channels_last"
    return False
