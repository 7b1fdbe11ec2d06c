"""Preprocessors and filters before a model: NumPy functions, recorded as operations of its tape.

A stage is one operation, with its own name as its layer: what it gives is matched, replayed and
judged as any other value, so that a report names the stage at which two chains diverge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from parity.draws.draw import Transform
from parity.draws.host import Host
from parity.errors import ModelError
from parity.frameworks import load
from parity.frameworks.invoke import run
from parity.inputs.binding import bind
from parity.keeping import left_as_it_was
from parity.model import Inputs, Model, Stage, as_arrays, flatten_inputs, map_arrays, name_of
from parity.tape import Array, Frame, Op, Site, Tape, Value


def record(model: Model, inputs: Inputs) -> Tape:
    """The tape of a model and of the stages before it; see `Framework.record`.

    Raises:
        ModelError: the model or a stage raised, or cannot be recorded.
    """
    framework = load(model.framework)
    if not model.before:
        return framework.record(model, inputs)
    reached, lost = [inputs], []
    for stage in model.before:
        with Host().watching(stage) as host:
            reached.append(_after(model, stage, reached[-1]))
        draws = dict.fromkeys((*(f"numpy.random.{one.name}" for one in host.draws), *host.unseen))
        if draws:
            lost.append(
                f"{name_of(stage)}, a stage before {model.name}, draws random numbers "
                f"({', '.join(draws)}), which no recording of a stage follows. Draw in the model, "
                "or pass the samples in as inputs."
            )
    tape = _with_stages(framework.record(model, reached[-1]), model.before, reached)
    return replace(tape, lost_draws=[*tape.lost_draws, *lost])


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """The stages and the model without being recorded; see `Framework.plain`."""
    rest = load(model.framework).plain(model, as_called)

    def outputs(inputs: Inputs) -> dict[str, Array]:
        for stage in model.before:
            inputs = _after(model, stage, inputs)
        return rest(inputs)

    return outputs


def _after(model: Model, stage: Stage, inputs: Inputs) -> Inputs:
    found = run(model, lambda: _call(stage, inputs))
    if not flatten_inputs(found):
        raise ModelError(f"{name_of(stage)}, a stage before {model.name}, returned no arrays.")
    return found


def _call(stage: Stage, inputs: Inputs) -> Inputs:
    """What a stage gives; its own state, such as running statistics, stays as it was."""
    args, kwargs = bind(stage, map_arrays(np.array, inputs))
    with left_as_it_was(stage):
        return map_arrays(np.array, as_arrays(stage(*args, **kwargs)))


def _replayed(stage: Stage, inputs: Inputs, *arrays: Array) -> list[Array]:
    """What a stage gives of arrays in the places of its inputs."""
    left = iter(arrays)
    return list(flatten_inputs(_call(stage, map_arrays(lambda _: next(left), inputs))).values())


def _with_stages(tape: Tape, stages: Sequence[Stage], reached: Sequence[Inputs]) -> Tape:
    """A tape with stages before it; `reached` are the inputs of the first, and what each gives."""
    before, arrays = _values_before(reached[:-1])
    later = tape.moved_back(len(stages), len(arrays))
    for value in tape.inputs.values():  # of which each is what the last stage gives
        made_by = replace(later.values[value], kind="computed", name="", op=len(stages) - 1)
        later.values[value] = made_by
    values = [*(value for group in before for value in group), *later.values]
    groups = [tuple(value.id for value in group) for group in before]
    groups.append(tuple(later.inputs.values()))
    ops = []
    for number, stage in enumerate(stages):
        call = Transform(partial(_replayed, stage, reached[number]))
        read, made = groups[number : number + 2]
        ops.append(Op(number, name_of(stage), read, made, _site(stage), call=call))
    recorded = {value: tape.adapter.from_numpy(array) for value, array in arrays.items()}
    return replace(
        later,
        ops=ops + later.ops,
        values=values,
        inputs={value.name: value.id for value in before[0]},
        recorded=recorded | later.recorded,
    )


def _values_before(reached: Sequence[Inputs]) -> tuple[list[list[Value]], dict[int, Array]]:
    """The values that stages read, a list for each stage, and the arrays that they were."""
    groups: list[list[Value]] = []
    arrays: dict[int, Array] = {}
    for number, given in enumerate(reached):
        group = []
        for path, array in flatten_inputs(given).items():
            kind, name = ("computed", "") if number else ("input", path)
            shape, dtype = array.shape, array.dtype.name
            group.append(Value(len(arrays), kind, shape, dtype, name, number - 1))  # type: ignore[arg-type]
            arrays[group[-1].id] = array
        groups.append(group)
    return groups, arrays


def _site(stage: Stage) -> Site:
    function: Any = stage
    while isinstance(function, partial):
        function = function.func
    if not isinstance(function, (FunctionType, MethodType)):
        function = vars(type(function)).get("__call__")
    code = getattr(function, "__code__", None)
    frames = (Frame(code.co_filename, code.co_firstlineno, code.co_name),) if code else ()
    return Site(name_of(stage), name_of(stage), frames)
