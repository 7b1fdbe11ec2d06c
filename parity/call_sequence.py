"""A model called several times in a row, by several of its methods: what it keeps in between."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections import deque
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from functools import partial
from typing import Any

from parity.errors import UsageError
from parity.inputs.binding import bind
from parity.model import Model, name_of, wrap

Step = str | Callable[..., Any]


def calls(
    model: Any,
    *steps: Step,
    framework: str | None = None,
    name: str | None = None,
) -> Model:
    """A model that keeps something from call to call, as one whose outputs are all that it gives.

    Its inputs are a tuple with an entry for each call, such as `(first, second)`; an array alone is
    one call. At each the steps run in order. Those that need inputs get the call's, such as
    `forward(observation)`; those that need none get none, such as `value_function()`. Outputs are
    named by call and step: `"1/forward"`, `"2/value_function"`.

    What the model keeps is put back afterwards, as after any run.

    Args:
        model: any object with such methods, or `parity.wrap` of a model.
        steps: names of its methods, or functions of the model and what else they need, such as
            `lambda filter: filter.mean`; default its own `__call__`.
        framework: as for `parity.wrap`, where it is not clear from the model.
        name: for reports; default the model's.

    Raises:
        ParityError: the model has no such method, or its framework is not clear.
    """
    wrapped = wrap(model, framework=framework)
    if wrapped.before:
        raise UsageError(
            f"{wrapped.name} has stages before it, which see one call's inputs; give calls the "
            "model alone, and the stages as a step of it."
        )
    for step in steps:
        if isinstance(step, str) and not callable(getattr(wrapped.obj, step, None)):
            raise UsageError(f"{wrapped.name} has no method {step!r}.")
        if not isinstance(step, str) and not callable(step):
            raise UsageError(f"a step is {step!r}; give the name of a method, or a function.")
    called = _Calls(wrapped.obj, steps or ("__call__",), wrapped.framework == "numpy")
    return wrap(
        called,
        framework=wrapped.framework,
        input_layout=wrapped.input_layout,
        inputs=wrapped.inputs,
        name=name or wrapped.name,
        mode=wrapped.mode,
    )


class _Calls:
    """What `calls` wraps."""

    def __init__(self, model: Any, steps: tuple[Step, ...], copied: bool) -> None:
        self.model, self.steps = model, steps
        self.as_it_is: Callable[[Any], Any] = copy.deepcopy if copied else _cloned

    def __call__(self, *entries: Any) -> dict[str, Any]:
        return {
            str(number): {
                _name(step): self.as_it_is(_run(self.model, step, entry)) for step in self.steps
            }
            for number, entry in enumerate(entries, 1)
        }


def _run(model: Any, step: Step, entry: Any) -> Any:
    function = getattr(model, step) if isinstance(step, str) else partial(step, model)
    if not _needs_inputs(function):
        return function()
    args, kwargs = bind(function, entry)
    return function(*args, **kwargs)


def _cloned(result: Any) -> Any:
    """A result with tensors of torch's as they are now: later calls may write to them."""
    if isinstance(result, Mapping):
        return {key: _cloned(item) for key, item in result.items()}
    if type(result) in (tuple, list, deque):
        return type(result)(map(_cloned, result))
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(_cloned, result))
    if isinstance(result, (KeysView, ValuesView, ItemsView)):
        return [_cloned(item) for item in result]
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        names = [field.name for field in dataclasses.fields(result)]
        return {name: _cloned(getattr(result, name)) for name in names}
    return result.clone() if hasattr(result, "clone") and hasattr(result, "detach") else result


def _needs_inputs(function: Callable[..., Any]) -> bool:
    """Whether a step takes something that has no default."""
    return any(
        one.default is one.empty and one.kind is not one.VAR_KEYWORD
        for one in inspect.signature(function).parameters.values()
    )


def _name(step: Step) -> str:
    return step if isinstance(step, str) else name_of(step)
