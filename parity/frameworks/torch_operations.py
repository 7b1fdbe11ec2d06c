"""What ATen's operators are: their words, and what their schemas and arguments state."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from parity.frameworks.windows import WindowNames
from parity.operations import kernel_name, settings, table
from parity.products import Product, product_of
from parity.tape import Op, Role, Tape
from parity.windows import Padding, Window

# --- words ---------------------------------------------------------------------------------------

WORDS = table(
    {
        "add": "addc iadd",
        "subtract": "sub isub",
        "subtract_from": "rsub",
        "multiply": "mul",
        "divide": "div truedivide",
        "remainder": "fmod",
        "negate": "neg negative",
        "power": "pow floatpower",
        "abs": "absolute",
        "sign": "sgn",
        "truncate": "trunc fix",
        "maximum": "fmax",
        "minimum": "fmin",
        "clip": "clamp hardtanh",
        "clip_min": "clampmin",
        "clip_max": "clampmax",
        "multiply_add": "addcmul",
        "divide_add": "addcdiv",
        "equal": "eq",
        "not_equal": "ne",
        "less": "lt",
        "less_equal": "le",
        "greater": "gt",
        "greater_equal": "ge",
        "logical_and": "bitwiseand",
        "logical_or": "bitwiseor",
        "logical_not": "bitwisenot",
        "prelu": "prelukernel",
        "softmax": "safesoftmax",
        "log_sigmoid": "logsigmoidforward",
        "cross_entropy": "crossentropyloss binarycrossentropy binarycrossentropywithlogits",
        "dropout": "nativedropout fuseddropout featuredropout alphadropout",
        "sum": "nansum sumtosize",
        "mean": "nanmean",
        "product": "prod",
        "max": "amax",
        "min": "amin",
        "variance": "var",
        "variance_and_mean": "varmean",
        "standard_deviation": "std",
        "norm": "linalgvectornorm",
        "min_and_max": "aminmax",
        "cumulative_sum": "cumsum",
        "dense": "addmm linear",
        "matmul": "mm bmm mv dot",
        "add_matmul": "baddbmm addbmm addmv",
        "convolution": "convolutionoverrideable mkldnnconvolution conv1d conv2d conv3d",
        "columns": "im2col",
        "batch_norm": "nativebatchnorm cudnnbatchnorm miopenbatchnorm nativebatchnormlegit "
        "nativebatchnormlegitnotraining",
        "layer_norm": "nativelayernorm",
        "group_norm": "nativegroupnorm",
        "rms_norm": "fusedrmsnorm",
        "weight_norm": "weightnorminterface",
        "max_pool": "maxpool1dwithindices maxpool2dwithindices maxpool3dwithindices maxpool1d "
        "maxpool2d maxpool3d mkldnnmaxpool2d mkldnnmaxpool3d",
        "average_pool": "avgpool1d avgpool2d avgpool3d",
        "adaptive_average_pool": "adaptiveavgpool1d adaptiveavgpool2d adaptiveavgpool3d",
        "adaptive_max_pool": "adaptivemaxpool1d adaptivemaxpool2d adaptivemaxpool3d",
        "recurrence": "mkldnnrnnlayer lstm gru rnntanh rnnrelu cudnnrnn miopenrnn lstmcell "
        "grucell rnntanhcell rnnrelucell thnnfusedlstmcell thnnfusedgrucell",
        "attention": "scaleddotproductattention scaleddotproductflashattention "
        "scaleddotproductflashattentionforcpu scaleddotproductefficientattention "
        "scaleddotproductcudnnattention scaleddotproductattentionmath "
        "scaleddotproductfusedattentionoverrideable",
        "reshape": "view unsafeview flatten reshapealias reshapecopy viewcopy unflatten",
        "expand_dims": "unsqueeze",
        "transpose": "permute t movedim swapaxes",
        "broadcast": "expand broadcastto expandas",
        "slice": "select narrow",
        "split": "splitwithsizes chunk unsafesplit unsafesplitwithsizes unsafechunk",
        "unstack": "unbind",
        "concatenate": "cat",
        "pad": "constantpadnd",
        "reflect_pad": "reflectionpad1d reflectionpad2d reflectionpad3d",
        "replicate_pad": "replicationpad1d replicationpad2d replicationpad3d",
        "repeat": "repeatinterleave",
        "rotate": "rot90",
        "cast": "tocopy to",
        "copy": "clone contiguous detach alias lift liftfresh liftfreshcopy",
        "embedding_bag": "embeddingbagforwardonly",
        "gather": "index indexselect takealongdim take unsafeindex",
        "space_to_depth": "pixelunshuffle",
        "depth_to_space": "pixelshuffle",
        "resize_nearest": "upsamplenearest1d upsamplenearest2d upsamplenearest3d "
        "upsamplenearestexact1d upsamplenearestexact2d upsamplenearestexact3d",
        "resize_linear": "upsamplelinear1d upsamplebilinear2d upsampletrilinear3d "
        "upsamplebilinear2daa",
        "resize_cubic": "upsamplebicubic2d upsamplebicubic2daa",
        "sample_grid": "gridsampler2d gridsampler3d cudnngridsampler",
        "unpool": "maxunpool2d maxunpool3d",
        "zeros": "zeroslike newzeros",
        "ones": "oneslike newones",
        "fill": "full fulllike newfull",
        "range": "arange",
    }
)

SETTINGS = settings(
    {
        "axis": "dim",
        "epsilon": "eps",
        "groups": "group",
        "minimum": "min_val min threshold",
        "maximum": "max_val max",
        "replacement": "value",
        "slope": "negative_slope",
        "scalar": "other value exponent",
        "factor": "alpha value",
        "training": "training train",
        "normalised_shape": "normalized_shape",
        "outer_scale": "scale",
        "inner_scale": "input_scale",
    }
)

# --- schemas -------------------------------------------------------------------------------------

# Operators that put the same values elsewhere.
_MOVES = frozenset(
    """
    alias as_strided broadcast_to cat channel_shuffle chunk clone col2im_copy contiguous copy
    constant_pad_nd detach diagonal expand expand_as flatten flip fold gather im2col index
    index_select lift lift_fresh lift_fresh_copy masked_select movedim narrow permute
    pixel_shuffle pixel_unshuffle reflection_pad1d reflection_pad2d reflection_pad3d repeat
    repeat_interleave replication_pad1d replication_pad2d replication_pad3d reshape resize roll
    rot90 select slice slice_scatter select_scatter split split_with_sizes squeeze stack t take
    to_copy _to_copy transpose unbind unfold unsafe_chunk unsafe_split unsafe_split_with_sizes
    unsafe_view _unsafe_view unsqueeze view _reshape_alias _reshape_copy _unsafe_index
    take_along_dim swapaxes upsample_nearest1d upsample_nearest2d upsample_nearest3d
    """.split()
)


class Signature:
    """What an ATen operator's schema states, looked up once for each."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.names = [argument.name for argument in schema.arguments]
        self.defaults = {
            argument.name: argument.default_value
            for argument in schema.arguments
            if argument.has_default_value()
        }
        self.writes = [
            index
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        # writes its running statistics without saying so in its schema
        self.batch_norm = schema.name in ("aten::native_batch_norm", "aten::_native_batch_norm")
        bare = schema.name.split("::")[-1]
        self.kind = bare.strip("_")
        self._role: Role = "move" if bare.rstrip("_") in _MOVES else "compute"
        if torch.Tag.nondeterministic_seeded in func.tags:
            self._role = "random"

    def role(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Role:
        """Random only if it draws: what has a rate of zero does not, nor what is not trained."""
        if self._role != "random":
            return self._role
        given = self.given(args, kwargs)
        rate = given.get("dropout_p", 1.0)
        trained = given.get("training", given.get("train")) is not False
        return "random" if rate and trained else "compute"

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults included."""
        return {**self.defaults, **dict(zip(self.names, args, strict=False)), **kwargs}

    def written(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[tuple[int | str, Any]]:
        if self.batch_norm and args[5]:
            yield from ((index, args[index]) for index in (3, 4))
        for index in self.writes:
            if index < len(args):
                yield index, args[index]
            elif self.names[index] in kwargs:
                yield self.names[index], kwargs[self.names[index]]

    def attributes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are no tensors, by name; for reports."""
        return {
            name: value
            for name, value in (*zip(self.names, args, strict=False), *kwargs.items())
            if isinstance(value, (int, float, str)) or type(value) is list and _plain(value)
        }


def _plain(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


@functools.cache
def signature_of(func: Any) -> Signature:
    return Signature(func)


# --- windows, paddings, products -----------------------------------------------------------------

_WINDOWS = WindowNames(("kernel_size",), ("stride",), ("dilation",), ("padding",))
_PADS = {"pad": "zeros", "reflect_pad": "reflect", "replicate_pad": "replicate"}


def window(op: Op, tape: Tape) -> Window | None:
    if op.word in ("convolution", "transposed_convolution"):
        return _WINDOWS.convolution(op, tape, bool(op.attributes.get("transposed")))
    if op.word not in ("max_pool", "average_pool", "columns"):
        return None
    rank, count = len(tape.values[op.inputs[0]].shape), len(op.attributes.get("kernel_size") or ())
    counts_edges = bool(op.attributes.get("count_include_pad", True))
    axes = tuple(range(rank - count, rank))
    return _WINDOWS.pool(op, tape, axes, rank - count - 1, counts_edges)


def padding(op: Op, tape: Tape) -> Padding | None:
    flat = op.attributes.get("pad", op.attributes.get("padding"))
    rank = len(tape.values[op.inputs[0]].shape)
    if op.word not in _PADS or not isinstance(flat, list) or len(flat) % 2 or len(flat) > 2 * rank:
        return None
    last = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
    known = op.attributes.get("value", 0) == 0
    return Padding(((0, 0),) * (rank - len(last)) + tuple(last), _PADS[op.word] if known else "")


def product(op: Op, tape: Tape) -> Product | None:
    if kernel_name(op.kind) == "addmm" and len(op.inputs) == 3:
        return Product((op.inputs[1], op.inputs[2]), bias=op.inputs[0])
    return product_of(op, tape, dense_transposed=True)
