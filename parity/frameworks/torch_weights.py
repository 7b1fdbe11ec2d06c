"""How torch names, lays out and stores the weights of its layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from parity.frameworks.traits import WeightRules
from parity.tape import Array
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell

# a layer and a direction each have their own
_CELL = re.compile(r"(?P<cell>.*?)(?P<role>(?:weight|bias)_(?:ih|hh))(?P<cell2>_l\d+)?"
                   r"(?P<cell3>_reverse)?$")  # fmt: skip


def cells(names: Collection[str], read: Callable[[str], Array]) -> Iterator[CellWeights]:
    """See `WeightRules.cells`."""
    return cells_by_name(names, read, _CELL, _cell)


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if not {"weight_ih", "weight_hh"} <= set(own):
        return None
    biases = [own[key] for key in ("bias_ih", "bias_hh") if key in own]
    units = own["weight_hh"].shape[1]
    return weights_of_cell(units, own["weight_ih"], own["weight_hh"], biases)


def momentum(kept: float) -> str:
    """See `WeightRules.momentum`."""
    return f"momentum {1 - kept:g}"


WEIGHTS = WeightRules(cells=cells, momentum=momentum)
