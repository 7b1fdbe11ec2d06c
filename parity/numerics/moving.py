"""How far rounding moves values: all that a tape starts from moves by one unit in the last place.

An element of one run may be right by luck. Where inputs, parameters and constants move, everything
between is rounded otherwise too, and the luck is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np

from parity.numerics.accounting import in_reals
from parity.numerics.difference import mask_sentinels
from parity.numerics.rounding import U32, UNITS
from parity.tape import Array, Op, Replay, Tape

_DRAWS = 4
_FEW_BITS = 2.0**12
_U64 = 2.0**-53
_MUCH = 32.0  # times by which an operation magnifies what its inputs are off by
_SHARE = 0.03  # by which inputs move, at most
_CONSTANT = 1e-4  # more than a mask's constant moves with the logit that it swallows


def masks_are_constant(tape: Tape, value: int, given: Mapping[int, Array]) -> bool:
    """Whether what hides elements of a value stays, where the model's inputs move by up to 3%.

    Of a single number it cannot be seen whether it is a mask's constant: a loss may be as large.

    Args:
        given: what replaces values of the tape, its inputs among them, in float64.
    """
    recorded = Replay(tape, None, tape.recorded)
    random = np.random.default_rng(0)
    moved = {}
    for one in tape.inputs.values():
        array = np.asarray(given.get(one, recorded.array(one)))
        if array.dtype.kind == "f" and not (array == np.round(array)).all():  # no mask, no index
            moved[one] = array * (1 + _SHARE * random.uniform(-1, 1, array.shape))
    before, after = (tape.replay("float64", {**given, **more}).array(value) for more in ({}, moved))
    with np.errstate(all="ignore"):
        stays = np.abs(after - before) <= _CONSTANT * np.abs(before)
    return bool((stays | ~hidden(before)).all())


def moved_by_rounding(
    tape: Tape,
    values: Collection[int],
    given: Mapping[int, Array] | None = None,
    computed: Callable[[Tape, Op], bool] | None = None,
) -> dict[int, Array]:
    """How far each element of `values` moves at most, over a few replays as recorded.

    Args:
        given: what replaces values of the tape in all of these, such as random draws.
        computed: tells operations whose results move too, as they do where these round (stochastic
            arithmetic: Vignes, "A stochastic arithmetic for reliable scientific computation",
            1993).
    """
    given = {} if given is None else given
    recorded = Replay(tape, None, tape.recorded)
    leaves = [one for one in tape.values if tape.producer(one.id) is None]
    floating = [one for one in leaves if recorded.array(one.id).dtype.kind == "f"]
    base = tape.replay(None, given)
    random = np.random.default_rng(0)
    found = {value: np.zeros(in_reals(base.array(value)).shape) for value in values}
    for _ in range(_DRAWS):
        moved = {
            one.id: _moved(recorded.array(one.id), _unit(one.dtype), random) for one in floating
        }
        after = partial(_move_results, computed, random) if computed is not None else None
        again = tape.replay(None, {**moved, **given}, after=after)
        for value, largest in found.items():
            np.fmax(largest, _step(base.array(value), again.array(value)), out=largest)
    return found


def most_lost(tape: Tape, given: Mapping[int, Array]) -> tuple[float, Op] | None:
    """The operation that magnifies rounding most, and how many times; None if none does by much."""
    ops = [op for op in tape.ops if op.index in tape.used and op.role == "compute" and op.outputs]
    every = {one for op in ops for one in (*op.inputs, *op.outputs)}
    moved = moved_by_rounding(tape, every, given, rounds)
    base = tape.replay(None, given)

    def lost(value: int) -> float:
        """How much of its size an element of a value moves by, most of them or more."""
        size = np.abs(in_reals(base.array(value)))
        with np.errstate(all="ignore"):
            known = np.isfinite(size) & (size > 0) & np.isfinite(moved[value])
            shares = moved[value][known] / size[known]
        return float(min(np.median(shares), 1.0)) if shares.size else 0.0

    found = [(max(map(lost, op.outputs)) / max([U32, *map(lost, op.inputs)]), op) for op in ops]
    most = max(found, key=lambda one: one[0], default=None)
    return most if most is not None and most[0] > _MUCH else None


def moved_in_float64(
    tape: Tape, values: Collection[int], given: Mapping[int, Array]
) -> list[Array]:
    """How far elements of `values` move where all that is computed does, by a float64 rounding.

    What cancels there, as 1 + erf far below zero, is rounding alone in any precision.
    """

    def move(op: Op, run: Replay) -> None:
        for value in op.outputs if op.role == "compute" else ():
            array = run.array(value)
            if array.dtype == np.float64:
                step = 2 * _U64 * random.choice([-1, 1], array.shape)
                run.replace(value, array * (1 + step))

    random = np.random.default_rng(0)
    base = tape.replay("float64", given)
    runs = [tape.replay("float64", given, after=move) for _ in range(_DRAWS)]
    return [
        np.maximum.reduce([_step(base.array(value), run.array(value)) for run in runs])
        for value in values
    ]


def rounds(tape: Tape, op: Op) -> bool:
    """Whether an operation computes anything that it rounds."""
    return op.role == "compute"


def is_curve(tape: Tape, op: Op) -> bool:
    """Whether it computes each number from one other, as a tanh: frameworks have each their own.

    Sums are rounded alike everywhere: if one of them absorbs a number, that is no rounding.
    """
    if op.role != "compute" or len(op.inputs) != 1 or len(op.outputs) != 1:
        return False
    is_sum = any(word in op.kind.lower() for word in ("add", "sub", "sum", "mean"))
    dtypes = {tape.values[value].dtype for value in (*op.inputs, *op.outputs)}
    return not is_sum and dtypes == {"float32"}


def _move_results(
    computed: Callable[[Tape, Op], bool], random: np.random.Generator, op: Op, run: Replay
) -> None:
    """Moves what an operation computed by one rounding of its format.

    What has no more than half of the format's digits was not rounded.
    """
    for value in op.outputs if computed(run.tape, op) else ():
        dtype = run.tape.values[value].dtype
        if dtype == "float64" or dtype in UNITS:
            array, unit = run.array(value), _unit(dtype)
            half = 2.0 ** (-np.log2(unit) // 2)
            digits = half * np.frexp(array.astype(np.float64))[0]
            run.replace(value, _moved(array, unit, random, digits == np.round(digits)))


def _unit(dtype: str) -> float:
    return _U64 if dtype == "float64" else UNITS.get(dtype, U32)


def _moved(
    array: Array, unit: float, random: np.random.Generator, exact: Array | None = None
) -> Array:
    """Numbers one rounding up, down, or where they are; what has few bits is exact."""
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        if exact is None:
            exact = wide * _FEW_BITS == np.round(wide * _FEW_BITS)
        step = 2 * unit * random.integers(-1, 2, array.shape)
        found: Array = np.where(exact, array, wide * (1 + step)).astype(array.dtype)
    return found


def _step(before: Array, after: Array) -> Array:
    """The difference of each element; infinite where it alone is finite in one of them."""
    before, after = in_reals(before), in_reals(after)
    if before.shape != after.shape:
        return np.full(before.shape, np.inf)
    with np.errstate(all="ignore"):
        step = np.abs(before.astype(np.float64) - after.astype(np.float64))
        same = (before == after) | ((before != before) & (after != after))
    found: Array = np.where(same, 0.0, np.where(np.isnan(step), np.inf, step))
    return found


def hidden(array: Array) -> Array:
    """Which elements a mask's large constant hides."""
    found: Array = np.isfinite(array) & ~np.isfinite(mask_sentinels(array))
    return found
