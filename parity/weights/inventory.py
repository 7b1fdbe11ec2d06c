"""Every parameter and buffer of a model: what it is called, and which operations use it as what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from parity.measures.heads import heads_of
from parity.model import Inputs, wrap
from parity.report.text_table import inventory_text
from parity.result import Heads
from parity.walk_once import Once
from parity.weights.pairing import Side
from parity.weights.probe_inputs import side_of
from parity.weights.tensors import Tensor, collision_notes, collisions


@dataclass(frozen=True)
class Item:
    """A tensor and its use.

    Attributes:
        names: all that it goes by; several where it is shared.
        roles: `kernel`, `bias`, `gamma`, ...; () where no step is known that it belongs to.
        operations: kind and layer of each operation that reads it, once each.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    kind: str
    trainable: bool
    roles: tuple[str, ...]
    operations: tuple[str, ...]

    @property
    def dead(self) -> bool:
        return not self.operations


@dataclass(frozen=True)
class Inventory:
    """What a model holds.

    Attributes:
        collisions: names that several tensors have, and how many: a dict keeps one of each.
        notes: the same in a sentence.
        outputs: names of what the model returns.
        heads: which tensors lead to which of several outputs, and what they share.
    """

    model: str
    framework: str
    items: tuple[Item, ...]
    collisions: dict[str, int]
    notes: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    heads: Heads = Heads(())

    def __str__(self) -> str:
        return inventory_text(self)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def inventory(model: Any, inputs: Inputs = None) -> Inventory:
    """Takes stock of a model's tensors.

    Args:
        model: of any framework, or `parity.wrap` of one; it runs once.
        inputs: as for `compare`; random ones where the model states its shapes.

    Raises:
        ParityError: as for `compare`.
    """
    wrapped = wrap(model)
    side = side_of(wrapped, inputs)
    tape, tensors = side.tape, side.tensors
    roles: dict[str, dict[str, None]] = defaultdict(dict)
    for part in side.all_parts():
        for name in side.names(part):
            roles[name][part.role] = None
    items = tuple(
        Item(
            tensor.names,
            tensor.shape,
            tensor.dtype,
            tensor.kind,
            tensor.trainable,
            tuple(roles[tensor.name]),
            _operations(side, tensor),
        )
        for tensor in tensors
    )
    return Inventory(
        wrapped.name,
        wrapped.framework,
        items,
        collisions(tensors),
        tuple(collision_notes(wrapped.name, tensors)),
        tuple(tape.outputs),
        heads_of(tape, tape.outputs),
    )


def _operations(side: Side, tensor: Tensor) -> tuple[str, ...]:
    """The operations that compute with a tensor, or that it is passed to as it is."""
    tape = side.tape
    todo = Once(leaf for leaf, number in side.leaves.items() if side.tensors[number] is tensor)
    found: dict[str, None] = {}
    for value in todo:
        for op in (tape.ops[index] for index in tape.consumers[value]):
            if op.role == "move":
                todo.add(op.outputs)
            found[f"{op.kind} at {op.site.layer}" if op.site.layer else op.kind] = None
    return tuple(found)
