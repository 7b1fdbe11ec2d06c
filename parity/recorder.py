"""What recording has in common in every framework: numbering values, naming layers, finding lines.

An adapter watches its framework run and reports each operation to a `Recorder`; the recorder knows
tensors by identity (it keeps them alive, so identities are never reused), asks the call stack for
the layer and the user's line, and gives a `Tape` in the end.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from parity.callstack import CallStack
from parity.draws.draw import Draw, Gave, Transform
from parity.draws.host import Host, HostDraw
from parity.graph import TapeGraph
from parity.host_reads import HostReads, is_written
from parity.keeping.walk import held_by
from parity.operations import kernel_name
from parity.outputs.flatten import Outputs
from parity.outputs.gradients import cotangent_of
from parity.tape import Adapter, Array, LeafKind, Native, Op, Role, Site, Tape, Value


class Recorder:
    """Builds a tape while a model runs.

    Args:
        adapter: of the model's framework.
        is_layer: whether an object on the stack is a layer of that framework.
        layers: known layers by `id`, with their paths; others are named by their class.
        root: the model itself where it is a layer: it adds nothing to a path.
        separator: joins the names of nested layers.
    """

    def __init__(
        self,
        adapter: Adapter,
        is_layer: Callable[[object], bool],
        layers: Mapping[int, str],
        root: object = None,
        separator: str = ".",
    ) -> None:
        self.adapter = adapter
        self.ops: list[Op] = []
        self.values: list[Value] = []
        self.recorded: dict[int, Native] = {}
        self.caveats: list[str] = []
        self.reads = HostReads()
        self.how_it_reads = "computes with numbers that Python made of values it read"
        self.instead = "Keep them tensors"
        self.host = Host(framework=adapter.name)
        self.states: set[int] = set()
        self.lock = threading.RLock()  # a model may give work to several threads
        # in a backward pass, which the frameworks run far from the user's code, the site of the
        # operation that is differentiated now
        self.differentiated: Callable[[], Site | None] = lambda: None
        self.done = False  # of a thread that outlives the run nothing is recorded
        self._reading = False
        self._read: list[int] = []
        self._ids: dict[int, int] = {}
        self._keep: list[Native] = []
        self._live: set[int] = set()  # values that an input of the model reaches
        self._stack = CallStack(sys._getframe(1), is_layer, layers, root, separator)

    @property
    def watches(self) -> bool:
        """Whether what runs now is the model's, and no reading of values by the recording."""
        return not (self._reading or self.done)

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """Within it the recording itself reads values."""
        reading, self._reading = self._reading, True
        try:
            yield
        finally:
            self._reading = reading

    def find(self, tensor: Native) -> int | None:
        """The value id of a tensor that was seen before, by identity."""
        return self._ids.get(id(tensor))

    def alias(self, tensor: Native, value: int) -> None:
        """Says that `tensor` is, from now on, the tensor of `value`."""
        self._ids[id(tensor)] = value
        self._keep.append(tensor)

    def gives_states(self, tensors: Iterable[Native]) -> None:
        """Says that a recurrent layer of the framework's gave these, one for each of its layers."""
        self.states |= {self._ids[id(one)] for one in tensors if id(one) in self._ids}

    def changes(self, tensor: Native, contents: Native) -> None:
        """Says that a tensor is changed in place: what was read of it so far were `contents`."""
        value = self._ids.pop(id(tensor), None)
        if value is not None:
            self.recorded[value] = contents

    def leaf(
        self, tensor: Native, kind: LeafKind, name: str, shape: Sequence[int], dtype: str
    ) -> int:
        """Adds a value that no operation makes; what NumPy drew is made by an operation."""
        if kind != "input" and self.host.draws:
            found = self.host.find(self.adapter.to_numpy(tensor))
            if found is not None and kind == "constant" and not name:
                return self._drawn_by_numpy(found[0], found[1], (tensor, shape, dtype))
            if found is None and kind == "constant" and not name and self._of_a_draw(shape):
                output = (tensor, shape, dtype)
                return self.op("numpy.random", (), [output], role="random").outputs[0]
        value = Value(len(self.values), kind, tuple(shape), dtype, name)
        self.values.append(value)
        self.recorded[value.id] = tensor
        self.alias(tensor, value.id)
        if kind == "input":
            self._live.add(value.id)
        elif kind == "constant" and self.reads.first is not None:
            self.reads.leaf(value.id, self.adapter.to_numpy(tensor))
        return value.id

    def host_read(self, value: int, contents: Array) -> None:
        """The host read a value: what Python makes of it cannot be followed."""
        if value in self._live:
            self.reads.note(value, contents, self.site("").source)

    def as_read(self, tensor: Native, dtype: str, unseen: bool = False) -> int | None:
        """The value that a constant is, if the host read it and gave it back unchanged.

        Args:
            unseen: the host may have read it without a word; then it is known by its contents.
        """
        if self.reads.first is None and not unseen:
            return None
        contents = self.adapter.to_numpy(tensor)
        if unseen and not is_written(contents):
            self._find_unseen(contents, dtype)
        value = self.reads.value(contents, dtype)
        if value is not None:
            self.alias(tensor, value)
        return value

    def _find_unseen(self, contents: Array, dtype: str) -> None:
        for value in self._live:
            known = self.values[value]
            if known.op >= 0 and (known.shape, known.dtype) == (contents.shape, dtype):
                if np.array_equal(self.adapter.to_numpy(self.recorded[value]), contents):
                    self.host_read(value, contents)
                    return

    def output(self, item: Any, value_of: Callable[[Any], int]) -> int:
        """The value id of an output; a number that the host read is the value it was read of."""
        if self.reads.first is not None and isinstance(item, (np.ndarray, np.generic)):
            value = self.reads.value(np.asarray(item))
            if value is not None:
                return value
        return value_of(item)

    def draw_by_numpy(self, drawn: HostDraw) -> int:
        """Adds what a function of NumPy drew; the value of its noise."""
        drawn.found = True
        if drawn.value is not None:
            return drawn.value
        noise = np.ascontiguousarray(drawn.noise).reshape(drawn.noise.shape)
        output = (self.adapter.from_numpy(noise), noise.shape, noise.dtype.name)
        kind = f"numpy.random.{drawn.name}"
        gave = Gave(drawn.result, drawn.state)
        op = self.op(kind, (), [output], role="random", draw=drawn.draw, call=gave)
        drawn.value = op.outputs[0]
        return drawn.value

    def read_by_python(self, values: Iterable[int]) -> None:
        """Notes values that Python reads: what it decides by them is not on the tape."""
        self._read.extend(values)

    def _of_a_draw(self, shape: Sequence[int]) -> bool:
        """Whether NumPy may have computed a constant from a draw of as many numbers."""
        size = math.prod(shape)
        for one in self.host.lost if size > 1 else ():
            if one.result.size == size:
                one.found = True
                return True
        return False

    def _drawn_by_numpy(
        self,
        drawn: HostDraw,
        make: Callable[[Array], Any],
        output: tuple[Native, Sequence[int], str],
    ) -> int:
        noise = self.draw_by_numpy(drawn)
        call = Transform(lambda noise: [make(noise)])
        return self.op("from_numpy", (noise,), [output], call=call).outputs[0]

    def op(
        self,
        kind: str,
        inputs: Iterable[int],
        outputs: Sequence[tuple[Native, Sequence[int], str]],
        *,
        role: Role = "compute",
        attributes: Mapping[str, Any] | None = None,
        call: Any = None,
        draw: Draw | None = None,
    ) -> Op:
        """Adds an operation that just ran.

        Args:
            draw: what a random operation draws from, where that is known.
            outputs: of each output the tensor, its shape and NumPy's name of its dtype.
        """
        inputs = tuple(inputs)
        index = len(self.ops)
        static = role != "random" and self._live.isdisjoint(inputs)
        ids = []
        for tensor, shape, dtype in outputs:
            value = Value(len(self.values), "computed", tuple(shape), dtype, "", index)
            self.values.append(value)
            self.recorded[value.id] = tensor
            self.alias(tensor, value.id)
            ids.append(value.id)
            if not static:
                self._live.add(value.id)
        op = Op(
            index,
            kind,
            inputs,
            tuple(ids),
            self.site(kind),
            role,
            attributes or {},
            call,
            static,
            draw,
            self.adapter.WORDS.get(kernel_name(kind), ""),
        )
        self.ops.append(op)
        if static and not self.reads.baked_leaves.isdisjoint(inputs):
            self.reads.baked_leaves.update(ids)  # a copy or a cast of what the host made
        self.reads.operation(index, op.attributes)
        return op

    def tape(
        self,
        model: str,
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
        returned: Outputs,
    ) -> Tape:
        """The tape; `returned` is what the model returned, flattened."""
        self._stack.forget()  # a frame holds its locals, this recorder with all values among them
        unnamed = {one.id for one in self.values if one.kind == "constant" and not one.name}
        by_host = {  # of which nothing is known but what they were
            name
            for name, item in returned.items()
            if isinstance(item, (np.ndarray, np.generic)) and outputs[name] in unnamed
        }
        if self.reads.baked or self.reads.baked_leaves:
            where = f" ({self.reads.first})" if self.reads.first else ""
            self.caveats.append(
                f"{model} {self.how_it_reads}{where}: they cannot be followed, so what depends on "
                f"them is judged on these inputs only. {self.instead}"
            )
        return Tape(
            self.adapter,
            model,
            self.ops,
            self.values,
            dict(inputs),
            dict(outputs),
            self.recorded,
            self.caveats,
            other_outputs=returned.others,
            by_value=frozenset(by_host),
            states=frozenset(self.states),
            baked_ops=frozenset(self.reads.baked),
            baked_leaves=frozenset(self.reads.baked_leaves),
            rounded_ops=frozenset(self.reads.rounded),
            lost_draws=list(filter(None, [self._lost_draw(model, set(outputs.values()))])),
            numbers=returned.numbers,
            classes=returned.classes,
            gradients=frozenset(returned.gradients),
            cotangents=frozenset(map(cotangent_of, returned)) & inputs.keys(),
        )

    def _lost_draw(self, model: str, outputs: set[int]) -> str:
        """Why a draw's effect is not on the tape; "" where all are."""
        drawn = (value for op in self.ops if op.role == "random" for value in op.outputs)
        noise = TapeGraph(self.ops, self.values, {}).forward(drawn)
        read = next((value for value in self._read if value in noise), None)
        if read is not None:
            site = self.ops[self.values[read].op].site
            return (
                f"{model} branches on random draws in Python (behind {site.op} at {site.source}): "
                "only the branch that was taken can be followed. Compute both branches in the "
                "framework, or pass the samples in as inputs."
            )
        known = self.reads.back | outputs
        taken = next((one for one in self.reads.values if one in noise - known), None)
        if taken is not None:
            site = self.ops[self.values[taken].op].site
            return (
                f"{model} gives random draws to Python (those behind {site.op} at {site.source}): "
                "what Python does with them cannot be followed. Compute with them in the "
                "framework, or pass the samples in as inputs."
            )
        if self.host.unseen:
            return (
                f"{model} draws with {self.host.unseen[0]}, which is not followed: what its "
                "numbers lead to is unknown. Draw in the framework, or pass the samples in as "
                "inputs."
            )
        traced = next((one for one in self.host.draws if one.traced), None)
        if traced is not None:
            return (
                f"{model} draws with numpy.random.{traced.name} in a tf.function, which draws when "
                "it is traced and gives the same numbers ever after, while other draws in it are "
                "made anew. Draw with tf.random, or outside of it"
            )
        lost = self.host.lost
        if not lost:
            return ""
        return (
            f"{model} draws with numpy.random.{lost[0].name} and computes with it outside its "
            "framework: what that leads to cannot be followed. Pass the samples in as inputs, or "
            "compute with them in the framework."
        )

    def site(self, kind: str) -> Site:
        """Where the program is now: the user's lines and the layer, read off the call stack.

        In a backward pass it is where the operation ran that is differentiated, unless the user
        wrote how.
        """
        own = self._stack.site(kind, sys._getframe(1))
        of = self.differentiated()
        if of is None:
            return own
        return Site(kind, of.layer, own.frames or of.frames, "backward")


def discover(callable_: object, is_layer: Callable[[object], bool]) -> dict[str, Any]:
    """The layers that a plain function or object holds, by the names under which it holds them.

    They are found wherever a state would be that is put back; see `parity.keeping`.
    """
    found: dict[str, Any] = {}
    for name, layer in held_by(callable_, is_layer):
        again = next(count for count in itertools.count(2) if f"{name}#{count}" not in found)
        found[f"{name}#{again}" if name in found else name] = layer
    return found
