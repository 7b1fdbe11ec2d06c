"""A layer or a network stands where the reference has another one of the same kind and shapes."""

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

_PART = re.compile(r"[^./]+")  # of a name

Layer = Mapping[str, Value]  # its parameters and buffers by their names in it


@cause("weight-swapped", tier=1)
@first_fitting
def another_layer(case: Case) -> Iterator[Explanation]:
    """A whole layer or network is another one of its kind, as the online one for the target.

    Looks like: a value of the right size that no single weight of the other layer gives, as that of
        a norm which is folded into a factor and an offset, or a target that is the online value.
    Proof: the reference with all parameters of one of its layers, or networks, replaced by those of
        another one gives the candidate's value.
    """
    side = case.repaired.reference
    small = _layers(side.tape)
    layers = {**small, **_networks(side.tape)}
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
        what = "layer" if path in small else "network"
        yield Explanation(
            "weight-swapped",
            f"the {what} {other} stands where the reference has {path}",
            with_leaves(case, wrong),
            parameters={"layer": (path, other)},
        )


def _layers(tape: Tape) -> Mapping[str, Layer]:
    """The layers of a model that hold more than one parameter, by their paths."""
    found: dict[str, dict[str, Value]] = {}
    for value in _stored(tape):
        path, name = _split(value.name, -1)
        if name:
            found.setdefault(path, {})[name] = value
    return {path: layer for path, layer in found.items() if len(layer) > 1}


def _networks(tape: Tape) -> Mapping[str, Layer]:
    """What holds several layers, by its path; of several that hold the same ones the outermost."""
    found: dict[str, dict[str, Value]] = {}
    for value in _stored(tape):
        for depth in range(1, len(_PART.findall(value.name))):
            path, name = _split(value.name, depth)
            found.setdefault(path, {})[name] = value
    return {path: one for path, one in found.items() if len({_split(n, -1)[0] for n in one}) > 1}


def _stored(tape: Tape) -> Iterator[Value]:
    """The parameters and buffers that are read."""
    for value in tape.values:
        if value.op < 0 and value.kind in ("parameter", "buffer") and value.size > 1:
            if tape.consumers[value.id]:
                yield value


def _split(name: str, depth: int) -> tuple[str, str]:
    """A name as the path of what holds it and the rest; as many parts as `depth` are the path."""
    parts = list(_PART.finditer(name))
    if len(parts) < 2:
        return "", name if depth != -1 else ""
    at = parts[depth].start()
    return name[:at].rstrip("./"), name[at:]


def _is_read(layer: Layer, read: set[int]) -> bool:
    return all(value.id in read for value in layer.values())


def _is_alike(one: Layer, other: Layer) -> bool:
    """Whether two layers hold parameters of the same names and shapes."""
    return {name: value.shape for name, value in one.items()} == {
        name: value.shape for name, value in other.items()
    }
