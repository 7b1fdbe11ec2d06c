"""Which element of which tensor stands where in an operand that an operation multiplies by.

A weight seldom reaches its operation as it is held: it is transposed, reshaped, split, stacked.
Those moves are run again on addresses in place of values, so whatever they are, each element of
the operand is known by the tensor and the place that it came from.

Most weights are transposed at most. Where each element lies is then given by an offset and a stride
for each axis, and no address of any element need be worked out, which would take many times the
weight's own room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from parity.tape import Array, Op, Tape
from parity.weights.tensors import Tensor

_INGREDIENTS = 8  # of a weight at most


class Addresses:
    """The elements of a model's tensors, numbered from 1 through all tensors; 0 is none of them.

    Args:
        tape: of the model; None for tensors that lie in a file.

    Attributes:
        numbers: of the tensors, by each of their names.
        leaves: by the id of a leaf of the tape the number of its tensor.
    """

    def __init__(self, tape: Tape | None, tensors: Sequence[Tensor]) -> None:
        self.tape = tape
        self.tensors = tuple(tensors)
        self.starts = np.cumsum([1, *(tensor.size for tensor in tensors)])
        self.numbers = {name: n for n, tensor in enumerate(tensors) for name in tensor.names}
        self.leaves = {
            value.id: self.numbers[value.name]
            for value in (tape.values if tape else ())
            if value.op < 0 and value.name in self.numbers and value.kind != "input"
        }

    def own(self, number: int) -> Array:
        """The addresses of one tensor's elements, in its shape."""
        tensor = self.tensors[number]
        start, end = self.starts[number : number + 2]
        return np.arange(start, end, dtype=np.int64).reshape(tensor.shape)

    def of(self, value: int) -> Array | None:
        """The addresses of the elements of a value.

        Returns:
            int64 array of the value's shape; None where it is computed.
        """
        return self.ingredients(value).get("")

    def ingredients(self, value: int) -> dict[str, Array]:
        """What a value is made of, element by element.

        Returns:
            Arrays of addresses of the value's shape, by the operations on the way: "" for a tensor
            that is only moved, `add` and `add multiply` for the two of `mean + deviation * scale`.
            Nothing where they are many: what a network makes of numbers of its own is no weight.
        """
        return self._ingredients(value, {})

    def _ingredients(self, value: int, known: dict[int, dict[str, Array]]) -> dict[str, Array]:
        """The same, with those of the values that were asked for on the way."""
        if value in self.leaves:
            return {"": self.own(self.leaves[value])}
        op = self.tape.producer(value) if self.tape else None
        if op is None or self.tape is None or not op.static:
            return {}
        if value in known:
            return known[value]
        found = known[value] = {}
        for n, one in enumerate(op.inputs):
            for path, own in self._ingredients(one, known).items():
                if op.role == "move":
                    labels = [own if k == n else None for k in range(len(op.inputs))]
                    moved = move(self.tape, op, labels)
                    if moved is not None:  # each of several tensors leaves 0 where the others are
                        own = moved[op.outputs.index(value)]
                        found[path] = np.maximum(found[path], own) if path in found else own
                elif own.shape == self.tape.values[value].shape:
                    found.setdefault(f"{_word(op, n)} {path}".strip(), own)
        if len(found) > _INGREDIENTS:
            found.clear()
        return found

    def read(self) -> set[str]:
        """Names of the tensors that outputs depend on; of a file, of all but scalars."""
        if self.tape is None:
            return {tensor.name for tensor in self.tensors if tensor.shape}
        used = self.tape.graph.is_used
        return {self.tensors[n].name for value, n in self.leaves.items() if used(value)}

    def tensors_in(self, addresses: Array) -> list[int]:
        """The numbers of the tensors that addresses are in, in order."""
        found = np.unique(np.searchsorted(self.starts, addresses.ravel(), side="right")) - 1
        return [int(number) for number in found if number >= 0]

    def within(self, addresses: Array) -> Iterator[tuple[Tensor, Array, Array]]:
        """Each tensor that addresses are in, which of them are, and where in the flat tensor."""
        for number in self.tensors_in(addresses):
            start, end = self.starts[number : number + 2]
            own = (addresses >= start) & (addresses < end)
            yield self.tensors[number], own, addresses[own] - start

    def gather(self, addresses: Array) -> Array:
        """The values at addresses, in the widest dtype of the tensors."""
        pieces = [
            (own, tensor.read().ravel()[places]) for tensor, own, places in self.within(addresses)
        ]
        dtype = np.result_type(*(values for _, values in pieces)) if pieces else "float32"
        found = np.zeros(addresses.shape, dtype)
        for own, values in pieces:
            found[own] = values
        return found


def varying(own: Array) -> list[int]:
    """The axes along which something else stands: what is repeated does not count."""
    return [
        axis - own.ndim
        for axis in range(own.ndim)
        if own.shape[axis] > 1 and (own != own.take([0], axis)).any()
    ]


def without_repeats(own: Array) -> Array:
    """What is broadcast along an axis, once: the axes that vary are left."""
    long = varying(own)
    return own[tuple(slice(None) if axis - own.ndim in long else 0 for axis in range(own.ndim))]


def _word(op: Op, number: int) -> str:
    """What an operation does to one of its inputs."""
    addend = {"multiply_add": 0, "multiply_then_add": 2}.get(op.word)
    if addend is None:
        return op.word
    return "add" if number == addend else "add multiply"  # the others are multiplied before


def move(tape: Tape, op: Op, labels: Sequence[Array | None]) -> list[Array] | None:
    """Runs an operation that only moves values on labels instead.

    Args:
        labels: of each input int64 labels; None for one that has none: what decides where the
            others go stays as it was, and values count as label 0.

    Returns:
        The labels of each output; None where the operation cannot be run so.
    """
    values, given, pool = tape.values, [], [np.zeros(1, np.int64)]
    start = 1
    for value, own in zip(op.inputs, labels, strict=True):
        if own is not None:
            positions = np.arange(start, start + own.size, dtype=np.float64).reshape(own.shape)
            given.append(tape.adapter.from_numpy(positions))
            pool.append(own.ravel())
            start += own.size
        elif values[value].dtype.startswith(("float", "bfloat")):
            given.append(tape.adapter.from_numpy(np.zeros(values[value].shape, np.float64)))
        elif value in tape.recorded:
            given.append(tape.recorded[value])
    try:
        results = tape.adapter.execute(op, given, "float64")
    except Exception:  # an operation that takes no float64, as on images of bytes
        return None
    every = np.concatenate(pool)
    # paddings of -inf and the like are none of the labels
    places = (np.nan_to_num(tape.adapter.to_numpy(one), posinf=0, neginf=0) for one in results)
    return [every[place.astype(np.int64)] for place in places]


def follow(tape: Tape, value: int, known: Mapping[int, Array], ops: Iterable[int]) -> Array | None:
    """The labels of a value, followed through operations from where they are known."""
    labels: dict[int, Array | None] = dict(known)
    for op in (tape.ops[index] for index in ops):
        given = [labels.get(v) for v in op.inputs]
        found = [one for one in given if one is not None]
        if op.outputs[0] in labels or not found:
            continue
        if op.role == "move":
            labels.update(zip(op.outputs, move(tape, op, given) or (), strict=False))
        elif len(found) == 1 and found[0].shape == tape.values[op.outputs[0]].shape:
            labels.update(dict.fromkeys(op.outputs, found[0]))
    return labels.get(value)


# --- tensors that are transposed at most ---------------------------------------------------------


@dataclass(frozen=True)
class Strided:
    """Where the elements of a part lie in the one tensor that it is.

    Attributes:
        number: of the tensor.
        shape: of the part.
        strides: in elements, for each axis.
    """

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, tensor: Array) -> Array:
        """The part of a tensor's contents: a view of an array that lies in order."""
        steps = tuple(stride * tensor.itemsize for stride in self.strides)
        return as_strided(tensor, self.shape, steps)


def strided(addresses: Addresses, value: int, arranged: Callable[[Array], Array]) -> Strided | None:
    """How a value lies in its tensor; None where more than axes is moved.

    Args:
        arranged: puts an array of the value's shape into the arrangement of its part.
    """
    transposed = False
    while value not in addresses.leaves:
        tape = addresses.tape
        op = tape.producer(value) if tape else None
        if tape is None or op is None or not op.static or not _is_transpose(tape, op):
            return None
        value, transposed = op.inputs[0], not transposed
    number = addresses.leaves[value]
    shape = addresses.tensors[number].shape
    # one byte for each element, never written to: where a view of it starts and steps is enough
    bytes_ = np.zeros(shape, np.int8)
    view = arranged(bytes_.T if transposed else bytes_)
    same = view.__array_interface__["data"][0] == bytes_.__array_interface__["data"][0]
    if not same or view.size != bytes_.size or not np.shares_memory(view, bytes_, max_work=1):
        return None
    return Strided(number, view.shape, view.strides)


def _is_transpose(tape: Tape, op: Op) -> bool:
    """Whether an operation swaps the axes of a matrix, as it does with a small one."""
    if op.word != "transpose" or len(tape.values[op.inputs[0]].shape) != 2:
        return False
    small = np.arange(1, 7).reshape(2, 3)
    moved = move(tape, op, [small, *(None for _ in op.inputs[1:])])
    return moved is not None and np.array_equal(moved[0], small.T)
