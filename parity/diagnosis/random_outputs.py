"""Which outputs random draws change: that a draw leads to an output does not say that it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.draws.draw import Draw, generator
from parity.errors import ReplayError
from parity.numerics.accounting import at_least_usual, excess, rounding
from parity.tape import Array, Replay, Tape


def drawn_outputs(tape: Tape) -> frozenset[str]:
    """The names of outputs that are others where other samples are drawn.

    The draws are replaced by others that are as far off as any that could be drawn: ends of the
    range, the opposite, another order; and by some no larger than what was drawn, as a loss that is
    cut off may show no others. What none of them changes by more than rounding, as noise that is
    multiplied by 0 or rows that are shuffled and put back, draws do not decide.
    """
    if tape.lost_draws:
        return frozenset(tape.outputs)
    found: set[str] = set()
    draws = [op for op in tape.ops if op.role == "random"]
    drawn = {op.index for op in draws}
    left = {
        name
        for name, value in tape.outputs.items()
        if not drawn.isdisjoint(tape.graph.ancestors([value]))
    }
    if not left:
        return frozenset()
    recorded = Replay(tape, None, tape.recorded)  # keeps its arrays
    exact: dict[str, Array] | None = None
    for turn in range(len(_OTHERS) + limits.MIXED_TURNS + limits.USUAL_TURNS):
        if found == left:
            break
        given = {
            value: _other(turn, op.draw, recorded.array(value), value)
            for op in draws
            for value in op.outputs
        }
        try:
            again = tape.outputs_of(None, given)
            for name in left - found:
                ran = recorded.array(tape.outputs[name])
                if np.array_equal(ran, again[name], equal_nan=ran.dtype.kind in "fc"):
                    continue
                exact = exact or dict(tape.outputs_of("float64"))
                if not is_kernel_rounding(again[name], ran, exact[name]):
                    found.add(name)
        except ReplayError:  # an operation does not take such samples: they do matter to it
            return frozenset(left)
    return frozenset(found)


def is_kernel_rounding(ran: Array, again: Array, exact: Array) -> bool:
    """Whether two replays differ by no more than rounding does, as one in float64 measures it."""
    if ran.shape != again.shape:
        return False
    if ran.dtype.kind not in "fc":
        differ = ran != again
        return bool((again[differ] != exact[differ]).all())  # rounding decides there
    usual = at_least_usual(rounding(again, exact))
    size = np.abs(np.nan_to_num(again))
    size = size[..., None] if again.dtype.kind == "c" else size
    allowed = limits.RERUN_KERNELS * (usual + float(np.finfo(again.dtype).eps) * size)
    wide = np.complex128 if ran.dtype.kind == "c" else np.float64
    return excess(again.astype(wide), ran.astype(wide), allowed).ratio <= 1.0


# --- other samples -------------------------------------------------------------------------------


def _other(turn: int, draw: Draw | None, array: Array, value: int) -> Array:
    """Samples in the place of others; an order of things stays one."""
    if _is_order(array):
        found = array[::-1] if not turn else generator(array.size, turn).permutation(array)
    elif turn < len(_OTHERS):
        found = _OTHERS[turn](array.astype(np.float64), *_ends(draw, array))
    elif turn >= len(_OTHERS) + limits.MIXED_TURNS:
        found = _usual(array, *_ends(draw, array), value, turn)
    else:
        found = _mixed(array, *_ends(draw, array), value, turn)
    return np.asarray(found).astype(array.dtype).reshape(array.shape)


def _mixed(array: Array, low: float, high: float, value: int, turn: int) -> Array:
    """Ends and middles, of each draw others: a low coin may decide that a high action counts."""
    random = generator(value, turn, 17)
    return random.choice([low, (low + high) / 2, high], array.shape)


def _usual(array: Array, low: float, high: float, value: int, turn: int) -> Array:
    """What was drawn in another order, and of some of it the opposite."""
    random = generator(value, turn, 23)
    found = random.permutation(array.ravel()).astype(np.float64)
    return np.where(random.random(found.shape) < 0.5, found, low + high - found)


def _in_turn(array: Array, first: float, second: float) -> Array:
    return np.where(np.arange(array.size) % 2, second, first)


_OTHERS: Sequence[Callable[[Array, float, float], Array]] = (
    lambda array, low, high: low + high - array,
    lambda array, low, high: np.full(array.shape, low),
    lambda array, low, high: np.full(array.shape, high),
    lambda array, low, high: _in_turn(array, low, high),
    lambda array, low, high: _in_turn(array, high, low),
)


def _ends(draw: Draw | None, array: Array) -> tuple[float, float]:
    """As far out as any number that is drawn, within what an operation takes."""
    if array.dtype.kind == "b" or draw is not None and draw.name == "bernoulli":
        return 0.0, 1.0
    given = draw.parameters if draw is not None else {}
    if "low" in given and "high" in given:
        low, high = given["low"], given["high"]
        near = limits.NEAR_AN_END * (high - low)
        return (low + near, high - near) if array.dtype.kind == "f" else (low, high - 1)
    least, largest = (float(end(array, initial=0)) for end in (np.min, np.max))
    if array.dtype.kind != "f":
        return least, max(largest, 1.0)
    size = limits.UNBOUNDED_REACH * max(abs(least), abs(largest), 1.0)
    return (-size if least < 0 else 1 / size), size


def _is_order(array: Array) -> bool:
    places = array.dtype.kind in "iu" and array.ndim == 1 and array.size > 1
    return places and np.array_equal(np.sort(array), np.arange(array.size))
