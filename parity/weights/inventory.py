"""Every parameter and buffer of a model: what it is called, and which operations use it as what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from parity.escape import on_one_line
from parity.frameworks import load
from parity.inputs.layout_advice import record
from parity.measures.heads import heads_of
from parity.model import Inputs, full_name, wrap
from parity.report.sentences import outputs_lines
from parity.result import Heads
from parity.walk_once import Once
from parity.weights.pairing import Side
from parity.weights.probe_inputs import example_inputs, inputs_for
from parity.weights.tensors import Tensor, collision_notes, collisions

_HEADINGS = ("tensor", "shape", "dtype", "role", "used by")


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

    def cells(self) -> tuple[str, ...]:
        used = ", ".join(self.operations) if self.operations else "no operation: dead"
        shape = f"({','.join(map(str, self.shape))})"
        dtype = self.dtype if self.trainable else f"{self.dtype}, not trained"
        return " = ".join(self.names), shape, dtype, ", ".join(self.roles), used


@dataclass(frozen=True)
class Inventory:
    """What a model holds.

    Attributes:
        collisions: names that several tensors have, and how many: a dict keeps one of each.
        told: the same in a sentence.
        outputs: names of what the model returns.
        heads: which tensors lead to which of several outputs, and what they share.
    """

    model: str
    framework: str
    items: tuple[Item, ...]
    collisions: dict[str, int]
    told: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    heads: Heads = Heads(())

    def __str__(self) -> str:
        lines = [_HEADINGS, *(item.cells() for item in self.items)]
        outputs = [*outputs_lines(self.heads, self.outputs)]
        heads = ["", *_columns(outputs)] if outputs else []
        return "\n".join([self._headline(), "", *_columns(lines), *heads, *self._remarks()])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _headline(self) -> str:
        count = sum(_size(item.shape) for item in self.items if item.trainable)
        name = full_name(self.model, self.framework)
        return f"{name}: {len(self.items)} tensors, {count:,} trained numbers"

    def _remarks(self) -> list[str]:
        shared = [item for item in self.items if len(item.names) > 1]
        lines = [f"shared, one tensor: {' = '.join(item.names)}" for item in shared]
        if self.heads.equal:
            lines.append(f"equal in several outputs, not shared: {self.heads.equal} tensors")
        lines += self.told
        return ["", *lines] if lines else []


def _columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells as text, each column as wide as it must be."""
    lines = [[*map(on_one_line, line)] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def inventory(model: Any, inputs: Inputs = None) -> Inventory:
    """Takes stock of a model's tensors.

    Args:
        model: of any framework, or `parity.wrap` of one; it runs once.
        inputs: as for `compare`; random ones where the model states its shapes.

    Raises:
        ParityError: as for `compare`.
    """
    wrapped = wrap(model)
    inputs = example_inputs([wrapped]) if inputs is None else inputs
    framework = load(wrapped.framework)
    _, tape = record(wrapped, None, inputs_for(wrapped, wrapped, inputs))
    tensors = framework.tensors(wrapped.obj)
    side = Side(tape, tensors, {})
    roles = _roles(side)
    items = tuple(
        Item(
            tensor.names,
            tensor.shape,
            tensor.dtype,
            tensor.kind,
            tensor.trainable,
            roles.get(tensor.name, ()),
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


def _roles(side: Side) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for part in side.all_parts():
        for name in side.names(part):
            found.setdefault(name, {})[part.role] = None
    return {name: tuple(roles) for name, roles in found.items()}


def _operations(side: Side, tensor: Tensor) -> tuple[str, ...]:
    """The operations that compute with a tensor, or that it is passed to as it is."""
    tape = side.tape
    book = side.addresses
    number = book.tensors.index(tensor)
    todo = Once(leaf for leaf, own in book.leaves.items() if own == number)
    found: dict[str, None] = {}
    for value in todo:
        for index in tape.consumers[value]:
            op = tape.ops[index]
            if op.role == "move":
                todo.add(op.outputs)
            found[f"{op.kind} at {op.site.layer}" if op.site.layer else op.kind] = None
    return tuple(found)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
