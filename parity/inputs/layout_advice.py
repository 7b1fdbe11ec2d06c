"""Says so where a model fails on images, or series, whose channels lie in the other place.

Or on states that have the axis of a recurrent layer's layers, or lack it.
"""

from __future__ import annotations

import numpy as np

from parity.errors import ModelError
from parity.inputs.fitting import fitted
from parity.inputs.preprocessing import record as record_model
from parity.model import Inputs, Model, flatten_inputs, map_arrays
from parity.tape import Array, Tape


def record(model: Model, reference: Model | None, inputs: Inputs) -> tuple[Model, Tape]:
    """The model as it takes the inputs, and its tape.

    Where it fails and runs with the channels moved, the error says so.

    Args:
        reference: the model whose layout inputs are given in, maybe this one; None without others.
        inputs: as this model takes them, by what was stated of its layout.

    Raises:
        ModelError: as for `fitted`.
    """
    try:
        return fitted(model, reference, inputs)
    except ModelError as error:
        advice = _advice(model, reference, inputs) or _of_states(model, reference, inputs)
        if advice is None:
            raise
        python, command = advice
        raise ModelError(f"{error}\n{python}", f"{error}\n{command}") from error.__cause__


def _advice(model: Model, reference: Model | None, inputs: Inputs) -> tuple[str, str] | None:
    """What to do in a script and on the command line; None where moved channels do not help."""
    ranks = {array.ndim for array in flatten_inputs(inputs).values()} & {3, 4, 5}
    images = 4 in ranks
    for source, target in ((1, -1), (-1, 1)) if ranks else ():

        def moved(array: Array, source: int = source, target: int = target) -> Array:
            there = array.ndim == 4 if images else array.ndim in ranks
            return np.moveaxis(array, source, target) if there else array

        other = map_arrays(moved, inputs)
        try:
            record_model(model, other)
        except Exception:
            continue
        return _told(model, reference, other, "NHWC" if target < 0 else "NCHW", images)
    return None


def _of_states(model: Model, reference: Model | None, inputs: Inputs) -> tuple[str, str] | None:
    """The same of states: those of torch have a first axis, of the layers of a recurrent layer."""
    arrays = list(flatten_inputs(inputs).values())
    if reference is None or model is reference or len(arrays) < 2:
        return None
    first = arrays[0]

    def without(array: Array) -> Array:
        return array[0] if array.ndim > 2 and len(array) == 1 != len(first) else array

    def with_axis(array: Array) -> Array:
        return array[None] if array.ndim == 2 and array is not first else array

    for said, moved in (("no first axis", without), ("a first axis of length 1", with_axis)):
        other = map_arrays(moved, inputs)
        shapes = [array.shape for array in flatten_inputs(other).values()]
        if shapes == [array.shape for array in arrays]:
            continue
        try:
            record_model(model, other)
        except Exception:
            continue
        runs = (
            f"It runs on states with {said}, which is of a recurrent layer's layers: on inputs of "
            f"shape {', '.join(map(str, shapes))}. Give it inputs of its own: "
        )
        command = "name a function of no arguments that returns "
        written = "parity.wrap(model, inputs=...)."
        return f"{runs}{written}", f"{runs}{command}{written}"
    return None


def _told(
    model: Model, reference: Model | None, inputs: Inputs, layout: str, images: bool
) -> tuple[str, str]:
    """The advice, where a model runs on `inputs`, whose channels lie as in `layout`."""
    shapes = ", ".join(str(array.shape) for array in flatten_inputs(inputs).values())
    place = "last" if layout == "NHWC" else "first"
    runs = f"It runs with channels {place}, on inputs of shape {shapes}."
    if reference is None:
        return f"{runs} Give them so.", f"{runs} Give them so."
    if model is reference:
        runs += " Inputs are laid out as the first model takes them: give them so"
        if layout == "NCHW" or not images:
            return f"{runs}.", f"{runs}."
        return (
            f"{runs}, and say it: parity.wrap(model, input_layout='NHWC').",
            f"{runs}, and say it behind its name, as in nets:reference@NHWC.",
        )
    taken = model.input_layout or reference.input_layout or "NCHW"
    if not images or model.inputs is not None or (taken, layout) == ("NHWC", "NHWC"):
        own = "Give it inputs of its own"
        return (
            f"{runs} {own}: parity.wrap(model, inputs=array).",
            f"{runs} {own}: name a function of no arguments that returns "
            "parity.wrap(model, inputs=array).",
        )
    if taken == layout:  # NCHW, so that what was given is the other
        return (
            f"{runs} Say how both take them: parity.wrap(reference, input_layout='NHWC') and "
            "parity.wrap(model, input_layout='NCHW').",
            f"{runs} Say how both take them, as in nets:reference@NHWC nets:port@NCHW.",
        )
    return (
        f"{runs} Say so: parity.wrap(model, input_layout={layout!r}).",
        f"{runs} Say so behind its name, as in nets:port@{layout}.",
    )
