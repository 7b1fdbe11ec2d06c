"""Which word of `parity.operations` each function of Chainer is."""

from __future__ import annotations

from parity.operations import settings, table

WORDS = table(
    {
        "add": "addconstant",
        "add_all": "multiadd",
        "subtract": "sub",
        "subtract_from": "subfromconstant",
        "multiply": "mul mulconstant",
        "divide": "div",
        "divide_from": "divfromconstant",
        "negate": "neg",
        "power": "powvarvar powvarconst",
        "power_from": "powconstvar",
        "abs": "absolute",
        "interpolate": "linearinterpolate",
        "multiply_then_add": "muladd",
        "relu6": "clippedrelu",
        "prelu": "prelufunction",
        "silu": "swish",
        "cross_entropy": "softmaxcrossentropy sigmoidcrossentropy",
        "sum": "sumto",
        "mean": "average",
        "product": "prod",
        "cumulative_sum": "cumsum",
        "dense": "linearfunction",
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
        "reshape": "flatten",
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
        "gather": "selectitem permutate",
        "space_to_depth": "space2depth",
        "depth_to_space": "depth2space",
        "resize_linear": "resizeimages",
        "sample_grid": "spatialtransformersampler",
        "unpool": "unpooling2d unpoolingnd upsampling2d",
        "zeros": "zeroslike",
    }
)

SETTINGS = settings(
    {
        "epsilon": "eps",
        "minimum": "x_min",
        "maximum": "x_max",
        "scalar": "value rhs",
    }
)
