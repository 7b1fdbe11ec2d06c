"""What Chainer's functions are: their words, and what their attributes state; NumPy's too."""

from __future__ import annotations

from parity.frameworks.windows import WindowNames
from parity.operations import settings, table
from parity.products import Product, einsum_equation, product_of
from parity.tape import Op, Tape
from parity.windows import Padding, Window

WORDS = table(
    {
        "add": "addconstant",
        "add_all": "multiadd",
        "subtract": "sub",
        "subtract_from": "subfromconstant",
        "multiply": "mul mulconstant",
        "divide": "div",
        "divide_from": "divfromconstant",
        "negate": "neg negative",
        "power": "powvarvar powvarconst",
        "power_from": "powconstvar",
        "abs": "absolute fabs",
        "interpolate": "linearinterpolate",
        "multiply_then_add": "muladd",
        "relu6": "clippedrelu",
        "prelu": "prelufunction",
        "silu": "swish",
        "cross_entropy": "softmaxcrossentropy sigmoidcrossentropy",
        "sum": "sumto",
        "mean": "average",
        "product": "prod",
        "variance": "var",
        "standard_deviation": "std",
        "cumulative_sum": "cumsum",
        "round": "rint around",
        "truncate": "trunc",
        "dense": "linearfunction",
        "matmul": "dot",
        "bias_add": "bias",
        "convolution": "convolution2dfunction convolutionnd",
        "depthwise_convolution": "depthwiseconvolution2d",
        "transposed_convolution": "deconvolution2dfunction deconvolutionnd",
        "columns": "im2col",
        "batch_norm": "batchnormalization fixedbatchnormalization",
        "layer_norm": "layernormalization",
        "group_norm": "groupnormalization",
        "l2_normalize": "normalizel2",
        "local_response_norm": "localresponsenormalization",
        "max_pool": "maxpooling2d maxpoolingnd",
        "average_pool": "averagepooling2d averagepoolingnd",
        "recurrence": "lstm slstm nsteplstm nstepbilstm nstepgru nstepbigru nsteprnntanh "
        "nsteprnnrelu nstepbirnntanh nstepbirnnrelu",
        "reshape": "flatten ravel",
        "transpose": "swapaxes moveaxis rollaxis",
        "broadcast": "broadcastto",
        "slice": "getitem",
        "split": "splitaxis",
        "unstack": "separate",
        "concatenate": "concat hstack vstack dstack",
        "flip": "fliplr flipud",
        "repeat": "tile",
        "cast": "astype",
        "copy": "identity",
        "embedding": "embedidfunction",
        "gather": "selectitem permutate take",
        "space_to_depth": "space2depth",
        "depth_to_space": "depth2space",
        "resize_linear": "resizeimages",
        "sample_grid": "spatialtransformersampler",
        "unpool": "unpooling2d unpoolingnd upsampling2d",
        "zeros": "zeroslike",
        "ones": "oneslike",
        "fill": "fulllike",
    }
)

SETTINGS = settings(
    {
        "epsilon": "eps",
        "minimum": "x_min",
        "maximum": "x_max",
        "scalar": "value rhs",
        "transposes_first": "transa",
        "transposes_second": "transb",
    }
)

_WINDOWS = WindowNames(
    ("ksize", "kh", "kw"), ("stride", "sy", "sx"), ("dilate", "dy", "dx"), ("pad", "ph", "pw")
)


def window(op: Op, tape: Tape) -> Window | None:
    if op.word in ("convolution", "transposed_convolution"):
        return _WINDOWS.convolution(op, tape, op.word == "transposed_convolution")
    if op.word in ("max_pool", "average_pool", "columns"):
        axes = tuple(range(2, len(tape.values[op.inputs[0]].shape)))
        return _WINDOWS.pool(op, tape, axes, 1)
    return None


def padding(op: Op, tape: Tape) -> Padding | None:
    given, rank = op.attributes, len(tape.values[op.inputs[0]].shape)
    pads = given.get("pad_width")
    if op.word != "pad" or not isinstance(pads, (tuple, list)) or len(pads) != rank:
        return None
    mode = str(given.get("mode", "constant"))
    zeros = "zeros" if given.get("value", 0) == 0 else ""
    return Padding(tuple((int(a), int(b)) for a, b in pads), zeros if mode == "constant" else mode)


def product(op: Op, tape: Tape) -> Product | None:
    if op.word == "einsum" and len(op.inputs) == 2:
        ranks = [len(tape.values[v].shape) for v in (*op.inputs, op.outputs[0])]
        subscripts, result = (op.attributes.get(name) for name in ("in_subs", "out_sub"))
        equation = einsum_equation(f"{subscripts}->{result}", ranks)
        return Product((op.inputs[0], op.inputs[1]), equation=equation) if equation else None
    return product_of(op, tape, dense_transposed=True)
