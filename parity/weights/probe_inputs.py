"""What models are run on, to see what their tensors do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.diagnosis.weights_alone import with_learned_inputs
from parity.errors import InputError, ModelError
from parity.frameworks import load
from parity.inputs.fitting import fitted
from parity.inputs.layout_advice import record
from parity.model import Inputs, Model, full_name, lay_out, wrap
from parity.preparation import laid_out
from parity.weights.pairing import Side

_BATCH = 4  # of example inputs
_GIVE = "--inputs FILE.npz, --random SHAPE (as in 5,4,84,84), or --env ID"


def inputs_for(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The inputs as a model takes them, as in `compare`."""
    if model.inputs is None and reference.inputs is None and inputs is None:
        raise InputError(
            f"No inputs for {reference.name}: give inputs=array.",
            f"No inputs for {reference.name}: give {_GIVE}.",
        )
    return laid_out(model, reference, inputs)


def example_inputs(models: Sequence[Model]) -> Inputs:
    """Random inputs of the shapes that one of the models states, in the first one's layout.

    Raises:
        InputError: none of them states any.
    """
    for model in models:
        if model.inputs is not None:
            return None
    for model in models:
        shapes = load(model.framework).TRAITS.weights.input_shapes(model.obj)
        if shapes and all(all(size for size in shape[1:]) for shape in shapes):
            rng = np.random.default_rng(0)
            arrays = tuple(
                rng.standard_normal([n or _BATCH for n in shape], np.float32) for shape in shapes
            )
            given = arrays[0] if len(arrays) == 1 else arrays
            return lay_out(given, model.input_layout, models[0].input_layout or "NCHW")
    names = [full_name(model.name, model.framework) for model in models]
    who = f"Neither {' nor '.join(names)} states" if names[1:] else f"{names[0]} does not state"
    raise InputError(
        f"{who} the shape of its inputs: give inputs=array.",
        f"{who} the shape of its inputs: give {_GIVE}.",
    )


def with_layouts(
    models: tuple[Model, Model], inputs: Inputs
) -> tuple[tuple[Model, Model], Inputs, str]:
    """The models with their layouts of images, found out by running where none was given.

    A model without one is first taken to be laid out as its partner, or else as its framework
    has it: a Keras model that begins with a convolution over channels in last place takes NHWC.
    Of the two readings the wrong one fails at the first layer with other channels.

    Returns:
        The models; the inputs in the first one's layout; and what was found out, or "".

    Raises:
        ParityError: no inputs can be made, or a model fails with them.
    """
    own = [
        m.input_layout
        or ("NHWC" if load(m.framework).TRAITS.weights.takes_channels_last(m.obj) else "NCHW")
        for m in models
    ]

    def given(both: tuple[Model, Model], note: str = "") -> tuple[tuple[Model, Model], Inputs, str]:
        return both, example_inputs(both) if inputs is None else inputs, note

    stated = all(model.input_layout or model.inputs is not None for model in models)
    if stated or "NHWC" not in own:
        return given(models)
    first, second = (wrap(m, input_layout=layout) for m, layout in zip(models, own, strict=True))
    note = ", ".join(f"{m.name} takes {layout}" for m, layout in zip(models, own, strict=True))
    ways = [given((first, second), f"images: {note}"), given(models)]
    ways = ways if inputs is None else ways[::-1]
    for way in ways:
        both, tried, _ = way
        try:
            for model in both:
                fitted(model, both[0], inputs_for(model, both[0], tried))
        except (ModelError, InputError):
            continue
        return way
    return ways[0]  # which fails again, and says why


def side_of(model: Model, inputs: Inputs) -> Side:
    """One model by itself.

    Raises:
        ParityError: no inputs can be made, or it fails with them.
    """
    inputs = example_inputs([model]) if inputs is None else inputs
    _, tape = record(model, None, inputs_for(model, model, inputs))
    return Side(with_learned_inputs(tape), load(model.framework).tensors(model.obj), {})
