"""Follows a TensorFlow run: operations go onto a tape, variables are known by their handles."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op

from parity.errors import ModelError
from parity.frameworks import tensorflow_draws as draws
from parity.frameworks import tensorflow_operations as table
from parity.frameworks.tensorflow_keeping import address, forget_streams
from parity.frameworks.tensorflow_replay import Call, Reads, called_by
from parity.frameworks.tensorflow_weights import Holdings
from parity.recorder import Recorder
from parity.tape import LeafKind, Native

Tensors = Sequence[Native]
Given = dict[str, Any]  # attributes as TensorFlow was given them

_RESOURCE = int(tf.resource.as_datatype_enum)
_READERS = frozenset(("VarIsInitializedOp", "VariableShape", "DestroyResourceOp"))


class Watcher:
    """Reports to a recorder each operation that TensorFlow runs, and keeps track of variables.

    Args:
        contents: of the variables known before the run, by their handles' `id`.
    """

    def __init__(self, recorder: Recorder, contents: dict[int, Native]) -> None:
        self.written: set[int] = set()
        self.drew = False
        self.recorder = recorder
        self._contents = contents
        self._current: dict[int, int] = {}  # handle: the value that the variable has now
        self._leaves: dict[int, int] = {}  # value: handle
        self._handles: dict[int, Native] = {}  # kept alive, for their `id`
        self._fresh: set[int] = set()  # variables made by the run that have no contents yet
        self.initial: dict[int, tuple[Native, Native]] = {}
        # memory: the tensor that a variable keeps there; kernels read variables without a word
        self._buffers: dict[int, Native] = {}
        self._owners: dict[int, int] = {}
        self._host = not tf.config.list_logical_devices("GPU")
        for handle, tensor in contents.items():
            self._owners[id(tensor)] = handle
            self._keeps(tensor)
        self._busy = False

    def __call__(
        self,
        kind: str | bytes,
        inputs: Tensors,
        attributes: Sequence[Any],
        outputs: Tensors,
        op_name: str | None = None,
        graph: object = None,
    ) -> None:
        if graph is None:
            with self.recorder.lock:
                self._ran(kind, inputs, attributes, outputs)

    def _ran(
        self, kind: str | bytes, inputs: Tensors, attributes: Sequence[Any], outputs: Tensors
    ) -> None:
        if self._busy or not self.recorder.watches:
            return
        if isinstance(kind, bytes):
            kind = kind.decode()
        special = _SPECIAL.get(kind)
        if special is None:
            self._add(kind, inputs, attributes, outputs)
            return
        self._busy = True
        try:
            given = dict(zip(attributes[::2], attributes[1::2], strict=True))
            special(self, kind, inputs, given, outputs)
        finally:
            self._busy = False

    # -- operations

    def _add(
        self,
        kind: str,
        inputs: Tensors,
        attributes: Sequence[Any],
        outputs: Tensors,
        shown_as: str = "",
    ) -> None:
        known = table.facts(kind)
        given = dict(zip(attributes[::2], attributes[1::2], strict=True))
        shown = table.readable(given, known.hidden if known else table.NOISE)
        names = table.settings_of(kind, len(inputs))
        read = self._reads(kind, names, inputs, shown)
        meant = outputs[: table.kept(kind, given, len(outputs))]
        kept = tuple(i for i, one in enumerate(meant) if one._datatype_enum() in table.NUMERIC)
        if not kept:
            if read.variables:
                self._caveat(f"{kind} changes a variable; the contents it leaves are not followed")
            return
        plain = tuple(attributes) if None not in given.values() else table.without_none(given)
        call = read.call(kind, plain, len(outputs), kept)
        role = known.role if known else "compute"
        self.drew = self.drew or role == "random"
        if known is None or known.holds_graph:
            shown = {"function": table.function_name(kind, given)}
            call.graph = called_by()
            kind = "PartitionedCall"
            self._caveat(
                f"{shown['function']} is a graph without Python code: it is one operation here, "
                "not looked into, and runs in its own precision only"
            )
        results = [
            (one, one._shape_tuple(), table.NUMERIC[one._datatype_enum()])
            for one in (outputs[index] for index in kept)
        ]
        if role == "random":
            with self.recorder.unwatched():  # it reads what the draw was given
                self._add_draw(kind, inputs, read.ids, results, shown, call)
            return
        self.recorder.op(
            shown_as or kind, read.ids, results, role=role, attributes=shown, call=call
        )

    def _reads(self, kind: str, names: Sequence[str], inputs: Tensors, shown: Given) -> Reads:
        """What an operation reads; inputs that are settings go to what is `shown` of it."""
        read = Reads()
        for setting, tensor in zip(names, inputs, strict=True):
            value = self.recorder.find(tensor)
            if value is None:
                dtype = tensor._datatype_enum()
                if setting and dtype in table.INTEGERS:
                    shown[setting] = tensor._numpy().tolist()
                if setting and dtype in table.INTEGERS or dtype not in table.NUMERIC:
                    read.fixed(tensor)
                    if dtype == _RESOURCE and kind not in _READERS:
                        held = self._contents_of(tensor)
                        read.variables += [(tensor, held)] if held is not None else []
                        self._written(tensor)
                    continue
                value = self._read_silently(tensor)
                if value is None:
                    with self.recorder.unwatched():  # NumPy reads a tensor's memory unseen
                        value = self.recorder.as_read(tensor, table.NUMERIC[dtype], unseen=True)
                value = self.leaf(tensor, "constant") if value is None else value
            read.value(value, tensor)
        return read

    def _add_draw(
        self,
        kind: str,
        inputs: Tensors,
        ids: list[int],
        results: list[tuple[Native, Sequence[int], str]],
        shown: Mapping[str, Any],
        call: Call,
    ) -> None:
        known = table.facts(kind)
        names = [name for name, _ in known.arguments] if known else []
        given = dict(zip(names, inputs, strict=False))
        arrays = {
            name: tensor._numpy()
            for name, tensor in given.items()
            if tensor._datatype_enum() in table.NUMERIC
        }
        seed = draws.seed_of(kind, arrays)
        if draws.is_categorical(kind):
            logits = self.value(given["logits"])
            draws.add_categorical(self.recorder, kind, logits, results, shown, seed)
            return
        found = {name: self.recorder.find(tensor) for name, tensor in given.items()}
        values = {name: value for name, value in found.items() if value is not None}
        draw = draws.draw_of(kind, arrays, values)
        call.state = seed
        self.recorder.op(kind, ids, results, role="random", attributes=shown, call=call, draw=draw)

    def _caveat(self, text: str) -> None:
        if text not in self.recorder.caveats:
            self.recorder.caveats.append(text)

    def leaf(self, tensor: Native, kind: LeafKind, name: str = "") -> int:
        dtype = table.NUMERIC.get(tensor._datatype_enum())
        if dtype is None:
            raise ModelError(f"a tensor of dtype {tensor.dtype.name} cannot be compared.")
        with self.recorder.unwatched():
            return self.recorder.leaf(tensor, kind, name, tensor._shape_tuple(), dtype)

    def value(self, output: Any) -> int:
        """The value id of something that the model returned."""
        if isinstance(output, (np.ndarray, np.generic, float)):
            output = tf.constant(output)
        elif not hasattr(output, "_datatype_enum"):
            output = tf.convert_to_tensor(output)
        if not hasattr(output, "_datatype_enum"):
            raise ModelError(f"a symbolic tensor was returned ({output}); parity needs numbers.")
        found = self.recorder.find(output)
        return self.leaf(output, "constant") if found is None else found

    # -- what the host reads

    def host_reads(self, tensor: Native, contents: Any) -> None:
        """The contents of a tensor were asked for by somebody outside this recording."""
        with self.recorder.lock:
            watches = self.recorder.watches and not self._busy
            value = self.recorder.find(tensor) if watches else None
            if value is not None:
                with self.recorder.unwatched():
                    self.recorder.host_read(value, np.array(contents))

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[None]:
        """Sees the operations of another thread."""
        eager = context.context()
        eager.add_op_callback(self)  # op_callbacks.remove_op_callback would stop the first thread's
        try:
            yield
        finally:
            eager.remove_op_callback(self)

    # -- variables

    def _created(self, kind: str, inputs: Tensors, given: Given, outputs: Tensors) -> None:
        self._fresh.add(id(outputs[0]))
        self._handles[id(outputs[0])] = outputs[0]

    def _read(self, kind: str, inputs: Tensors, given: Given, outputs: Tensors) -> None:
        value = self._current.get(id(inputs[0]))
        if value is None:
            self._handles[id(inputs[0])] = inputs[0]
            self._variable_leaf(id(inputs[0]), outputs[0])
        else:
            self.recorder.alias(outputs[0], value)

    def _read_silently(self, tensor: Native) -> int | None:
        """The value of a variable whose memory this tensor is, if there is one."""
        if not self._host:
            return None
        held = self._buffers.get(address(tensor))
        if held is None or held._datatype_enum() != tensor._datatype_enum():
            return None
        if held._shape_tuple() != tensor._shape_tuple():
            return None
        value = self.recorder.find(held)
        if value is None:
            value = self._variable_leaf(self._owners[id(held)], held)
        self.recorder.alias(tensor, value)
        return value

    def _assign(self, kind: str, inputs: Tensors, given: Given, outputs: Tensors) -> None:
        handle, tensor = inputs
        self._handles[id(handle)] = handle
        if id(handle) in self._fresh:  # its first contents: a leaf when it is read
            self._fresh.discard(id(handle))
            self.initial[id(handle)] = (handle, tensor)
            return
        self.written.add(id(handle))
        value = self.recorder.find(tensor)
        self._current[id(handle)] = self.leaf(tensor, "constant") if value is None else value
        self._keeps(tensor)

    def _arithmetic(self, kind: str, inputs: Tensors, given: Given, outputs: Tensors) -> None:
        """What adds to a variable, or subtracts from it."""
        handle, change = inputs
        old = self._contents_of(handle)
        self._written(handle)
        if old is None:
            return
        new = read_variable_op(handle, given["dtype"])
        pure = "Add" if kind == "AssignAddVariableOp" else "Sub"
        self._add(pure, (old, change), ("T", given["dtype"]), (new,), shown_as=kind)
        self._current[id(handle)] = self.value(new)
        self._keeps(new)

    def _gathered(self, kind: str, inputs: Tensors, given: Given, outputs: Tensors) -> None:
        """What reads rows of a variable."""
        handle, indices = inputs
        rows = self._contents_of(handle)
        if rows is None:
            rows = read_variable_op(handle, given["dtype"])
            self._read(kind, inputs, given, (rows,))
        attributes: tuple[Any, ...] = "Tparams", given["dtype"], "Tindices", given["Tindices"]
        pure, read = "GatherNd", [rows, indices]
        if kind == "ResourceGather":
            pure = "GatherV2"
            batched = given.get("batch_dims") or 0
            attributes += "Taxis", tf.int32, "batch_dims", batched
            read.append(tf.constant(batched))
        self._add(pure, read, attributes, outputs, shown_as=kind)

    def _contents_of(self, handle: Native) -> Native | None:
        """The tensor that a variable held before this operation, if it was seen."""
        value = self._current.get(id(handle))
        if value is not None:
            return self.recorder.recorded[value]
        contents = self._contents.get(id(handle))
        if contents is not None and id(handle) not in self.written:
            self._variable_leaf(id(handle), contents)
            return contents
        return None

    def _written(self, handle: Native) -> None:
        """Something that is not followed may have changed a variable: its next read is a leaf."""
        self._handles[id(handle)] = handle
        self.written.add(id(handle))
        self._current.pop(id(handle), None)

    def _variable_leaf(self, handle: int, tensor: Native) -> int:
        value = self.leaf(tensor, "parameter")
        self._leaves[value] = handle
        if handle not in self.written:
            self._current[handle] = value
            held = self._contents.get(handle)
            if held is not None:
                self.recorder.alias(held, value)
        self._keeps(tensor)
        return value

    def _keeps(self, tensor: Native) -> None:
        # every 2.5 may be the same memory: TensorFlow caches scalars
        if self._host and (tensor._shape_tuple() or id(tensor) in self._owners):
            self._buffers.setdefault(address(tensor), tensor)

    @contextlib.contextmanager
    def as_made(self) -> Iterator[None]:
        """Gives variables that a run makes what they contained at first, also after an error."""
        try:
            yield
        finally:
            for handle in self.written & self.initial.keys():
                assign_variable_op(*self.initial[handle])
            if self.drew:
                forget_streams()

    def name_variables(self, held: Holdings) -> None:
        """Gives the leaves that are variables their names."""
        names = held.names()
        for value, handle in self._leaves.items():
            found = names.get(handle)
            if found is not None:
                leaf = self.recorder.values[value]
                leaf.name = found.name
                leaf.kind = "parameter" if found.trainable else "buffer"
                leaf.written = handle in self.written


_SPECIAL = {
    "VarHandleOp": Watcher._created,
    "ReadVariableOp": Watcher._read,
    "AssignVariableOp": Watcher._assign,
    "AssignAddVariableOp": Watcher._arithmetic,
    "AssignSubVariableOp": Watcher._arithmetic,
    "ResourceGather": Watcher._gathered,
    "ResourceGatherNd": Watcher._gathered,
}
