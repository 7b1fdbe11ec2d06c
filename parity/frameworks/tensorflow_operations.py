"""What TensorFlow's operations are: their words, and what its registry and attributes state.

By hand are only the words, and the list of what moves values.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from parity.frameworks.windows import WindowNames
from parity.operations import settings, table
from parity.tape import Op, Role, Tape
from parity.windows import Geometry, Padding, Sizes, Window

# --- words ---------------------------------------------------------------------------------------

WORDS = table(
    {
        "add": "addv2",
        "add_all": "addn",
        "subtract": "sub",
        "multiply": "mul mulnonan",
        "divide": "realdiv div divnonan truncatediv",
        "floor_divide": "floordiv",
        "remainder": "floormod mod",
        "reciprocal": "inv",
        "negate": "neg",
        "power": "pow",
        "abs": "complexabs",
        "round": "rint",
        "clip": "clipbyvalue",
        "where": "select selectv2",
        "cross_entropy": "softmaxcrossentropywithlogits sparsesoftmaxcrossentropywithlogits",
        "product": "prod",
        "norm": "euclideannorm",
        "cumulative_sum": "cumsum",
        "top_k": "topkv2",
        "matmul": "batchmatmul batchmatmulv2 batchmatmulv3",
        "convolution": "conv2d conv3d conv",
        "depthwise_convolution": "depthwiseconv2dnative",
        "transposed_convolution": "conv2dbackpropinput conv3dbackpropinputv2",
        "columns": "extractimagepatches",
        "batch_norm": "fusedbatchnorm fusedbatchnormv2 fusedbatchnormv3",
        "local_response_norm": "lrn",
        "max_pool": "maxpoolv2 maxpool3d maxpoolwithargmax",
        "average_pool": "avgpool avgpool3d",
        "recurrence": "cudnnrnn cudnnrnnv2 cudnnrnnv3 blocklstm blocklstmv2 lstmblockcell "
        "grublockcell",
        "broadcast": "broadcastto",
        "slice": "stridedslice",
        "split": "splitv",
        "unstack": "unpack",
        "concatenate": "concat concatv2",
        "stack": "pack",
        "pad": "padv2",
        "reflect_pad": "mirrorpad",
        "flip": "reversev2",
        "repeat": "tile",
        "copy": "identity identityn stopgradient snapshot preventgradient",
        "gather": "gatherv2 resourcegather resourcegathernd gathernd",
        "space_to_batch": "spacetobatchnd",
        "batch_to_space": "batchtospacend",
        "resize_nearest": "resizenearestneighbor",
        "resize_linear": "resizebilinear",
        "resize_cubic": "resizebicubic",
        "sample_grid": "cropandresize",
        "zeros": "zeroslike",
        "ones": "oneslike",
    }
)

SETTINGS = settings(
    {
        "slope": "alpha",
        "training": "is_training",
        "transposes_first": "transpose_a adj_x",
        "transposes_second": "transpose_b adj_y",
        "block": "block_shape",
        "margins": "paddings",
    }
)

# --- the registry --------------------------------------------------------------------------------

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
def settings_of(kind: str, inputs: int) -> tuple[str, ...]:
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


def without_none(given: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(part for item in given.items() if item[1] is not None for part in item)


def function_name(kind: str, given: dict[str, Any]) -> str:
    """`__inference_call_28` and the name in a PartitionedCall are both `call`."""
    called = given.get("f")
    text = str(getattr(called, "name", called) or kind)
    text = text.removeprefix("b'").removesuffix("'")
    return re.sub(r"^__(inference|forward|backward)_|_\d+$", "", text)


# --- windows and paddings ------------------------------------------------------------------------

_WINDOWS = WindowNames(("ksize", "ksizes"), ("strides",), ("dilations", "rates"))


def channel_axis(op: Op, rank: int) -> int:
    return 1 if str(op.attributes.get("data_format", "NHWC")).startswith("NC") else rank - 1


def _space(op: Op, rank: int) -> Sizes:
    return tuple(axis for axis in range(1, rank) if axis != channel_axis(op, rank))


def window(op: Op, tape: Tape) -> Window | None:
    if op.word in ("convolution", "depthwise_convolution", "transposed_convolution"):
        return _convolution(op, tape)
    if op.word not in ("max_pool", "average_pool", "columns"):
        return None
    rank = len(tape.values[op.inputs[0]].shape)
    axes, channel = _space(op, rank), channel_axis(op, rank)
    found = _WINDOWS.pool(op, tape, axes, channel, counts_edges=False)
    return found and replace(found, geometry=_padded(op, found.geometry, axes, rank))


def _convolution(op: Op, tape: Tape) -> Window | None:
    transposed, depthwise = (op.word.startswith(one) for one in ("transposed", "depthwise"))
    at, weight = op.inputs[::-1][:2] if transposed else op.inputs[:2]
    x, y, shape = (tape.values[v].shape for v in (at, op.outputs[0], weight))
    rank = len(shape)
    if len(x) != rank:
        return None
    axes, channel = _space(op, rank), channel_axis(op, rank)
    shapes = (y, x) if transposed else (x, y)
    geometry = _WINDOWS.geometry(op, shape[:-2], axes, *shapes)
    inner = shape[-1] if transposed else 1 if depthwise else shape[-2]
    order = (rank - 2, rank - 1) if depthwise else (rank - 1, rank - 2)
    if geometry is None:
        return None
    return Window(
        at,
        axes,
        channel,
        _padded(op, geometry, axes, rank),
        weight=weight,
        layout=(*order, *range(rank - 2)),
        groups=x[channel] // inner,
        transposed=transposed,
        depthwise=depthwise,
    )


def _padded(op: Op, found: Geometry, axes: Sizes, rank: int) -> Geometry:
    mode, explicit = op.attributes.get("padding"), op.attributes.get("explicit_paddings") or ()
    if mode == "SAME":
        return replace(found, same=True, before=tuple(max(n, 0) // 2 for n in found.totals))
    if mode == "VALID":
        return found
    known = len(explicit) == 2 * rank
    return replace(found, before=tuple(explicit[2 * a] for a in axes) if known else ())


def padding(op: Op, tape: Tape) -> Padding | None:
    given, rank = op.attributes, len(tape.values[op.inputs[0]].shape)
    pads = given.get("paddings")
    if op.word not in ("pad", "reflect_pad") or not isinstance(pads, (tuple, list)):
        return None
    if len(pads) != rank:
        return None
    mode = "zeros" if op.kind == "Pad" else ""  # PadV2 has it as an input
    if op.word == "reflect_pad":
        mode = "symmetric" if given.get("mode") == "SYMMETRIC" else "reflect"
    return Padding(tuple((int(a), int(b)) for a, b in pads), mode)
