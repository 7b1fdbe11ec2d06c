"""What each step of a model multiplies by and adds, each in one arrangement for all frameworks.

The arrangement is the same whatever the layout: (out, in) for a dense kernel, (out, in, space) for
a convolution, (in, out, space) for a transposed one, without space where it is one pixel, (rows,
features) for an embedding, (features) for all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np

from parity.architecture.contractions import contraction
from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import Step
from parity.tape import Array, Op, Tape
from parity.weights.cell_weights import Terms
from parity.weights.element_index import Addresses, Strided, strided, without_repeats

Find = Callable[[], Terms | None]

# What a part holds where a model has none.
NEUTRAL = {"bias": 0.0, "beta": 0.0, "gamma": 1.0, "running mean": 0.0, "running variance": 1.0}
_IN_NORMS = NEUTRAL.keys() - {"bias"}


@dataclass(eq=False)
class Part:
    """A kernel, a bias, a statistic: one operand of a step.

    Attributes:
        step: number of the step in its program.
        role: what it does there.
        input: the live value whose channels its axis 1 (or 0 where it has but one) goes with; None
            where it goes with none in their order.
        axis: of that value's channels.
        images: whether that value is one of images.
        letters: of a kernel, the order of its axes, `*` for those of space; "" where none is known.
        find: the addresses of its elements, or their sum, each with its sign.
    """

    step: int
    role: str
    find: Find = field(repr=False)
    input: int | None = None
    axis: int = -1
    images: bool = False
    letters: str = ""

    @property
    def in_norm(self) -> bool:
        return self.step >= 0 and self.role.split(" (")[0] in _IN_NORMS

    @cached_property
    def strided(self) -> Strided | None:
        """How it lies in its tensor, where it is one whole tensor with its axes moved."""
        return self.find.strided() if isinstance(self.find, Term) else None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        if self.strided is not None:
            return self.strided.shape
        terms = self.find()
        return terms[0][1].shape if terms else ()

    @property
    def first_row(self) -> Array | None:
        """Of a dense kernel, where the inputs of one unit lie in the tensor that they are in."""
        if self.step < 0 or len(self.shape) != 2:
            return None
        if self.strided is not None:
            return np.arange(self.shape[1]) * self.strided.strides[1]
        found = self.find() or []
        return found[0][1][0] if len(found) == 1 else None

    def input_shape(self, tape: Tape | None) -> tuple[int, ...] | None:
        """The shape of one example of its input, as it was before it was flattened."""
        if self.input is None or tape is None:
            return None
        shape: tuple[int, ...] = tape.values[tape.before_moves(self.input)].shape
        return shape[1:]


def parts(program: Program, addresses: Addresses) -> list[Part]:
    """The parts of every step that is no recurrence or attention, in the order of the steps."""
    found = []
    for number, step in enumerate(program.steps):
        read = _READERS.get(step.kind, _norm if step.kind.endswith("_norm") else None)
        if read is not None and not step.opaque:
            for part in read(program.graph, addresses, number, step):
                found += list(_by_ingredient(part))
    return found


def product(graph: Graph, addresses: Addresses, number: int, op: Op) -> Part | None:
    """The kernel of a dense product."""
    found = contraction(graph, op)
    if found is None:
        return None
    axis = found.input_axes[0] if len(found.input_axes) == 1 else None
    axes, rows = (*found.out, *found.summed), len(found.out)

    def arrange(own: Array) -> Array:
        own = own.transpose(axes)
        return own.reshape(prod(own.shape[:rows]), -1)

    find = Term(addresses, found.weight, arrange)
    return Part(number, "kernel", find, None if axis is None else found.x, axis or 0)


def _dense(graph: Graph, addresses: Addresses, number: int, step: Step) -> Iterator[Part]:
    op = graph.tape.ops[step.ops[0]]
    kernel = product(graph, addresses, number, op)
    if kernel is not None:
        yield replace(kernel, letters="OI")
        yield from _bias(addresses, number, step)


def _bias(addresses: Addresses, number: int, step: Step) -> Iterator[Part]:
    if "bias" in step.operands:
        yield Part(number, "bias", Term(addresses, step.operands["bias"], flat=True))


def _convolution(graph: Graph, addresses: Addresses, number: int, step: Step) -> Iterator[Part]:
    op = graph.tape.ops[step.ops[0]]
    window = graph.tape.window(op)
    if window is None or window.weight is None:
        return
    layout, depthwise = window.layout, window.depthwise

    def arrange(own: Array) -> Array:
        own = own.transpose(layout)
        return over_space(joined(own) if depthwise else own)

    find = Term(addresses, window.weight, arrange)
    # channels of groups stand by their group, not by their layer
    whole = int(step.parameters.get("groups", 1)) == 1 and step.kind == "convolution"
    x = _before_spreading(graph, window.x)
    axis = graph.tape.adapter.TRAITS.channel_axis(op, len(graph.tape.values[x].shape))
    yield Part(number, "kernel", find, x if whole else None, axis, True, window.letters)
    yield from _bias(addresses, number, step)


def _before_spreading(graph: Graph, value: int) -> int:
    """An image before TensorFlow spreads it over the batch, as it does to dilate."""
    spread = (op for op in graph.moves_before(value) if op.word == "space_to_batch")
    return next((op.inputs[0] for op in spread), value)


def _embedding(graph: Graph, addresses: Addresses, number: int, step: Step) -> Iterator[Part]:
    op = graph.tape.ops[step.ops[0]]
    for value in op.inputs:
        if value in addresses.leaves:
            yield Part(number, "embedding", Term(addresses, value))


def _norm(graph: Graph, addresses: Addresses, number: int, step: Step) -> Iterator[Part]:
    tape = graph.tape
    op = tape.ops[step.ops[0]]
    x = next((v for v in op.inputs if not graph.is_static(v)), None)
    if x is None:
        return
    axis = tape.adapter.TRAITS.channel_axis(op, len(tape.values[x].shape))
    if step.kind in ("layer_norm", "rms_norm") or len(tape.values[x].shape) == 2:
        axis = -1
    for role, value in step.operands.items():
        yield Part(number, role, Term(addresses, value, flat=True), x, axis, images=True)


def over_space(kernel: Array) -> Array:
    """Axes after the second as one; none where it is one pixel, as in a dense kernel."""
    kernel = kernel.reshape(*kernel.shape[:2], -1)
    return kernel[..., 0] if kernel.shape[2] == 1 else kernel


def joined(kernel: Array) -> Array:
    """Channels of a depthwise kernel and their multiples as one axis, and one input channel."""
    return kernel.reshape(kernel.shape[0] * kernel.shape[1], 1, *kernel.shape[2:])


@dataclass(frozen=True)
class Term:
    """How the addresses of a value are found.

    Attributes:
        arrange: brings them into the common arrangement.
        flat: as one row, without what is repeated.
        path: of a computed value the one of its ingredients.
    """

    addresses: Addresses
    value: int
    arrange: Callable[[Array], Array] = np.asarray
    flat: bool = False
    path: str = ""

    def __call__(self) -> Terms | None:
        found = self.addresses.ingredients(self.value).get(self.path)
        return None if found is None else [(1.0, self._arranged(found))]

    def strided(self) -> Strided | None:
        return None if self.path else strided(self.addresses, self.value, self._arranged)

    def _arranged(self, found: Array) -> Array:
        found = self.arrange(found)
        return without_repeats(found).reshape(-1) if self.flat else found


def added(parts: Sequence[Part]) -> Find:
    """The terms of several parts together."""

    def find() -> Terms | None:
        found = [part.find() for part in parts]
        return None if None in found else [term for terms in found for term in terms or ()]

    return find


def rearranged(find: Find, change: Callable[[Array], Array]) -> Find:
    """Terms with their addresses in another arrangement."""

    def found() -> Terms | None:
        terms = find()
        return [(sign, change(own)) for sign, own in terms] if terms else None

    return found


def _by_ingredient(part: Part) -> Iterator[Part]:
    """A part whose values are computed from several tensors, as one part for each."""
    if not isinstance(part.find, Term) or part.strided is not None:
        yield part
        return
    for path in part.find.addresses.ingredients(part.find.value):
        role = f"{part.role} ({path})" if path else part.role
        yield replace(part, role=role, find=replace(part.find, path=path))


_READERS: dict[str, Callable[[Graph, Addresses, int, Step], Iterator[Part]]] = {
    "dense": _dense,
    "convolution": _convolution,
    "transposed_convolution": _convolution,
    "embedding": _embedding,
}
