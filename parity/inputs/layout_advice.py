"""Says so where a model fails on images, or series, whose channels lie in the other place.

Or on states that have the axis of a recurrent layer's layers, or lack it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from parity.errors import ModelError
from parity.inputs import preprocessing
from parity.inputs.fitting import fitted
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
        given = model, reference, inputs
        for moved, advise in chain(_channels(*given), _states(*given)):
            other = map_arrays(moved, inputs)
            shapes = [array.shape for array in flatten_inputs(other).values()]
            if shapes == [array.shape for array in flatten_inputs(inputs).values()]:
                continue
            try:
                preprocessing.record(model, other)
            except Exception:
                continue
            runs, script, command = advise(", ".join(map(str, shapes)))
            text = f"{error}\nIt runs {runs}"
            raise ModelError(text + script, text + command) from error.__cause__
        raise


# What a model runs on, and what to do about it in a script and on the command line.
_Advice = tuple[str, str, str]
_Trial = tuple[Callable[[Array], Array], Callable[[str], _Advice]]


def _channels(model: Model, reference: Model | None, inputs: Inputs) -> Iterator[_Trial]:
    """Channels moved to the last axis, and to the first."""
    ranks = {array.ndim for array in flatten_inputs(inputs).values()} & {3, 4, 5}
    images = 4 in ranks
    for source, target in ((1, -1), (-1, 1)) if ranks else ():

        def moved(array: Array, source: int = source, target: int = target) -> Array:
            there = array.ndim == 4 if images else array.ndim in ranks
            return np.moveaxis(array, source, target) if there else array

        def advise(shapes: str, target: int = target) -> _Advice:
            place, layout = ("last", "NHWC") if target < 0 else ("first", "NCHW")
            runs = f"with channels {place}, on inputs of shape {shapes}."
            return runs, *_of_channels(model, reference, layout, images)

        yield moved, advise


def _states(model: Model, reference: Model | None, inputs: Inputs) -> Iterator[_Trial]:
    """States without the first axis that torch's have, of a recurrent layer's layers, or with."""
    arrays = list(flatten_inputs(inputs).values())
    if reference is None or model is reference or len(arrays) < 2:
        return
    first = arrays[0]

    def without(array: Array) -> Array:
        return array[0] if array.ndim > 2 and len(array) == 1 != len(first) else array

    def with_axis(array: Array) -> Array:
        return array[None] if array.ndim == 2 and array is not first else array

    for axis, moved in (("no first axis", without), ("a first axis of length 1", with_axis)):

        def advise(shapes: str, axis: str = axis) -> _Advice:
            runs = f"on states with {axis}, which is of a recurrent layer's layers: on inputs of "
            own = "parity.wrap(model, inputs=...)."
            return (
                f"{runs}shape {shapes}. Give it inputs of its own: ",
                own,
                f"name a function of no arguments that returns {own}",
            )

        yield moved, advise


def _of_channels(
    model: Model, reference: Model | None, layout: str, images: bool
) -> tuple[str, str]:
    """What to do in a script and on the command line, where a model runs on that layout."""
    if reference is None:
        return (" Give them so.",) * 2
    if model is reference:
        so = " Inputs are laid out as the first model takes them: give them so"
        if layout == "NCHW" or not images:
            return (f"{so}.",) * 2
        return (
            f"{so}, and say it: parity.wrap(model, input_layout='NHWC').",
            f"{so}, and say it behind its name, as in nets:reference@NHWC.",
        )
    taken = model.input_layout or reference.input_layout or "NCHW"
    if not images or model.inputs is not None or (taken, layout) == ("NHWC", "NHWC"):
        own = " Give it inputs of its own:"
        return (
            f"{own} parity.wrap(model, inputs=array).",
            f"{own} name a function of no arguments that returns parity.wrap(model, inputs=array).",
        )
    if taken == layout:  # NCHW, so that what was given is the other
        return (
            " Say how both take them: parity.wrap(reference, input_layout='NHWC') and "
            "parity.wrap(model, input_layout='NCHW').",
            " Say how both take them, as in nets:reference@NHWC nets:port@NCHW.",
        )
    return (
        f" Say so: parity.wrap(model, input_layout={layout!r}).",
        f" Say so behind its name, as in nets:port@{layout}.",
    )
