"""What TensorFlow's operations are: moves or draws, what is a setting, and their float64.

A type's attributes and arguments are read off TensorFlow's own registry. By hand are only the
lists of what moves values, and float64 versions of the kernels that have none.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from parity.errors import NoFloat64
from parity.tape import Native, Role

# --- what an operation is ------------------------------------------------------------------------

_MOVES = frozenset(
    """
    BatchToSpace BatchToSpaceND BroadcastTo Cast Concat ConcatV2 DeepCopy DepthToSpace Diag DiagPart
    DynamicPartition DynamicStitch EnsureShape ExpandDims ExtractImagePatches Gather GatherNd
    GatherV2 Identity IdentityN InvertPermutation MatrixBandPart MatrixDiag MatrixDiagPart
    MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2
    MatrixSetDiagV3 MirrorPad Pack Pad PadV2 ParallelConcat ParallelDynamicStitch PreventGradient
    ResourceGather ResourceGatherNd Reshape Reverse ReverseSequence ReverseV2 Roll Slice Snapshot
    SpaceToBatch SpaceToBatchND SpaceToDepth Split SplitV Squeeze StopGradient StridedSlice
    TensorScatterUpdate TensorStridedSliceUpdate Tile Transpose Unpack
    """.split()
)
_RANDOM = re.compile(
    r"Random(?!.*(GetKey|GetAlg|Dataset|Queue|Generator|Grad))|Multinomial|TruncatedNormal"
    r"|^Stateful(Standard|Uniform)|^StatelessShuffle|CandidateSampler|^RngReadAndSkip"
)
# Arguments that state how, not what: constants among them are shown as attributes.
_SETTINGS = {
    **dict.fromkeys(("reduction_indices", "axis", "dim", "split_dim", "dimension"), "axis"),
    **{
        name: name
        for name in (
            "begin block_shape crops depth dims end input_sizes k multiples num num_segments "
            "paddings perm shape shift size size_splits sizes strides output_shape"
        ).split()
    },
}
# Attributes that say nothing of the values.
NOISE = frozenset(
    "Truncate validate_indices validate_shape use_cudnn_on_gpu grad_a grad_b grad_x grad_y "
    "container shared_name config config_proto executor_type _output_shapes _XlaMustCompile".split()
)
FLOAT8 = (tf.dtypes.experimental.float8_e4m3fn, tf.dtypes.experimental.float8_e5m2)
# Names of the dtypes that hold numbers, by TensorFlow's own codes.
NUMERIC = {
    int(dtype.as_datatype_enum): dtype.name
    for dtype in (
        *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128, tf.bool),
        *FLOAT8,
        *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    )
}
INTEGERS = frozenset(code for code, dtype in NUMERIC.items() if dtype.startswith(("int", "uint")))
WIDER = {  # the dtypes that float64 replaces
    **dict.fromkeys(
        (int(dtype.as_datatype_enum) for dtype in (tf.float32, tf.float16, tf.bfloat16, *FLOAT8)),
        tf.float64,
    ),
    int(tf.complex64.as_datatype_enum): tf.complex128,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What TensorFlow's registry states of a type of operation.

    Attributes:
        types: its attributes that are dtypes.
        hidden: its attributes that are not for people: dtypes, counts of inputs, switches.
        arguments: its inputs in order, each with whether it is a list of tensors.
        holds_graph: whether it runs a graph, into which nothing here looks.
    """

    role: Role
    types: frozenset[str]
    hidden: frozenset[str]
    arguments: tuple[tuple[str, bool], ...]
    holds_graph: bool


@functools.cache
def facts(kind: str) -> Facts | None:
    """What is known of a type of operation; None for a graph function, which is no type."""
    definition = op_def_registry.get(kind)
    if definition is None:
        return None
    role: Role = "compute"
    if kind in _MOVES:
        role = "move"
    elif _RANDOM.search(kind):
        role = "random"
    types = frozenset(a.name for a in definition.attr if a.type in ("type", "list(type)"))
    counts = {arg.number_attr for arg in definition.input_arg}
    return Facts(
        role,
        types,
        types | counts | NOISE,
        tuple((a.name, bool(a.number_attr or a.type_list_attr)) for a in definition.input_arg),
        any(a.type in ("func", "list(func)") for a in definition.attr),
    )


@functools.cache
def settings(kind: str, inputs: int) -> tuple[str, ...]:
    """For each input of an operation the attribute that it is if it is constant, or ""."""
    known = facts(kind)
    arguments = known.arguments if known else ()
    if sum(is_list for _, is_list in arguments) > 1:
        return ("",) * inputs
    spread = inputs - len(arguments) + 1
    names = [name for name, is_list in arguments for _ in range(spread if is_list else 1)]
    return tuple(_SETTINGS.get(name, "") for name in names) + ("",) * (inputs - len(names))


def readable(attributes: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """Attributes for people: no dtypes, no counts of inputs, bytes as text, shapes as tuples."""
    return {
        key: _plain(value)
        for key, value in attributes.items()
        if key not in hidden and value is not None
    }


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, tf.TensorShape):
        return tuple(value.as_list()) if value.rank is not None else None
    return value


def kept(kind: str, given: Mapping[str, Any], outputs: int) -> int:
    """How many outputs of an operation mean something: inference leaves memory as it finds it."""
    if kind.startswith("FusedBatchNorm") and not given.get("is_training", True):
        return 1
    return outputs


# --- float64 -------------------------------------------------------------------------------------


def widened(attributes: Sequence[Any], types: frozenset[str]) -> tuple[Any, ...]:
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
    """Local response normalisation over the last axis."""
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


COMPOSITIONS: dict[str, Composition] = {
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


def check_wide(results: Sequence[Native], kind: str) -> None:
    """Refuses results that a kernel has rounded although it was given float64.

    Raises:
        NoFloat64: there is one.
    """
    for result in results:
        if result._datatype_enum() in WIDER:
            raise NoFloat64(f"{kind} returns {result.dtype.name} also for float64")


def without_none(given: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(part for item in given.items() if item[1] is not None for part in item)


def function_name(kind: str, given: dict[str, Any]) -> str:
    """`__inference_call_28` and the name in a PartitionedCall are both `call`."""
    called = given.get("f")
    text = str(getattr(called, "name", called) or kind)
    text = text.removeprefix("b'").removesuffix("'")
    return re.sub(r"^__(inference|forward|backward)_|_\d+$", "", text)
