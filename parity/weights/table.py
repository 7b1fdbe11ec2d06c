"""What a transfer did, tensor by tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from parity.format import shape_text
from parity.report.text_table import transfer_markdown, transfer_table
from parity.weights.element_index import Addresses
from parity.weights.file_tensors import SPACE
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One tensor of the target and what was written to it.

    Attributes:
        layout: as `OIHW -> HWIO`; "" where there is one order only.
        done: what was permuted, added up or split, and why.
    """

    role: str
    source: tuple[str, ...]
    source_shapes: tuple[Shape, ...]
    target: tuple[str, ...]
    target_shapes: tuple[Shape, ...]
    layout: str
    done: str


@dataclass(frozen=True)
class Table:
    """The rows, in the order of the target's steps, and what there is to say beside them.

    Attributes:
        source, target: the models' names.
        indices: for each of the source's tensors the number of the target's; None where it has
            none of its own.
        by_position: what copying by position would have done; "" where nothing is paired.
        left, dead: of the source and of the target, what has no partner, and what no output
            depends on.
    """

    source: str
    target: str
    rows: tuple[Row, ...]
    indices: tuple[int | None, ...]
    by_position: str
    left: tuple[tuple[str, ...], tuple[str, ...]]
    dead: tuple[tuple[str, ...], tuple[str, ...]]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return transfer_table(self)

    def to_markdown(self) -> str:
        return transfer_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def tabulate(source: Addresses, target: Addresses, found: Pairing, names: tuple[str, str]) -> Table:
    """The table of a pairing."""
    partners = {
        pair.source_names[0]: target.numbers[pair.target_names[0]]
        for pair in found.pairs
        if len(pair.source_names) == len(pair.target_names) == 1
    }
    indices = tuple(partners.get(tensor.name) for tensor in source.tensors)
    permuted = [
        what
        for what, kind in (("inputs", "order"), ("outputs", "units"))
        if any(getattr(pair, kind) is not None for pair in found.pairs)
    ]
    return Table(
        *names,
        tuple(_row(source, target, pair) for pair in found.pairs),
        indices,
        _by_position(indices, source, target, permuted),
        (tuple(found.left[0]), tuple(found.left[1])),
        (tuple(found.dead[0]), tuple(found.dead[1])),
        tuple(found.notes),
    )


def _row(source: Addresses, target: Addresses, pair: Pair) -> Row:
    shapes = [
        tuple(side.tensors[side.numbers[name]].shape for name in names)
        for side, names in ((source, pair.source_names), (target, pair.target_names))
    ]
    layouts = _layout(pair.source, shapes[0]), _layout(pair.target, shapes[1])
    return Row(
        pair.role,
        pair.source_names,
        shapes[0],
        pair.target_names,
        shapes[1],
        " -> ".join(layouts) if all(layouts) else "",
        _done(source, target, pair),
    )


def _layout(part: Part | None, shapes: Sequence[Shape]) -> str:
    """The order of a kernel's axes: out, in, and space; "" where that is not known."""
    if part is None or part.role != "kernel" or len(shapes) != 1:
        return ""
    rank = len(shapes[0])
    if "*" in part.letters:
        return part.letters.replace("*", SPACE[rank - 2]) if rank - 2 in SPACE else ""
    if part.step < 0:  # of a file
        return part.letters
    row = part.first_row
    if not part.letters or row is None or rank != 2:
        return ""
    as_is = part.shape == shapes[0] and (row.size < 2 or row[1] - row[0] == 1)
    return "OI" if as_is else "IO"


def _done(source: Addresses, target: Addresses, pair: Pair) -> str:
    if pair.source is None:
        return "the source has none: set to what does nothing"
    done = [] if pair.order is None else [f"inputs permuted{_permutation(source, target, pair)}"]
    if pair.units is not None:
        done.append("outputs permuted: what reads them has its axes in another order")
    if pair.axes is not None:
        moved = pair.axes != tuple(range(len(pair.axes)))
        done.append(f"axes taken as {shape_text(pair.axes)}" if moved else "taken as it is")
    if len(pair.source_names) > 1 and len(pair.target_names) == 1 and pair.role == "bias":
        several = len(pair.source.find() or ()) > 1
        done.append("biases added up" if several else "stacked")
    if not pair.followed:
        done.append("order of the inputs taken as it is: it could not be followed")
    return "; ".join(done)


def _permutation(source: Addresses, target: Addresses, pair: Pair) -> str:
    """From which order to which, and why."""
    assert pair.source is not None
    wanted = pair.target.input_shape(target.tape)
    if wanted is None:
        return ""
    # the channels of one image moved to the first place, and to the last
    first, last = (wanted[-1], *wanted[:-1]), (*wanted[1:], wanted[0])
    given = pair.source.input_shape(source.tape)
    if source.tape is None:
        given = last if pair.source.letters == "IO" else first
    if given is None:
        return ""
    if len(given) < 2 or len(wanted) < 2:
        return ": the inputs stand in another order"
    orders = ["", ""]
    if len(given) == 3 and given != wanted and given in (first, last):
        orders = ["CHW ", "HWC "] if given == first else ["HWC ", "CHW "]
    return (
        f" from {orders[0]}{shape_text(given)} to {orders[1]}{shape_text(wanted)}: "
        "the flatten before the dense"
    )


def _by_position(
    indices: Sequence[int | None], source: Addresses, target: Addresses, permuted: Sequence[str]
) -> str:
    """What happens if each tensor, in the target's layout, goes where as many stand before it.

    Args:
        indices: of the source's tensors the target's.
        permuted: what had to be: inputs, outputs.
    """
    every = zip(source.tensors, indices, strict=True)
    paired = [(tensor, number) for tensor, number in every if number is not None]
    if not paired:
        return ""
    wrong = []
    # two biases may be one tensor of the other's
    slots = zip(paired, sorted({n for _, n in paired}), strict=False)
    for slot, ((left, partner), at) in enumerate(slots):
        shape, right = target.tensors[partner].shape, target.tensors[at]
        if shape != right.shape:
            return (
                f"by position the copy fails at slot {slot}: "
                f"{shape_text(shape)} into {shape_text(right.shape)}"
            )
        if partner != at:
            wrong.append(f"{left.name} into {right.name}")
    if wrong:
        return f"by position the copy succeeds and is wrong: {', '.join(wrong)}"
    if permuted:
        what = " or ".join(permuted)
        return f"by position the copy succeeds and is wrong where {what} had to be permuted"
    return "by position each tensor would have gone to the same place"
