"""Tables of plain text: what a transfer did, and what a model holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from parity.escape import on_one_line
from parity.format import shape_text
from parity.model import full_name
from parity.report.sentences import outputs_lines

if TYPE_CHECKING:
    from parity.weights.inventory import Inventory, Item
    from parity.weights.table import Row, Table

_OF_TRANSFERS = ("role", "source", "shape", "target", "shape", "layout", "what was done")
_OF_TENSORS = ("tensor", "shape", "dtype", "role", "used by")


def transfer_table(table: Table) -> str:
    """What a transfer did, for a terminal."""
    rows = [_OF_TRANSFERS, *map(_transferred, table.rows)]
    return "\n".join([*_columns(rows), "", *map(on_one_line, _beside(table))])


def transfer_markdown(table: Table) -> str:
    """The same for an issue or a pull request."""
    rows = [_OF_TRANSFERS, ["---"] * len(_OF_TRANSFERS), *map(_transferred, table.rows)]
    texts = [[on_one_line(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(cells)} |" for cells in texts]
    return "\n".join([*lines, "", *(f"- {on_one_line(one)}" for one in _beside(table))]) + "\n"


def _transferred(row: Row) -> Sequence[str]:
    return (
        row.role,
        " + ".join(row.source),
        " ".join(map(shape_text, row.source_shapes)),
        " + ".join(row.target),
        " ".join(map(shape_text, row.target_shapes)),
        row.layout,
        row.done,
    )


def _beside(table: Table) -> list[str]:
    """What is beside the rows, in sentences."""
    remarks = [table.by_position] * bool(table.by_position)
    for what, both in (("left over", table.left), ("without effect", table.dead)):
        for model, names in zip((table.source, table.target), both, strict=True):
            if names:
                remarks.append(f"{what} in {model}: {', '.join(names)}")
    return [*remarks, *table.notes]


def inventory_text(found: Inventory) -> str:
    """What a model holds, for a terminal."""
    count = sum(prod(item.shape) for item in found.items if item.trainable)
    name = full_name(found.model, found.framework)
    lines = [f"{name}: {len(found.items)} tensors, {count:,} trained values", ""]
    lines += _columns([_OF_TENSORS, *map(_held, found.items)])
    outputs = [*outputs_lines(found.heads, found.outputs)]
    lines += ["", *_columns(outputs)] if outputs else []
    names = (" = ".join(item.names) for item in found.items if len(item.names) > 1)
    remarks = [f"shared, one tensor: {one}" for one in names]
    if found.heads.equal:
        remarks.append(f"equal in several outputs, not shared: {found.heads.equal} tensors")
    remarks += found.notes
    return "\n".join([*lines, *([""] if remarks else []), *remarks])


def _held(item: Item) -> Sequence[str]:
    return (
        " = ".join(item.names),
        shape_text(item.shape),
        item.dtype if item.trainable else f"{item.dtype}, not trained",
        ", ".join(item.roles),
        ", ".join(item.operations) or "no operation: dead",
    )


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as text, each column as wide as it must be."""
    rows = [[*map(on_one_line, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
