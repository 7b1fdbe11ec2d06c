"""A layer stands where the reference has another one of the same kind and shapes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OTHER_LAYERS_TRIED
from parity.diagnosis.causes._weights import with_leaves
from parity.diagnosis.causes.combinators import first_fitting
from parity.tape import Tape, Value

Layer = Mapping[str, Value]  # its parameters and buffers by their names in it


@cause("weight-swapped", tier=1)
@first_fitting
def another_layer(case: Case) -> Iterator[Explanation]:
    """A whole layer is another one of its kind: a block's first norm is used again as its second.

    Looks like: a value of the right size that no single weight of the other layer gives, as that of
        a norm which is folded into a factor and an offset.
    Proof: the reference with all parameters of one of its layers replaced by those of another one
        gives the candidate's value.
    """
    side = case.repaired.reference
    layers = _layers(side.tape)
    read = {leaf.id for leaf in case.reference.leaves}
    here = [(path, one) for path, one in layers.items() if _is_read(one, read)]
    pairs = (
        (path, one, other)
        for path, one in here
        for other in layers
        if other != path and _is_alike(one, layers[other])
    )
    for path, one, other in itertools.islice(pairs, OTHER_LAYERS_TRIED):
        wrong = {one[name].id: side.run.array(value.id) for name, value in layers[other].items()}
        yield Explanation(
            "weight-swapped",
            f"the layer {other} stands where the reference has {path}",
            with_leaves(case, wrong),
            parameters={"layer": (path, other)},
        )


def _layers(tape: Tape) -> Mapping[str, Layer]:
    """The layers of a model that hold more than one parameter, by their paths."""
    found: dict[str, dict[str, Value]] = {}
    for value in tape.values:
        if value.op < 0 and value.kind in ("parameter", "buffer") and value.size > 1:
            path, _, name = re.sub(r"[./](?=[^./]*$)", "\0", value.name).partition("\0")
            if name and tape.consumers[value.id]:
                found.setdefault(path, {})[name] = value
    return {path: layer for path, layer in found.items() if len(layer) > 1}


def _is_read(layer: Layer, read: set[int]) -> bool:
    return all(value.id in read for value in layer.values())


def _is_alike(one: Layer, other: Layer) -> bool:
    """Whether two layers hold parameters of the same names and shapes."""
    return {name: value.shape for name, value in one.items()} == {
        name: value.shape for name, value in other.items()
    }
