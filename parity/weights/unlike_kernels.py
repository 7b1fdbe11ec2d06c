"""Layers that were paired crosswise, seen by kernels that cannot be each other's."""

from __future__ import annotations

import math
from collections.abc import Mapping

from parity.weights.operands import Part

Parts = Mapping[int, Mapping[str, Part]]


def exchanged_where_unlike(
    source: Parts, target: Parts, steps: Mapping[int, int]
) -> dict[int, int]:
    """The steps, with those exchanged whose kernels are of unlike sizes; {} if that fits none.

    As of two layers that stand in the other order, one on each of two values.

    Args:
        source, target: the parts of each model's steps, by role.
        steps: the source's steps with the target's.
    """
    left, right = (
        {step: math.prod(own["kernel"].shape) for step, own in parts.items() if "kernel" in own}
        for parts in (source, target)
    )
    unlike = [(a, b) for a, b in steps.items() if a in left and b in right and left[a] != right[b]]
    fitting = {a: [b for _, b in unlike if right[b] == left[a]] for a, _ in unlike}
    if not unlike or any(len(found) != 1 for found in fitting.values()):
        return {}
    exchanged = {a: found[0] for a, found in fitting.items()}
    return {**steps, **exchanged} if len({*exchanged.values()}) == len(exchanged) else {}
