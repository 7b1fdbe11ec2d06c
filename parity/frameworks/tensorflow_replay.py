"""Runs operations of TensorFlow's again, in the recorded precision or in float64."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.execute import quick_execute
from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction
from tensorflow.python.framework import ops
from tensorflow.python.ops.gen_resource_variable_ops import assign_variable_op, read_variable_op

from parity.errors import NoFloat64
from parity.frameworks.tensorflow_operations import FLOAT8, WIDER, facts
from parity.tape import Array, Native, Op, Precision


@dataclass(slots=True)
class Call:
    """What it takes to run an operation again.

    Attributes:
        kind: the type to run, or the name of a graph function.
        attributes: names and values in turn, as TensorFlow takes them.
        arguments: for each input a tensor that stays as it is, or None for the next of `op.inputs`.
        dtypes: of `op.inputs`, as recorded.
        kept: which of the outputs are on the tape.
        variables: that a graph function works on: their handles, and what they held when it ran.
        state: the seed of a draw that is made of nothing else.
        graph: what TensorFlow calls a graph function by, which is freed with it.
    """

    kind: str
    attributes: tuple[Any, ...]
    arguments: tuple[Native | None, ...]
    dtypes: tuple[int, ...]
    outputs: int
    kept: tuple[int, ...]
    variables: tuple[tuple[Native, Native], ...] = ()
    wide: tuple[Any, ...] | None = None
    state: bytes = b""
    graph: Any = None


@dataclass
class Reads:
    """What an operation reads: values of the tape by `ids`, and tensors that stay as they are."""

    ids: list[int] = field(default_factory=list)
    dtypes: list[int] = field(default_factory=list)
    arguments: list[Native | None] = field(default_factory=list)
    variables: list[tuple[Native, Native]] = field(default_factory=list)  # with their contents

    def fixed(self, tensor: Native) -> None:
        self.arguments.append(tensor)

    def value(self, value: int, tensor: Native) -> None:
        self.ids.append(value)
        self.dtypes.append(tensor._datatype_enum())
        self.arguments.append(None)

    def call(
        self, kind: str, attributes: tuple[Any, ...], outputs: int, kept: tuple[int, ...]
    ) -> Call:
        arguments, dtypes = tuple(self.arguments), tuple(self.dtypes)
        return Call(kind, attributes, arguments, dtypes, outputs, kept, tuple(self.variables))


def called_by() -> Any:
    """The object whose graph function runs now: the function lives as long as it does."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_varnames[:1] == ("self",) else None
        if isinstance(caller, AtomicFunction):
            return caller
        frame = frame.f_back
    return None


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Runs the kernel again; in float64 the double kernel, or a composition where there is none.

    Raises:
        NoFloat64: for a graph function, or a kernel that does not take it or rounds to less.
    """
    call: Call = op.call
    if "Dequeue" in call.kind:
        raise NoFloat64("what it takes from a queue is gone: it would wait for more")
    known = facts(call.kind)
    given: Iterator[Native]
    if precision is None:
        given = map(_as_recorded, arguments, call.dtypes)
        inputs = [next(given) if fixed is None else fixed for fixed in call.arguments]
        results = _run(call, inputs, call.attributes)
    else:
        if known is None or known.holds_graph:
            raise NoFloat64(f"{op.attributes['function']} is a graph: it runs as recorded only")
        given = (cast(argument, precision) for argument in arguments)
        inputs = [next(given) if fixed is None else fixed for fixed in call.arguments]
        compose = _COMPOSITIONS.get(call.kind)
        if compose:
            results = compose(
                inputs, dict(zip(call.attributes[::2], call.attributes[1::2], strict=True))
            )
        else:
            if call.wide is None:
                call.wide = _widened(call.attributes, known.types)
            try:
                results = _run(call, inputs, call.wide)
            except tf.errors.OpError as error:  # of a kernel, not of parity
                raise NoFloat64(error.message.split("\n")[0]) from error
        _check_wide(results, op.kind)
    return [results[index] for index in call.kept]


def _run(call: Call, inputs: list[Native], attributes: tuple[Any, ...]) -> list[Native]:
    given = call.kind, call.outputs, inputs, attributes, context.context()
    if not call.variables:  # nearly always, and a replay is mostly this
        return quick_execute(*given)  # type: ignore[no-any-return]
    with _contents(call.variables):
        return quick_execute(*given)  # type: ignore[no-any-return]


def _as_recorded(tensor: Native, dtype: int) -> Native:
    return tensor if tensor._datatype_enum() == dtype else tf.cast(tensor, tf.as_dtype(dtype))


def cast(array: Native, precision: Precision) -> Native:
    wider = None if precision is None else WIDER.get(array._datatype_enum())
    return array if wider is None else tf.cast(array, wider)


def to_numpy(array: Native) -> Array:
    """NumPy's view of a tensor; bfloat16 and float8, which NumPy has not, become float32."""
    if array._datatype_enum() in _UNKNOWN_TO_NUMPY:
        array = tf.cast(array, tf.float32)
    return array._numpy()  # type: ignore[no-any-return]


def from_numpy(array: Array) -> Native:
    """A tensor on the array's own memory where it is laid out as TensorFlow needs it."""
    array = np.ascontiguousarray(array) if array.ndim else array
    code = tf.as_dtype(array.dtype).as_datatype_enum
    return ops.EagerTensor(array, context.context().device_name, code)


_UNKNOWN_TO_NUMPY = {int(dtype.as_datatype_enum) for dtype in (tf.bfloat16, *FLOAT8)}


@contextlib.contextmanager
def _contents(variables: Sequence[tuple[Native, Native]]) -> Iterator[None]:
    """Gives variables other contents for a while, by their handles."""
    now = [(handle, read_variable_op(handle, held.dtype)) for handle, held in variables]
    try:
        for handle, held in variables:
            assign_variable_op(handle, held)
        yield
    finally:
        for handle, held in now:
            assign_variable_op(handle, held)


# --- float64 -------------------------------------------------------------------------------------


def _check_wide(results: Sequence[Native], kind: str) -> None:
    """Refuses results that a kernel has rounded although it was given float64."""
    for result in results:
        if result._datatype_enum() in WIDER:
            raise NoFloat64(f"{kind} returns {result.dtype.name} also for float64")


def _widened(attributes: Sequence[Any], types: frozenset[str]) -> tuple[Any, ...]:
    """The attributes of an operation with every floating dtype among them made float64."""
    found = list(attributes)
    for index in range(0, len(found), 2):
        if found[index] in types:
            value = found[index + 1]
            many = isinstance(value, (list, tuple))
            found[index + 1] = [_wide(one) for one in value] if many else _wide(value)
    return tuple(found)


def _wide(dtype: Any) -> Any:
    return WIDER.get(int(tf.as_dtype(dtype).as_datatype_enum), dtype)


Composition = Callable[[Sequence[Native], Mapping[str, Any]], list[Native]]


def _batch_norm(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
    """FusedBatchNorm of all versions: Ioffe and Szegedy, https://arxiv.org/abs/1502.03167."""
    x, scale, offset, mean, variance = inputs
    layout = _text(attributes.get("data_format", "NHWC"))
    axis = 1 if layout.startswith("NC") else x.shape.rank - 1
    axes = [a for a in range(x.shape.rank) if a != axis]
    shape = [-1 if a == axis else 1 for a in range(x.shape.rank)]
    used_mean, used_variance = mean, variance
    if attributes.get("is_training", True):
        used_mean = tf.reduce_mean(x, axes)
        used_variance = tf.reduce_mean(tf.square(x - tf.reshape(used_mean, shape)), axes)
        count = tf.size(x, tf.int64) // tf.size(used_mean, tf.int64)
        unbiased = tf.cast(count, tf.float64) / tf.cast(tf.maximum(count - 1, 1), tf.float64)
        factor = tf.constant(attributes.get("exponential_avg_factor", 1.0), tf.float64)
        new_variance = used_variance * unbiased
        if attributes.get("exponential_avg_factor", 1.0) != 1.0:
            mean = mean * (1 - factor) + used_mean * factor
            variance = variance * (1 - factor) + new_variance * factor
        else:
            mean, variance = used_mean, new_variance
    gain = scale * tf.math.rsqrt(used_variance + attributes.get("epsilon", 1e-4))
    y = (x - tf.reshape(used_mean, shape)) * tf.reshape(gain, shape) + tf.reshape(offset, shape)
    empty = tf.zeros([0], tf.float64)
    return [y, mean, variance, used_mean, used_variance, empty]


def _leaky_relu(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
    """The kernel's slope is a float32; this one's is the number that the user wrote."""
    (x,) = inputs
    return [tf.where(x > 0, x, x * tf.constant(attributes.get("alpha", 0.2), x.dtype))]


def _lrn(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
    (x,) = inputs
    radius = attributes.get("depth_radius", 5)
    square = tf.pad(tf.square(x), [[0, 0]] * 3 + [[radius, radius]])
    channels = x.shape[-1]
    around = tf.add_n([square[..., i : i + channels] for i in range(2 * radius + 1)])
    scale = attributes.get("bias", 1.0) + attributes.get("alpha", 1.0) * around
    return [x / tf.pow(scale, tf.constant(attributes.get("beta", 0.5), x.dtype))]


def _resize_bilinear(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
    """Images (batch, height, width, channels); the kernel returns float32 whatever it gets."""
    images, size = inputs
    for axis, length in ((1, int(size[0])), (2, int(size[1]))):
        lower, upper, weight = _sample(int(images.shape[axis]), length, attributes)
        weight = tf.reshape(weight, [-1 if a == axis else 1 for a in range(4)])
        first, second = tf.gather(images, lower, axis=axis), tf.gather(images, upper, axis=axis)
        images = first + (second - first) * weight
    return [images]


def _sample(
    source: int, target: int, attributes: Mapping[str, Any]
) -> tuple[Native, Native, Native]:
    """For each target pixel its two source pixels and the weight of the second."""
    place = tf.range(target, dtype=tf.float64)
    if attributes.get("align_corners") and target > 1:
        place *= (source - 1) / (target - 1)
    elif attributes.get("half_pixel_centers"):
        place = (place + 0.5) * (source / target) - 0.5
    else:
        place *= source / target
    floor = tf.floor(place)
    lower = tf.cast(tf.maximum(floor, 0), tf.int32)
    upper = tf.cast(tf.minimum(tf.math.ceil(place), source - 1), tf.int32)
    return lower, upper, place - floor


def _pool3d(largest: bool) -> Composition:
    """MaxPool3D or AvgPool3D: the windows' elements are strided slices of the padded input."""

    def pool(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
        (x,) = inputs
        window, strides = attributes["ksize"], attributes["strides"]
        sizes = [int(size) for size in x.shape]
        if _text(attributes["padding"]) == "SAME":
            steps = [-(-size // s) for size, s in zip(sizes, strides, strict=True)]
        else:
            steps = [(z - w) // s + 1 for z, w, s in zip(sizes, window, strides, strict=True)]
        lacks = [
            max((n - 1) * s + w - size, 0)
            for n, s, w, size in zip(steps, strides, window, sizes, strict=True)
        ]
        edges = [[lack // 2, lack - lack // 2] for lack in lacks]
        filled = tf.pad(x, edges, constant_values=float("-inf") if largest else 0.0)
        inside = tf.pad(tf.ones_like(x), edges)

        def elements(padded: Native) -> Native:
            reach = [(n - 1) * s + 1 for n, s in zip(steps, strides, strict=True)]
            return [
                tf.strided_slice(
                    padded, at, [a + r for a, r in zip(at, reach, strict=True)], strides
                )
                for at in itertools.product(*map(range, window))
            ]

        if largest:
            return [functools.reduce(tf.maximum, elements(filled))]
        return [tf.add_n(elements(filled)) / tf.add_n(elements(inside))]

    return pool


def _bitcast(inputs: Sequence[Native], attributes: Mapping[str, Any]) -> list[Native]:
    """The bits of the recorded precision: those of a float64 are twice as many (Keras' argmax)."""
    recorded = tf.as_dtype(attributes["T"])
    return [tf.bitcast(tf.cast(inputs[0], recorded), tf.as_dtype(attributes["type"]))]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


_COMPOSITIONS: dict[str, Composition] = {
    "Bitcast": _bitcast,
    "FusedBatchNorm": lambda inputs, attributes: _batch_norm(inputs, attributes)[:5],
    "FusedBatchNormV2": lambda inputs, attributes: _batch_norm(inputs, attributes)[:5],
    "FusedBatchNormV3": _batch_norm,
    "LeakyRelu": _leaky_relu,
    "LRN": _lrn,
    "ResizeBilinear": _resize_bilinear,
    "MaxPool3D": _pool3d(largest=True),
    "AvgPool3D": _pool3d(largest=False),
}
