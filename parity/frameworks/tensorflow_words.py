"""Which word of `parity.operations` each operation of TensorFlow is."""

from __future__ import annotations

from parity.operations import settings, table

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
    }
)
