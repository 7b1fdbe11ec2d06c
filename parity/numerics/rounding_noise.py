"""How far rounding moves values: all that a tape starts from moves by one unit in the last place.

An element of one run may be right by luck. Where inputs, parameters and constants move, everything
between is rounded otherwise too, and the luck is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from parity.errors import ReplayError
from parity.numerics import limits
from parity.numerics.accounting import in_reals, is_progression
from parity.numerics.difference import mask_sentinels, same_elements
from parity.numerics.limits import U32, UNITS
from parity.operations import CONVOLUTIONS
from parity.tape import Array, Op, Precision, Replay, Tape

_SUMS = frozenset(
    "add add_all subtract subtract_from bias_add sum mean cumulative_sum variance_and_mean "
    "log_sum_exp log_add_exp multiply_add divide_add add_matmul dense einsum".split()
)
_ARITHMETIC = (
    _SUMS
    | CONVOLUTIONS
    | frozenset(
        "multiply divide divide_from floor_divide negate square squared_difference matmul "
        "tensordot attention resize_linear".split()
    )
)


def masks_are_constant(tape: Tape, value: int, given: Mapping[int, Array]) -> bool:
    """Whether what hides elements of a value stays, where the model's inputs move by up to 3%.

    Of a single number it cannot be seen whether it is a mask's constant: a loss may be as large.
    Where a model lists what it finds, inputs move by less, so that as many are found; if they never
    are, nothing speaks against a mask.

    Args:
        given: what replaces values of the tape, its inputs among them, in float64.
    """
    before = tape.replay("float64", dict(given), kept=[value]).array(value)
    for share in limits.MASK_SHARES:
        moved = {**given, **_moved_inputs(tape, given, share)}
        after = tape.replay("float64", moved, kept=[value]).array(value)
        if after.shape == before.shape:
            with np.errstate(all="ignore"):
                least = limits.MASK_CONSTANT * share / limits.MASK_SHARES[0] * np.abs(before)
                stays = np.abs(after - before) <= least
            return bool((stays | ~hidden(before)).all())
    return True


def _moved_inputs(tape: Tape, given: Mapping[int, Array], share: float) -> dict[int, Array]:
    """A model's inputs, each value moved by up to a share of itself."""
    random = np.random.default_rng(0)
    moved = {}
    for one in tape.inputs.values():
        array = np.asarray(given.get(one, tape.recorded_array(one)))
        if array.dtype.kind == "f" and not (array == np.round(array)).all():  # no mask, no index
            moved[one] = array * (1 + share * random.uniform(-1, 1, array.shape))
    return moved


def moved_by_rounding(
    tape: Tape,
    values: Collection[int],
    given: Mapping[int, Array] | None = None,
    computed: Callable[[Tape, Op], bool] | None = None,
) -> dict[int, Array]:
    """How far each element of `values` moves at most, over a few replays as recorded.

    Args:
        given: what replaces values of the tape in all of these, such as random draws.
        computed: names operations whose results move too, as they do where these round (stochastic
            arithmetic: Vignes, "A stochastic arithmetic for reliable scientific computation",
            1993).
    """
    *_, found = moves(tape, values, given, computed)
    return found


def moves(
    tape: Tape,
    values: Collection[int],
    given: Mapping[int, Array] | None = None,
    computed: Callable[[Tape, Op], bool] | None = None,
) -> Iterator[dict[int, Array]]:
    """The same after each of these replays, as far as elements have moved by then."""
    given = given or {}
    base = _as_recorded(tape, values, given)
    found = {value: np.zeros(in_reals(array).shape) for value, array in base.items()}
    turns = [(turn, computed) for turn in range(limits.NOISE_DRAWS)]
    for again in _moved_runs(tape, values, given, None, turns):
        for value, largest in found.items():
            np.fmax(largest, _step(base[value], again.array(value)), out=largest)
        yield found


def _as_recorded(
    tape: Tape, values: Collection[int], given: Mapping[int, Array]
) -> dict[int, Array]:
    names = tape.output_names
    if not given and names.keys() >= set(values):
        return {value: tape.replayed[names[value]] for value in values}
    run = tape.replay(None, given, kept=values)
    return {value: run.array(value) for value in values}


def moved_as_long(
    tape: Tape,
    value: int,
    given: Mapping[int, Array],
    precision: Precision,
    shape: tuple[int, ...],
) -> Array:
    """How far each value of a list moves at most by float32 roundings, where it is as long.

    Nothing is known, and 0 given, where rounding makes it another length in all of the replays.
    """
    base = in_reals(tape.replay(precision, given, kept=[value]).array(value))
    found = np.zeros(shape)
    turns = [(turn, computed) for turn in range(limits.NOISE_DRAWS) for computed in (None, rounds)]
    for run in _moved_runs(tape, [value], given, precision, turns):
        again = in_reals(run.array(value))
        if again.shape == base.shape == shape:
            np.fmax(found, _step(base, again), out=found)
    return found


def _moved_runs(
    tape: Tape,
    values: Collection[int],
    given: Mapping[int, Array],
    precision: Precision,
    turns: Iterable[tuple[int, Callable[[Tape, Op], bool] | None]],
) -> Iterator[Replay]:
    """Replays for `values` in which leaves move, and what operations compute that a turn names."""
    leaves = [one for one in tape.values if tape.producer(one.id) is None]
    recorded = {one.id: tape.recorded_array(one.id) for one in leaves}
    random = np.random.default_rng(0)
    for turn, computed in turns:
        steps = _steps(random, turn)
        moved = {
            one.id: _moved(recorded[one.id], _unit(one.dtype), steps, one.kind != "input")
            for one in leaves
            if recorded[one.id].dtype.kind == "f"
        }
        after = None if computed is None else partial(_move_results, computed, steps)
        yield tape.replay(precision, {**moved, **given}, after=after, kept=values)


def lost_in_kernels(
    tape: Tape, values: Collection[int], given: Mapping[int, Array]
) -> dict[int, Array]:
    """How far elements of `values` move at most by what kernels of a framework lose of their own.

    As a sigmoid that is half of a tanh and one half, far below zero. What a kernel gives is held
    against what it gives in float64 for the same inputs. Plain arithmetic loses nothing there: what
    is lost by a difference of two values, was lost where they were rounded.
    """
    base = tape.replay(None, given)
    errors: dict[int, Array] = {}
    for op in tape.ops:
        if op.index in tape.used and _is_kernel(tape, op):
            errors.update(_lost(tape, op, base))
    if not errors:
        return {value: np.zeros(in_reals(base.array(value)).shape) for value in values}
    random = np.random.default_rng(0)

    def lose(op: Op, run: Replay) -> None:
        for value in errors.keys() & set(op.outputs):
            array = run.array(value)
            step = errors[value] * random.choice([-1, 1], array.shape)
            run.replace(value, (array + step).astype(array.dtype))

    runs = [tape.replay(None, given, after=lose, kept=values) for _ in range(limits.NOISE_DRAWS)]
    return {value: _largest_step(value, base, runs) for value in values}


def _is_kernel(tape: Tape, op: Op) -> bool:
    """Whether a kernel computes more than plain arithmetic, in float32, place by place."""
    outputs, inputs = ([tape.values[one] for one in some] for some in (op.outputs, op.inputs))
    arithmetic = op.word in _ARITHMETIC
    if op.role != "compute" or op.static or arithmetic or not outputs:
        return False
    if tape.adapter.TRAITS.is_foreign(op):  # the user's own, which may be no approximation
        return False
    in_place = all(_is_by_places(one.shape, outputs[0].shape) for one in inputs)
    return in_place and {one.dtype for one in outputs} == {"float32"}


def _is_by_places(entering: tuple[int, ...], leaving: tuple[int, ...]) -> bool:
    """Whether there are as many values, or several for each along one axis."""
    if len(entering) != len(leaving):
        return False
    other = [(a, b) for a, b in zip(entering, leaving, strict=True) if a != b]
    return len(other) <= 1 and all(b > 0 and a % b == 0 for a, b in other)


def _lost(tape: Tape, op: Op, run: Replay) -> dict[int, Array]:
    """What an operation's results are off by, where that is more than their own rounding."""
    entering = {value: run.array(value) for value in op.inputs}
    wide = {v: a.astype(np.float64) if a.dtype.kind == "f" else a for v, a in entering.items()}
    try:
        exact = tape.replay("float64", wide, Replay(tape, "float64", {}), only=(op.index,))
    except ReplayError:
        return {}
    if exact.fallbacks:
        return {}
    found = {}
    for value in op.outputs:
        ran = run.array(value).astype(np.float64)
        error = _step(exact.array(value), ran)
        large = np.isfinite(error) & (error > limits.KERNEL_ROUNDINGS * U32 * np.abs(ran))
        if large.any():
            found[value] = np.where(large, error, 0.0)
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
    return most if most is not None and most[0] > limits.MAGNIFIED else None


def moved_in_float64(
    tape: Tape, values: Collection[int], given: Mapping[int, Array]
) -> list[Array]:
    """How far elements of `values` move where all that is computed does, by a float64 rounding.

    What cancels there, as 1 + erf far below zero, is rounding alone in any precision. Inside a
    kernel it is not seen: what is no plain arithmetic moves by a rounding of 1 as well, and a curve
    by one of its inputs.
    """

    def move(op: Op, run: Replay) -> None:
        for value in op.outputs if op.role == "compute" else ():
            array = run.array(value)
            if array.dtype == np.float64:
                step = 2 * limits.U64 * random.choice([-1, 1], array.shape)
                run.replace(value, array * (1 + step) + step * _inside(op, run))

    random = np.random.default_rng(0)
    base = tape.replay("float64", given, kept=values)
    runs = [
        tape.replay("float64", given, after=move, kept=values) for _ in range(limits.NOISE_DRAWS)
    ]
    return [_largest_step(value, base, runs) for value in values]


def _inside(op: Op, run: Replay) -> Array | float:
    """The size of the values that may cancel inside a kernel."""
    if op.word in _ARITHMETIC or op.word in ("exp", "softmax"):
        return 0.0  # however small these are, they are right to their last digits
    if not is_curve(run.tape, op):
        return 1.0
    entering = run.array(op.inputs[0])
    same = entering.shape == run.array(op.outputs[0]).shape
    return np.maximum(1, np.abs(entering)) if same else 1.0


def rounds(tape: Tape, op: Op) -> bool:
    """Whether an operation computes anything that it rounds."""
    return op.role == "compute"


def gives_narrow(tape: Tape, op: Op) -> bool:
    """Whether an operation gives values of a format narrower than float32, a cast included."""
    return any(UNITS.get(tape.values[value].dtype, 0.0) > U32 for value in op.outputs)


def is_curve(tape: Tape, op: Op) -> bool:
    """Whether it computes each value from one other, as a tanh: frameworks have each their own.

    Sums are rounded alike everywhere: if one of them absorbs a value, that is no rounding.
    """
    if op.role != "compute" or len(op.inputs) != 1 or len(op.outputs) != 1:
        return False
    dtypes = {tape.values[value].dtype for value in (*op.inputs, *op.outputs)}
    return op.word not in _SUMS and dtypes == {"float32"}


_Steps = Callable[[tuple[int, ...]], Array]  # by how many roundings values of a shape move


def _steps(random: np.random.Generator, turn: int) -> _Steps:
    """One up or down; in all turns but the first some stay, as two that move may cancel."""
    if turn:
        return lambda shape: random.integers(-1, 2, shape, np.int8)

    def signs(shape: tuple[int, ...]) -> Array:
        size = math.prod(shape)
        drawn = np.frombuffer(random.bytes((size + 7) // 8), np.uint8)
        return 2 * np.unpackbits(drawn, count=size).view(np.int8).reshape(shape) - 1

    return signs


def _move_results(computed: Callable[[Tape, Op], bool], steps: _Steps, op: Op, run: Replay) -> None:
    """Moves what an operation rounded by one rounding; what has half of the digits was not."""
    for value in op.outputs if computed(run.tape, op) else ():
        dtype = run.tape.values[value].dtype
        if dtype == "float64" or dtype in UNITS:
            array, unit = run.array(value), _unit(dtype)
            half = 2.0 ** (-np.log2(unit) // 2)
            digits = half * np.frexp(array)[0]
            run.replace(value, _moved(array, unit, steps, False, digits == np.round(digits)))


def _unit(dtype: str) -> float:
    return limits.U64 if dtype == "float64" else UNITS.get(dtype, U32)


def _moved(
    array: Array, unit: float, steps: _Steps, made: bool, exact: Array | None = None
) -> Array:
    """Values moved by one rounding; few bits are exact, but in a progression `made` of its ends."""
    wide = array if array.dtype == np.float32 else array.astype(np.float64)  # rounded alike
    with np.errstate(all="ignore"):
        sizes = wide
        if exact is None:
            scale = np.where(np.abs(wide) < limits.SMALL, limits.FEW_BITS, 1.0)
            exact = wide * scale == np.round(wide * scale)
            if made and not exact.all() and is_progression(array):
                # the middle has the rounding of the ends
                exact, sizes = np.zeros(array.shape, bool), np.abs(wide).max()
        step = steps(array.shape) * (2 * unit * sizes)
        found: Array = np.where(exact, array, wide + step).astype(array.dtype, copy=False)
    return found


def _largest_step(value: int, base: Replay, runs: Iterable[Replay]) -> Array:
    found: Array = np.maximum.reduce([_step(base.array(value), run.array(value)) for run in runs])
    return found


def _step(before: Array, after: Array) -> Array:
    """The difference of each element; infinite where it alone is finite in one of them."""
    before, after = in_reals(before), in_reals(after)
    if before.shape != after.shape:
        return np.full(before.shape, np.inf)
    with np.errstate(all="ignore"):
        step = np.abs(before.astype(np.float64) - after.astype(np.float64))
        step = np.where(np.isnan(step), np.inf, step)
    found: Array = np.where(same_elements(before, after), 0.0, step)
    return found


def hidden(array: Array) -> Array:
    """Which elements a mask's large constant hides."""
    found: Array = np.isfinite(array) & ~np.isfinite(mask_sentinels(array))
    return found
