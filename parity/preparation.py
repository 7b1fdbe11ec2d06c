"""Models made ready to be compared: names that differ, inputs as each takes them, tapes."""

from __future__ import annotations

from collections.abc import Sequence

from parity.draws.repeated import joined
from parity.draws.settled import settle
from parity.errors import InputError
from parity.frameworks import load
from parity.inputs import layout_advice
from parity.keeping import other_generators
from parity.model import Inputs, Model, as_arrays, flatten_inputs, lay_out, wrap
from parity.tape import Tape


def with_distinct_names(models: Sequence[Model]) -> list[Model]:
    """Adds the framework to names that occur twice, or else a number."""
    named = []
    for number, model in enumerate(models, 1):
        twins = [other for other in models if other.name == model.name]
        if len(twins) == 1:
            named.append(model)
        elif len({other.framework for other in twins}) == len(twins):
            named.append(wrap(model, name=f"{model.name} ({model.framework})"))
        else:
            named.append(wrap(model, name=f"{model.name} #{number}"))
    return named


def inputs_of(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The inputs as this model takes them.

    Raises:
        InputError: there are none, or an array is empty.
    """
    found = laid_out(model, reference, inputs)
    arrays = flatten_inputs(found)
    if not arrays:
        raise InputError(f"The inputs of {model.name} hold no arrays.")
    for path, array in arrays.items():
        if not array.size:
            raise InputError(
                f"Input {path!r} of {model.name} is empty: its shape is {array.shape}."
            )
    return found


def laid_out(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The model's own inputs, or those given to both, in its layout."""
    if model.inputs is not None:
        return as_arrays(model.inputs)
    if inputs is None:
        if reference.inputs is None:
            raise InputError(
                "No inputs: give compare(..., inputs=array), or parity.wrap(model, inputs=array) "
                "for every model."
            )
        inputs = reference.inputs
    return lay_out(as_arrays(inputs), reference.input_layout, model.input_layout)


def recorded(model: Model, reference: Model, inputs: Inputs) -> tuple[Model, Tape]:
    """The model as it takes the inputs, and its tape, samples of a fixed seed being constants."""
    model, tape = layout_advice.record(model, reference, inputs)

    def again(turn: int) -> Tape:
        others = load(model.framework).other_random_state(turn)
        with others, other_generators(model.obj, turn):
            return layout_advice.record(model, reference, inputs)[1]

    return model, joined(settle(tape, again))
