"""What a transfer did, for a terminal, for Markdown and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from parity.escape import on_one_line
from parity.weights.element_index import Addresses
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing, Side
from parity.weights.tensors import Tensor

Source = Side | Addresses  # a model, or a file
SPACE = {1: "W", 2: "HW", 3: "DHW"}
_HEADINGS = ("role", "source", "shape", "target", "shape", "layout", "what was done")


@dataclass(frozen=True)
class Row:
    """One tensor of the target and what was written to it.

    Attributes:
        layout: as `OIHW -> HWIO`; "" where there is one order only.
        done: what was permuted, added up or split, and why.
    """

    role: str
    source: tuple[str, ...]
    source_shapes: tuple[tuple[int, ...], ...]
    target: tuple[str, ...]
    target_shapes: tuple[tuple[int, ...], ...]
    layout: str
    done: str

    def cells(self) -> tuple[str, ...]:
        return (
            self.role,
            " + ".join(self.source),
            " ".join(map(_shape, self.source_shapes)),
            " + ".join(self.target),
            " ".join(map(_shape, self.target_shapes)),
            self.layout,
            self.done,
        )


@dataclass(frozen=True)
class Table:
    """The rows, in the order of the target's steps, and what there is to say beside them.

    Attributes:
        source, target: the models' names.
        indices: for each of the source's tensors the number of the target's; None where it has
            none of its own.
        by_position: what copying by position would have done; "" where nothing is paired.
        left, dead: of the source and of the target, what has no partner, and what no operation
            reads.
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
        lines = [tuple(map(on_one_line, row.cells())) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(_HEADINGS, *lines, strict=True)]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in (_HEADINGS, *lines)
        ]
        return "\n".join([*texts, "", *map(on_one_line, self.remarks())])

    def to_markdown(self) -> str:
        lines = [_HEADINGS, tuple("---" for _ in _HEADINGS), *(row.cells() for row in self.rows)]
        texts = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
        remarks = (f"- {on_one_line(remark)}" for remark in self.remarks())
        return "\n".join([*texts, "", *remarks]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def remarks(self) -> list[str]:
        """What is beside the rows, in sentences."""
        remarks = [self.by_position] * bool(self.by_position)
        for what, both in (("left over", self.left), ("read by no operation", self.dead)):
            for model, names in zip((self.source, self.target), both, strict=True):
                if names:
                    remarks.append(f"{what} in {model}: {', '.join(names)}")
        return [*remarks, *self.notes]


def _cell(text: str) -> str:
    return on_one_line(text).replace("|", "\\|")


def tabulate(source: Source, target: Side, found: Pairing, names: tuple[str, str]) -> Table:
    """The table of a pairing."""
    return Table(
        names[0],
        names[1],
        tuple(_row(source, target, pair) for pair in found.pairs),
        _indices(source, target, found),
        _by_position(source, target, found),
        (tuple(found.left[0]), tuple(found.left[1])),
        (tuple(found.dead[0]), tuple(found.dead[1])),
        tuple(found.notes),
    )


def _row(source: Source, target: Side, pair: Pair) -> Row:
    target_layout = _layout(target, pair, False)
    source_layout = pair.source.layout if pair.source else ""
    if isinstance(source, Side):
        source_layout = _layout(source, pair, True)
    return Row(
        pair.role,
        pair.source_names,
        _shapes(source, pair.source_names),
        pair.target_names,
        _shapes(target, pair.target_names),
        f"{source_layout} -> {target_layout}" if source_layout and target_layout else "",
        _done(source, target, pair),
    )


def _layout(side: Side, pair: Pair, source: bool) -> str:
    """The order of a kernel's axes: out, in, and space."""
    part = pair.source if source else pair.target
    names = pair.source_names if source else pair.target_names
    if part is None or pair.role != "kernel" or len(names) != 1 or part.step < 0:
        return ""
    ((shape,), kind) = _shapes(side, names), side.program.steps[part.step].kind
    if kind == "dense" and len(shape) == 2:
        if part.strided is not None:
            rows_first = part.strided.shape[1] == 1 or part.strided.strides[1] == 1
        else:
            along = (part.find() or [])[0][1]
            rows_first = along.shape[1] == 1 or along[0, 1] - along[0, 0] == 1
        return "OI" if rows_first and part.shape == shape else "IO"
    if kind.endswith("convolution") and len(shape) - 2 in SPACE:
        op = side.tape.ops[side.program.steps[part.step].ops[0]]
        window = side.tape.window(op)
        return window.letters.replace("*", SPACE[len(shape) - 2]) if window is not None else ""
    return ""


def _done(source: Source, target: Side, pair: Pair) -> str:
    if pair.source is None:
        return "the source has none: set to what does nothing"
    done = [] if pair.order is None else [f"inputs permuted{_permutation(source, target, pair)}"]
    if pair.axes is not None:
        moved = pair.axes != tuple(range(len(pair.axes)))
        done.append(f"axes taken as {_shape(pair.axes)}" if moved else "taken as it is")
    if len(pair.source_names) > 1 and len(pair.target_names) == 1 and pair.role == "bias":
        several = len(pair.source.find() or ()) > 1
        done.append("biases added up" if several else "stacked")
    if not pair.followed:
        done.append("order of the inputs taken as it is: it could not be followed")
    return "; ".join(done)


def _permutation(source: Source, target: Side, pair: Pair) -> str:
    """From which order to which, and why."""
    target_shape = _input_shape(target, pair.target)
    source_shape = _input_shape(source, pair.source)
    if target_shape is not None and not isinstance(
        source, Side
    ):  # whose channels are first, or last
        last = (pair.source.layout if pair.source else "") == "IO"
        source_shape = _with_channels_moved(target_shape, last)
    if source_shape is None or target_shape is None:
        return ""
    if len(source_shape) < 2 or len(target_shape) < 2:
        return ": the inputs stand in another order"
    orders = ["", ""]
    if (
        len(source_shape) == 3
        and source_shape != target_shape
        and source_shape
        in (_with_channels_moved(target_shape, False), _with_channels_moved(target_shape, True))
    ):
        first = source_shape == _with_channels_moved(target_shape, False)
        orders = ["CHW ", "HWC "] if first else ["HWC ", "CHW "]
    return (
        f" from {orders[0]}{_shape(source_shape)} to {orders[1]}{_shape(target_shape)}: "
        "the flatten before the dense"
    )


def _with_channels_moved(shape: tuple[int, ...], to_last: bool) -> tuple[int, ...]:
    """The channels of one image moved to the last place, or to the first."""
    return (*shape[1:], shape[0]) if to_last else (shape[-1], *shape[:-1])


def _input_shape(side: Source, part: Part | None) -> tuple[int, ...] | None:
    """The shape of one example as it was before it was flattened."""
    if part is None or part.input is None or not isinstance(side, Side):
        return None
    shape: tuple[int, ...] = side.tape.values[side.tape.before_moves(part.input)].shape
    return shape[1:]


def _shapes(side: Source, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    by_name = {tensor.name: tensor.shape for tensor in _tensors(side)}
    return tuple(by_name[name] for name in names)


def _tensors(side: Source) -> Sequence[Tensor]:
    return side.addresses.tensors if isinstance(side, Side) else side.tensors


def _shape(shape: tuple[int, ...]) -> str:
    return f"({','.join(map(str, shape))})"


def _partners(found: Pairing) -> dict[str, str]:
    return {
        pair.source_names[0]: pair.target_names[0]
        for pair in found.pairs
        if len(pair.source_names) == len(pair.target_names) == 1
    }


def _indices(source: Source, target: Side, found: Pairing) -> tuple[int | None, ...]:
    partners = _partners(found)
    place = {tensor.name: number for number, tensor in enumerate(_tensors(target))}
    return tuple(
        place[partners[tensor.name]] if tensor.name in partners else None
        for tensor in _tensors(source)
    )


def _by_position(source: Source, target: Side, found: Pairing) -> str:
    """What happens if each tensor, in the target's layout, goes where as many stand before it."""
    partners = _partners(found)
    shapes = {tensor.name: tensor.shape for tensor in _tensors(target)}
    source_tensors = [tensor for tensor in _tensors(source) if tensor.name in partners]
    taken = set(partners.values())
    target_tensors = [tensor for tensor in _tensors(target) if tensor.name in taken]
    if not source_tensors:
        return ""
    wrong = []
    # two biases may be one tensor of the other's
    for slot, (left, right) in enumerate(zip(source_tensors, target_tensors, strict=False)):
        shape = shapes[partners[left.name]]
        if shape != right.shape:
            return (
                f"by position the copy fails at slot {slot}: "
                f"{_shape(shape)} into {_shape(right.shape)}"
            )
        if partners[left.name] != right.name:
            wrong.append(f"{left.name} into {right.name}")
    if wrong:
        return f"by position the copy succeeds and is wrong: {', '.join(wrong)}"
    if any(pair.order is not None for pair in found.pairs):
        return "by position the copy succeeds and is wrong where inputs had to be permuted"
    return "by position each tensor would have gone to the same place"
