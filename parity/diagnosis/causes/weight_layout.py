"""Weights in another order: of axes, of channels, of pixels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import AxisOrder, arrangement, holds_two_numbers
from parity.diagnosis.causes._context import flattened, permutations
from parity.diagnosis.causes._limits import CHANNELS_COST
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._substitution import progression, static_ops
from parity.diagnosis.causes._weights import (
    Change,
    axis_of,
    changes,
    is_looked_up,
    kernel_layout,
    same,
    with_changes,
)


@cause(
    *("weight-not-transposed", "weight-reshaped", "kernel-flipped", "channel-order"),
    *("spatial-swap", "depthwise-layout", "flatten-order", "position-ids", "axis-order"),
)
def weight_arranged(case: Case) -> Iterator[Explanation]:
    """A weight holds the right values in the wrong order.

    Looks like: a value that has nothing in common with the reference's, from weights with the same
        values. A square weight that was not transposed raises no error, nor does one that was
        reshaped where it was to be transposed.
    Proof: the reference with its own weight transposed, reshaped, flipped or reordered gives the
        candidate's value.
    """
    found = changes(case)
    orders = [one for change in found if (one := _weight_order(case, change)) is not None]
    kinds = {kind for kind, _ in orders}
    if len(orders) < len(found) or len(kinds) != 1:
        return
    (kind,) = kinds
    doubts = dict.fromkeys(_may_be_other(case, one) for one in found if kind != "position-ids")
    yield Explanation(
        kind,
        "; ".join(dict.fromkeys(text for _, text in orders)),
        with_changes(case, found),
        unproved="; ".join(filter(None, doubts)),
        cost=CHANNELS_COST if kind == "channel-order" else 0.0,
    )


def _may_be_other(case: Case, change: Change) -> str:
    """Why the weight itself may be as it should be; "" if it is not."""
    if holds_two_numbers(change.leaf.array):
        return "it holds but two numbers: another index gives what another order gives"
    if is_looked_up(case.reference, change.leaf.id):
        return f"it is looked up in {change.name}: other places give that as well"
    return ""


def _weight_order(case: Case, change: Change) -> tuple[str, str] | None:
    """What was done to a weight, and in words."""
    weight, now = change.leaf.array, change.now
    computed, candidate = change.made(case)
    if computed.ops and computed.holds(candidate):
        return _computed_order(case, change)
    space = kernel_layout(case.reference, change.leaf.id)[2:]
    for count in range(1, len(space) + 1):
        for axes in itertools.combinations(space, count):
            if same(np.flip(weight, axes), now):
                return "kernel-flipped", f"{change.name} is reversed along axes {axes}"
    permuted = next((p for p in permutations(weight.shape) if same(weight.transpose(p), now)), None)
    if permuted is not None:
        moved = {axis for i, axis in enumerate(permuted) if axis != i}
        if moved <= set(space):
            return "spatial-swap", f"height and width of {change.name} are exchanged"
        kind = "depthwise-layout" if _depthwise(case) else "weight-not-transposed"
        return kind, f"{change.name} {weight.shape} is read with its axes in the order {permuted}"
    order = arrangement(weight, now)
    if order is None:
        return None
    if isinstance(order, AxisOrder):
        order = replace(order, axis=axis_of(case.reference.tape, change.leaf.id, order.axis))
        if order.axis in space:
            return "kernel-flipped", f"{change.name}: {order.sentence}"
        features = order.split
        if features is not None and _depthwise(case):
            return "depthwise-layout", f"{change.name}: channels and multiples {features}"
        if features is not None and flattened(case):
            return "flatten-order", f"{change.name}: features {features}"
        return "channel-order", f"{change.name}: {order.sentence}"
    kind = "depthwise-layout" if _depthwise(case) else "weight-reshaped"
    return kind, f"{change.name}: {order}"


def _computed_order(case: Case, change: Change) -> tuple[str, str] | None:
    """What is so of a value that equal weights and other positions give."""
    reference, candidate = (
        [
            ends
            for op in static_ops(side.view)
            for v in op.outputs
            if (ends := progression(side.model.array(v)))
        ]
        for side in sides(case)
    )
    order = arrangement(change.leaf.array, change.now)
    if not isinstance(order, AxisOrder):
        return None
    backwards = (ends for ends in candidate if ends[::-1] in reference and ends not in reference)
    first = next(backwards, None)
    if order.backwards and first is not None:
        return "position-ids", (
            f"positions are in reverse order: from {first[0]:g} to {first[1]:g}, the "
            f"reference's from {first[1]:g} to {first[0]:g}"
        )
    return "axis-order", f"what is computed from {change.name} before any input: {order.sentence}"


def _depthwise(case: Case) -> bool:
    """Whether a convolution works on each channel by itself."""
    for view in (case.reference, case.candidate):
        values = view.tape.values
        for window in filter(None, map(view.tape.window, view.computing)):
            channels = values[window.x].shape[window.channel]
            if window.depthwise or 1 < window.groups == channels:
                return True
    return False
