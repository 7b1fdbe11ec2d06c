"""What recurrent and masked networks take: time, lengths, states, legal actions.

A padded batch is where ports differ unseen: one framework reads the padding, the other does not; a
state is taken at the last step, or at the last valid one. So what lies in the padding is drawn too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from parity.errors import InputError
from parity.model import map_arrays
from parity.observations.edges import choices
from parity.observations.parts import ArrayPart, DictPart, Part, SinglePart, TuplePart
from parity.observations.ranges import bounded
from parity.observations.spaces import (
    Batch,
    check_room,
    checked,
    different_sizes,
    dimensions,
    kind_of,
    named_edges,
    read,
    sizes,
)
from parity.tape import Array

PADDINGS = ("zeros", "last", "values", "nan")
_NAMES = ("observations", "lengths", "mask", "state")


def sequences(
    space: Any,
    batch: Batch = "any",
    steps: Batch = "any",
    *,
    state: Any = None,
    padding: Iterable[str] = ("zeros", "last", "values"),
    time_major: bool = False,
    edges: Iterable[str] = (),
    **also: Any,
) -> st.SearchStrategy[dict[str, Any]]:
    """Batches of episodes of several lengths, padded to one: what a recurrent network takes.

    It shrinks to episodes without padding, and to counted values (`observations`).

    Args:
        space: of the observations: Box, Discrete, MultiDiscrete, MultiBinary, Tuple, Dict.
        batch: how many episodes B: a whole number, a strategy, or `"any"`, which differs from every
            dimension.
        steps: how many steps T, likewise; `"any"` is 2 at least, and not B either.
        state: what a recurrent layer starts from: a shape without B, for values between -1 and 1, a
            space for other values, or a dict of those, or a list for a tuple of them.
        padding: what may lie behind an episode's end; one kind is drawn for each batch. `"zeros"`;
            `"last"`, its last step again; `"values"`, more values as of the space; `"nan"`, in
            floats only.
        time_major: (T, B, ..) in place of (B, T, ..); `lengths` and `state` have B first always.
        edges: as for `observations`.
        also: what else each step has, by its name: a space, or true for a float32 of any size. So
            `previous_action=Discrete(4), previous_reward=True`.

    Returns:
        A strategy of dicts: `observations`, (B, T, ..) each; `lengths`, int32 (B,), from 1 to T;
        `mask`, bool (B, T), true where the episode is; if asked for, `state`, (B, ..) each; and
        those of `also`, (B, T, ..) each.

    Raises:
        InputError: the space has parts of no fixed size, or an argument is none of those above.
    """
    kinds = (padding,) if isinstance(padding, str) else tuple(padding)
    if not kinds or not set(kinds) <= set(PADDINGS):
        raise InputError(f"padding is {kinds}; it must name some of: {', '.join(PADDINGS)}.")
    if batch is None or steps is None:
        raise InputError("sequences have a batch and steps: give whole numbers, or 'any'.")
    named = named_edges(edges)
    timed = {"observations": _arrays_of(space, named)}
    check_room(timed["observations"], named, space)
    for name, each in also.items():
        if name in _NAMES:
            raise InputError(f"sequences have {name} of their own: give yours another name.")
        if each is not None and each is not False:
            timed[name] = _free(()) if each is True else _arrays_of(each, ())
    start = None if state is None else _state(state)
    taken = dimensions(TuplePart((*timed.values(), *([] if start is None else [start]))))
    return _sequences(DictPart(timed), start, (batch, steps), taken, kinds, time_major)


@st.composite
def _sequences(
    draw: st.DrawFn,
    timed: DictPart,
    start: Part | None,
    asked: tuple[Batch, Batch],
    taken: set[int],
    kinds: tuple[str, ...],
    time_major: bool,
) -> dict[str, Any]:
    count = _size(draw, asked[0], taken, 1)
    length = _size(draw, asked[1], taken | {count}, 2)
    missing = [draw(st.integers(0, length - 1)) for _ in range(count)]
    lengths = length - np.array(missing, np.int32)
    mask = np.arange(length) < lengths[:, None]
    kind = draw(st.sampled_from(kinds)) if not mask.all() else "values"

    def lay(array: Array) -> Array:
        array = _pad(array.reshape(count, length, *array.shape[1:]), lengths, mask, kind)
        return np.ascontiguousarray(array.swapaxes(0, 1)) if time_major else array

    found: dict[str, Any] = map_arrays(lay, timed.draw(draw, count * length))
    found |= {"lengths": lengths, "mask": np.ascontiguousarray(mask.T) if time_major else mask}
    return found if start is None else found | {"state": start.draw(draw, count)}


def _size(draw: st.DrawFn, asked: Batch, taken: set[int], least: int) -> int:
    free = different_sizes(taken, least=least) if asked == "any" else sizes(_free(()), asked)
    size = checked(draw(free))
    if size is None:
        raise InputError("batch or steps gave None; sequences need whole numbers from 1.")
    return size


def _pad(array: Array, lengths: Array, mask: Array, kind: str) -> Array:
    """An array (B, T, ..) with what lies behind each length replaced."""
    inside = mask.reshape(*mask.shape, *[1] * (array.ndim - 2))
    if kind == "zeros":
        array = np.where(inside, array, np.zeros((), array.dtype))
    elif kind == "last":
        ends = np.minimum(np.arange(array.shape[1]), lengths[:, None] - 1)
        array = array[np.arange(len(array))[:, None], ends]
    elif kind == "nan" and array.dtype.kind == "f":
        array = np.where(inside, array, np.full((), np.nan, array.dtype))
    return array


def _arrays_of(space: Any, named: tuple[str, ...]) -> Part:
    part = read(space, named, 1)
    if _has_singles(part):
        raise InputError(
            f"sequences are arrays with an axis of time, and {space} has parts of no fixed size: "
            "Text, Sequence, Graph or OneOf. Leave those out."
        )
    return part


def _has_singles(part: Part) -> bool:
    if isinstance(part, DictPart):
        return any(_has_singles(one) for one in part.parts.values())
    if isinstance(part, TuplePart):
        return any(_has_singles(one) for one in part.parts)
    return isinstance(part, SinglePart)


def _free(shape: tuple[int, ...]) -> ArrayPart:
    return ArrayPart(bounded(-np.inf, np.inf, shape, np.float32))


def _state(state: Any) -> Part:
    if isinstance(state, Mapping) and not hasattr(state, "contains"):
        return DictPart({key: _state(one) for key, one in state.items()})
    if isinstance(state, list):
        return TuplePart(tuple(_state(one) for one in state))
    if isinstance(state, int):
        state = (state,)
    if isinstance(state, tuple) and all(isinstance(size, int) for size in state):
        return ArrayPart(bounded(-1, 1, state, np.float32))
    return _arrays_of(state, ())


def action_masks(
    actions: Any,
    batch: Batch = None,
    *,
    legal: Literal["some", "one", "all"] = "some",
    dtype: Any = bool,
) -> st.SearchStrategy[Array]:
    """Masks of legal actions, true where legal, never without a legal one.

    A mask without a legal action is no input: its probabilities are 0 / 0.

    Args:
        actions: how many there are; a Discrete space; or, for several choices at once, a
            MultiDiscrete space or a list of numbers, whose masks stand one behind the other.
        batch: as for `observations`.
        legal: `"some"`, at least one of each choice; `"one"`, just one; `"all"`.
        dtype: of the mask; true is 1.

    Returns:
        A strategy of arrays (number of actions,), after a batch axis if there is one. It shrinks to
        one legal action in each row, another one in the next row; `"all"` has nothing to shrink.

    Raises:
        InputError: an argument is none of those above.
    """
    if legal not in ("some", "one", "all"):
        raise InputError(f"legal is {legal!r}; it must be 'some', 'one' or 'all'.")
    widths = _widths(actions)
    part = ArrayPart(bounded(0, 1, (sum(widths),), np.bool_), options=frozenset(widths))
    return _action_masks(widths, sizes(part, batch), legal, np.dtype(dtype))


@st.composite
def _action_masks(
    draw: st.DrawFn,
    widths: tuple[int, ...],
    batch: st.SearchStrategy[int | None],
    legal: str,
    dtype: np.dtype[Any],
) -> Array:
    size = checked(draw(batch))
    rows = size or 1
    masks = []
    for width in widths:
        mask = np.eye(width, dtype=bool)[(choices(draw, rows, width) + np.arange(rows)) % width]
        if legal == "some":
            mask |= choices(draw, rows * width, 2).reshape(rows, width) == 1
        masks.append(mask | (legal == "all"))
    found: Array = np.concatenate(masks, axis=1).astype(dtype)
    return found.reshape(-1) if size is None else found


def _widths(actions: Any) -> tuple[int, ...]:
    if isinstance(actions, int | list | tuple):
        widths = tuple(actions) if isinstance(actions, list | tuple) else (actions,)
    else:
        kind, _ = kind_of(actions)
        found = actions.n if kind == "Discrete" else getattr(actions, "nvec", np.empty((0, 0)))
        widths = tuple(int(number) for number in np.atleast_1d(found)) if np.ndim(found) < 2 else ()
    if not widths or not all(isinstance(width, int) and width >= 1 for width in widths):
        raise InputError(
            f"actions are {actions!r}; give their number, a list of numbers, or a space of them: "
            "Discrete, or MultiDiscrete with one axis."
        )
    return widths
