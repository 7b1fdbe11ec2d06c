"""Positions that are counted otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._context import maps_elementwise
from parity.diagnosis.causes._limits import POSITIONS_SHOWN
from parity.diagnosis.causes._substitution import static_ops
from parity.operations import LOOK_UPS
from parity.tape import Array

# --- positions ------------------------------------------------------------------------------------


@cause("position-ids", "axis-order")
def position_ids(case: Case) -> Iterator[Explanation]:
    """Positions are counted otherwise: from another number, or through the padding.

    Looks like: embeddings that are another position's.
    Proof: what is added to (or multiplies) the reference's embeddings are rows of one table, and
        the candidate's are other rows of it.
    """
    first = case.first
    if not maps_elementwise(case) or first.x.ndim < 2:
        return
    for join, part in ((np.add, np.subtract), (np.multiply, np.divide)):
        with np.errstate(all="ignore"):
            reference, candidate = part(first.reference, first.x), part(first.candidate, first.x)
        if not (np.isfinite(reference).all() and np.isfinite(candidate).all()):
            continue
        for table in _tables(case, first.x.shape[-1]):
            rows = _rows(table, reference), _rows(table, candidate)
            if rows[0] is None or rows[1] is None or np.array_equal(rows[0], rows[1]):
                continue
            reordered = _moved_rows(case, table, rows[0], candidate)
            reordered = reordered or _whole_table(case, table, rows[0], rows[1])
            if not (reordered or _are_counted(rows[0], rows[1]) or _are_looked_up(case)):
                continue  # the rows of a bias have no positions
            yield _positions(join, table[rows[0]], table[rows[1]], rows[0], rows[1], reordered)
            return
        shifted = _continued(reference, candidate)
        if shifted is not None:
            by, predicted = shifted
            shape = first.x.shape
            start = np.broadcast_to(np.arange(shape[-2]), shape[:-1])
            yield _positions(join, reference, predicted, start, start + by)
            return


def _are_counted(reference: Array, candidate: Array) -> bool:
    """Whether rows stand for steps from some number on, and another number on the other side."""
    steps = np.diff(reference, axis=-1)
    return (
        reference.shape[-1] > 1 and bool((steps == 1).all()) and np.ptp(candidate - reference) == 0
    )


def _are_looked_up(case: Case) -> bool:
    """Whether a side reads rows by whole numbers; slices and turns are no look-up."""
    return any(
        op.word in LOOK_UPS
        for view in (case.reference, case.candidate)
        for op in (*view.ops, *static_ops(view))
    )


def _positions(
    join: Callable[[Array, Array], Array],
    reference: Array,
    candidate: Array,
    was: Array,
    now: Array,
    reordered: str = "",
) -> Explanation:
    by = np.unique(now - was)
    parameters = {"position": (int(was.flat[0]), int(now.flat[0]))} if by.size == 1 else {}
    words = (
        f"positions are counted {by[0]:+d} from the reference's"
        if by.size == 1
        else _in_words(was, now)
    )
    return Explanation(
        "axis-order" if reordered else "position-ids",
        reordered or words,
        lambda trial: join(trial.x, candidate),
        lambda trial: join(trial.x, reference),
        parameters,
        cost=-1,
    )


def _in_words(was: Array, now: Array) -> str:
    rows = [one.reshape(-1, one.shape[-1]) for one in (was, now)]
    alike = all((one == one[0]).all() for one in rows)
    was, now = (one[:1] if alike else one for one in rows)  # the samples' positions are one
    shown = (", ".join(map(str, one[-1][:POSITIONS_SHOWN].tolist())) for one in (now, was))
    return (
        f"{(now != was).sum()} of {now.size} positions are not the reference's, such as "
        f"{next(shown)} for {next(shown)}"
    )


def _moved_rows(case: Case, table: Array, was: Array, found: Array) -> str:
    """What is said where the candidate reads the same places of a table of its own."""
    for leaf in case.candidate.leaves:
        if leaf.array.shape != table.shape or np.array_equal(leaf.array, table):
            continue
        if len(np.unique(table, axis=0)) < len(table):
            return ""  # of equal rows no order is known
        own = _rows(leaf.array, found)
        order = _rows(table, leaf.array)
        if own is not None and order is not None and np.array_equal(own, was):
            first = ", ".join(map(str, order[:POSITIONS_SHOWN].tolist()))
            return f"{_name(case, table)} holds its rows in another order: {first}"
    return ""


def _name(case: Case, table: Array) -> str:
    leaves = (*case.reference.leaves, *case.candidate.leaves)
    alike = (one for one in leaves if np.array_equal(one.array, table))
    return next((one.name for one in alike if one.name), "a table")


def _whole_table(case: Case, table: Array, was: Array, now: Array) -> str:
    """What is said where no side looks rows up: one has the whole table in another order."""
    rows = [one.reshape(-1, one.shape[-1]) for one in (was, now)]
    every = np.arange(len(table))
    if any((one != one[0]).any() or not np.array_equal(np.sort(one[0]), every) for one in rows):
        return ""
    if _are_looked_up(case):
        return ""
    name = _name(case, table)
    if np.array_equal(rows[0][0], every) and np.array_equal(rows[1][0], every[::-1]):
        return f"the rows of {name} are read in reverse order"
    first, second = (", ".join(map(str, one[0][:POSITIONS_SHOWN].tolist())) for one in rows)
    return f"the rows of {name} are read in the order {second}; the reference's in {first}"


def _tables(case: Case, width: int) -> Iterator[Array]:
    for leaf in (*case.reference.leaves, *case.candidate.leaves):
        array = leaf.array
        if array.ndim == 2 and array.shape[1] == width and 2 <= array.shape[0] <= 65536:
            if array.dtype.kind == "f":
                yield array


def _rows(table: Array, found: Array) -> Array | None:
    """Which rows of a table an array is made of; None if it is not."""
    flat = found.reshape(-1, found.shape[-1])
    # the sums of rows distinguish them; what is found is compared as a whole
    weights = np.random.default_rng(0).standard_normal(table.shape[1])
    keys, wanted = table @ weights, flat @ weights
    order = np.argsort(keys)
    at = np.clip(np.searchsorted(keys[order], wanted), 1, len(keys) - 1)
    low, high = order[at - 1], order[at]
    rows = np.where(np.abs(keys[low] - wanted) <= np.abs(keys[high] - wanted), low, high)
    scale = min(float(np.abs(table).max()), float(np.abs(flat).max()))
    if not np.allclose(table[rows], flat, rtol=1e-5, atol=1e-6 * scale):
        return None
    result: Array = rows.reshape(found.shape[:-1])
    return result


def _continued(reference: Array, candidate: Array) -> tuple[int, Array] | None:
    """By how many steps the second, of waves over the steps, is the first moved on."""
    if reference.shape[-2] < 3 or np.allclose(reference, candidate, rtol=1e-5):
        return None
    for by in (1, -1, 2, -2):
        moved = reference if by > 0 else np.flip(reference, -2)
        for _ in range(abs(by)):
            following = _next(moved)
            if following is None:
                return None
            moved = np.concatenate([moved[..., 1:, :], following[..., None, :]], axis=-2)
        moved = moved if by > 0 else np.flip(moved, -2)
        if np.allclose(moved, candidate, rtol=1e-5, atol=1e-6):
            return by, candidate
    return None


def _next(waves: Array) -> Array | None:
    """The next step of waves, each of a frequency: a[t + 1] = 2 cos(w) a[t] - a[t - 1]."""
    before, at, after = waves[..., :-2, :], waves[..., 1:-1, :], waves[..., 2:, :]
    twice = ((before + after) * at).sum(axis=-2) / np.square(at).sum(axis=-2)
    if not np.allclose(after, twice[..., None, :] * at - before, atol=1e-5):
        return None
    result: Array = twice * waves[..., -1, :] - waves[..., -2, :]
    return result
