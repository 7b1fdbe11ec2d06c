"""How Keras names, lays out and stores the weights of its layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from parity.frameworks.traits import WeightRules
from parity.tape import Array
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell

_CELL = re.compile(r"(?P<cell>.*/)?(?P<role>kernel|recurrent_kernel|bias)$")
_GATES = {3: (1, 0, 2)}  # a GRU's are z, r, n; an LSTM's are in the common order
_FORMATS = ("keras", "keras-weights", "keras-h5")


def cells(names: Collection[str], read: Callable[[str], Array]) -> Iterator[CellWeights]:
    """See `WeightRules.cells`."""
    return cells_by_name(names, read, _CELL, _cell)


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if not {"kernel", "recurrent_kernel"} <= set(own):
        return None
    units, columns = own["recurrent_kernel"].shape
    order = _GATES.get(columns // units, tuple(range(columns // units)))

    def rows(array: Array) -> Array:  # (..., gates x units) to (gates x units, ...)
        gates = array.reshape(*array.shape[:-1], len(order), units)[..., order, :]
        return np.moveaxis(gates.reshape(*array.shape), -1, 0)

    biases = [rows(one) for one in np.atleast_2d(own["bias"])] if "bias" in own else []
    return weights_of_cell(units, rows(own["kernel"]), rows(own["recurrent_kernel"]), biases)


def own_writer(obj: Any, name: str) -> Callable[[str], Any] | None:
    """See `WeightRules.own_writer`."""
    found = getattr(obj, "save_weights" if name.endswith(".weights.h5") else "save", None)
    return found if callable(found) else None


def own_reader(obj: Any, format: str) -> Callable[[str], Any] | None:
    """See `WeightRules.own_reader`."""
    found = getattr(obj, "load_weights", None) if format in _FORMATS else None
    return found if callable(found) else None


def input_shapes(obj: Any) -> list[tuple[int | None, ...]]:
    """See `WeightRules.input_shapes`."""
    return [tuple(getattr(one, "shape", ())) for one in getattr(obj, "inputs", None) or ()]


def takes_channels_last(obj: Any) -> bool:
    """See `WeightRules.takes_channels_last`."""
    for layer in getattr(obj, "layers", None) or ():
        if type(layer).__name__ not in ("InputLayer", "Rescaling"):
            window = hasattr(layer, "kernel_size") or hasattr(layer, "pool_size")
            return window and getattr(layer, "data_format", None) == "channels_last"
    return False


WEIGHTS = WeightRules(
    cells=cells,
    own_writer=own_writer,
    own_reader=own_reader,
    input_shapes=input_shapes,
    takes_channels_last=takes_channels_last,
)
