"""Observations from an environment that a random policy steps, and windows of what was recorded.

What an environment gives lies otherwise than what a space holds: CartPole bounds its angles by what
it takes for fallen, and most of its box is never seen.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.errors import FrameworkMissing, InputError, UsageError
from parity.frameworks import extra
from parity.model import Inputs, as_arrays, flatten_inputs, map_arrays
from parity.observations.spaces import Batch, checked
from parity.tape import Array

STEPS = 64
_SIZES = 8  # of windows, at most so many


def rollout(env: Any, steps: int = STEPS, seed: int = 0) -> Inputs:
    """The first observations of an environment under a random policy, the same for one seed.

    An episode that ends is followed by the next one. Values are as the environment gives them:
    nothing is scaled, and images have their channels last.

    Args:
        env: the id of an environment of Gymnasium, such as `"CartPole-v1"`, or
            `"package.module:Id-v0"` for one that a module registers; or an environment, which is
            reset first and left open.
        steps: how many observations N.
        seed: of the environment and of the actions.

    Returns:
        Inputs for a comparison: an array (N, ..) of the observations' dtype, or a dict or tuple of
        them, as the observations are.

    Raises:
        UsageError: there is no environment of that id, or it is no environment.
        FrameworkMissing: Gymnasium is not installed, or what the environment needs.
        InputError: its observations are no arrays of one shape.
    """
    for name, number, least in (("steps", steps, 1), ("seed", seed, 0)):
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise InputError(f"{name} is {number!r}; it must be a whole number from {least}.")
    made = _make(env) if isinstance(env, str) else env
    for name in ("reset", "step", "action_space"):
        if not hasattr(made, name):
            raise UsageError(f"{made!r} is no environment: it has no {name!r}.")
    if hasattr(made, "num_envs"):
        raise UsageError(f"{made} is a vector of environments; give one of them.")
    try:
        return stacked(list(islice(_observed(made, seed), steps)), str(env))
    finally:
        if made is not env:
            made.close()


def _make(name: str) -> Any:
    why = f"The environment {name!r} is one of Gymnasium"
    gymnasium = needed("gymnasium", why, extra("rl"))
    try:
        return gymnasium.make(name)
    except gymnasium.error.DependencyNotInstalled as error:
        raise FrameworkMissing(
            f"The environment {name!r} needs more than Gymnasium itself: {error}", "gymnasium"
        ) from error
    except (gymnasium.error.Error, ImportError) as error:
        raise UsageError(f"There is no environment {name!r}: {error}") from error


def needed(module: str, why: str, install: str) -> Any:
    """A module of a package that need not be there.

    Args:
        why: the beginning of a sentence, which ends with the package.
        install: the command that installs it.

    Raises:
        FrameworkMissing: it is not there.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise FrameworkMissing(
            f"{why}, which is not installed ({error}). Install it with: {install}",
            module.partition(".")[0],
        ) from error


def _observed(env: Any, seed: int) -> Iterator[Any]:
    """Observations without end; copies, for an environment may write into one array for ever."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    while True:
        yield deepcopy(observation)
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()


def stacked(observations: Sequence[Any], source: str, path: str = "") -> Inputs:
    """Single observations as one batch, their arrays stacked on a new first axis.

    Args:
        source: where they are from, for messages.

    Raises:
        InputError: they are no numbers, or differ in shape.
    """
    first = observations[0]
    where = f"{source}: observations{path and f' at {path}'}"
    if isinstance(first, Mapping):
        return {
            key: stacked([one[key] for one in observations], source, f"{path}/{key}".lstrip("/"))
            for key in first
        }
    if isinstance(first, tuple):
        lengths = {len(one) for one in observations}
        if hasattr(first, "_fields") or len(lengths) > 1:
            raise InputError(f"{where} have no fixed shape, as graphs and sequences; leave it out.")
        return tuple(
            stacked([one[index] for one in observations], source, f"{path}/{index}".lstrip("/"))
            for index in range(len(first))
        )
    try:
        found: Array = np.stack([np.asarray(one) for one in observations])
    except ValueError as error:
        raise InputError(f"{where} differ in shape: {error}") from error
    if found.dtype.kind not in "fiub":
        raise InputError(f"{where} are of dtype {found.dtype}, not numbers.")
    return found


def windows(recorded: Inputs, batch: Batch = "any") -> st.SearchStrategy[Inputs]:
    """Consecutive rows of what was recorded, for hypothesis; they shrink to the first ones.

    Args:
        recorded: arrays, or tuples or dicts of them, whose first axis counts observations: what
            `rollout` gives, and `recorded`.
        batch: how many rows: a whole number, a strategy, or `"any"` for sizes from 1 up that differ
            from every other dimension.

    Raises:
        InputError: the arrays have no common first axis, or it is shorter than what is asked for.
    """
    rows = as_arrays(recorded)
    shapes = [array.shape for array in flatten_inputs(rows).values()]
    lengths = {shape[0] if shape else 0 for shape in shapes}
    length = min(lengths, default=0)
    if len(lengths) != 1 or length == 0:
        raise InputError(
            "windows are rows of arrays that are equally long on their first axis, and these have "
            f"the shapes {', '.join(map(str, shapes))}."
        )
    if batch == "any":
        taken = {size for shape in shapes for size in shape[1:]}
        free = [size for size in range(1, length + 1) if size not in taken]
        batch = st.sampled_from(free[:_SIZES] or [length])
    sizes = batch if isinstance(batch, st.SearchStrategy) else st.just(batch)
    return _windows(rows, sizes, length)


@st.composite
def _windows(draw: st.DrawFn, rows: Inputs, sizes: st.SearchStrategy[Any], length: int) -> Inputs:
    size = checked(draw(sizes))
    if size is None or size > length:
        raise InputError(f"batch gave {size}; it must give numbers up to {length}, the rows there.")
    first = draw(st.integers(0, length - size))
    return map_arrays(lambda array: array[first : first + size], rows)
