"""Differences over runs as text, on a log axis: what is below rounding is level."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, log10

from parity.baseline.entry import Layer

WIDTH = 40
_STEPS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_DECADES = 2.0  # a plot covers at least as many: less is no movement


def spark(layers: Sequence[Layer | None]) -> str:
    """A step for each run, or for as many as fit; a dot where the layer was not compared."""
    heights = levels(layers)
    each = ceil(len(heights) / WIDTH)
    parts = [heights[at : at + each] for at in range(0, len(heights), each)]
    text = ""
    for part in parts:
        known = [one for one in part if one is not None]
        text += _STEPS[round(max(known) * (len(_STEPS) - 1))] if known else _GAP
    return text


def levels(layers: Sequence[Layer | None]) -> list[float | None]:
    """How high each difference is between the lowest and the highest, in 0..1; 0.0 is lowest."""
    values = [None if layer is None else _value(layer) for layer in layers]
    known = [log10(one) for one in values if one and one < inf]
    low = min(known, default=0.0)
    if 0.0 in values:
        low -= _DECADES  # whatever is not 0.0 stands above it
    span = max(max(known, default=0.0) - low, _DECADES)
    return [
        None
        if one is None or layer is None
        else min((log10(one) - low) / span, 1.0)
        if one and layer.difference
        else 0.0
        for layer, one in zip(layers, values, strict=True)
    ]


def _value(layer: Layer) -> float | None:
    return None if layer.difference is None else max(layer.difference, layer.rounding)
