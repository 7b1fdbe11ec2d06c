"""How torch names, lays out and stores the weights of its layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from parity.tape import Array
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell

FILE_FORMATS: Mapping[str, str] = {}

# a layer and a direction each have their own
_CELL = re.compile(r"(?P<cell>.*?)(?P<role>(?:weight|bias)_(?:ih|hh))(?P<cell2>_l\d+)?"
                   r"(?P<cell3>_reverse)?$")  # fmt: skip


def cells(names: Collection[str], read: Callable[[str], Array]) -> Iterator[CellWeights]:
    """See `Adapter.cells`."""
    return cells_by_name(names, read, _CELL, _cell)


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if not {"weight_ih", "weight_hh"} <= set(own):
        return None
    biases = [own[key] for key in ("bias_ih", "bias_hh") if key in own]
    units = own["weight_hh"].shape[1]
    return weights_of_cell(units, own["weight_ih"], own["weight_hh"], biases)


def cell_layer(name: str, known: Collection[str]) -> str | None:
    """See `Adapter.cell_layer`."""
    return None


def momentum(kept: float) -> str:
    """See `Framework.momentum`."""
    return f"momentum {1 - kept:g}"


def stored_name(name: str) -> str:
    """See `Framework.stored_name`."""
    return name


def own_writer(obj: Any, name: str) -> Callable[[str], Any] | None:
    """See `Framework.own_writer`."""
    return None


def own_reader(obj: Any, format: str) -> Callable[[str], Any] | None:
    """See `Framework.own_reader`."""
    return None
