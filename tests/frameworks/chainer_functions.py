"""One call of each of Chainer's differentiable functions, by name, for the replay tests.

All take `x` (2, 3), `y` (2, 3), `image` (2, 3, 8, 10), `positive` (2, 3) in (0, 1), `square`
(2, 4, 4) and `labels` (2,) from a namespace, and return what the function returns.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions

Case = Callable[[SimpleNamespace], Any]


def arguments() -> dict[str, np.ndarray]:
    """The inputs, as named above."""
    random = np.random.default_rng(5)
    return {
        "x": random.standard_normal((2, 3)).astype("f"),
        "y": random.standard_normal((2, 3)).astype("f"),
        "image": random.standard_normal((2, 3, 8, 10)).astype("f"),
        "positive": random.uniform(0.1, 0.9, (2, 3)).astype("f"),
        "square": (random.standard_normal((2, 4, 4)) + 3 * np.eye(4)).astype("f"),
        "labels": np.array([2, 0], dtype=np.int32),
    }


def weights(*shape: int) -> np.ndarray:
    """An array that is the same at every call, as a parameter would be."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f")


W_CONV, W_DECONV, W_DENSE = weights(4, 3, 3, 2), weights(3, 4, 3, 2), weights(5, 3)
B4, B5, B3 = weights(4), weights(5), weights(3)
GAMMA, BETA, MEAN, VAR = weights(3), weights(1, 3)[0], weights(3, 1)[:, 0], np.float32([0.5, 1, 2])

CASES: dict[str, Case] = {
    # activations
    "clipped_relu": lambda v: F.clipped_relu(v.x, 0.7),
    "crelu": lambda v: F.crelu(v.x),
    "elu": lambda v: F.elu(v.x),
    "hard_sigmoid": lambda v: F.hard_sigmoid(v.x),
    "leaky_relu": lambda v: F.leaky_relu(v.x),
    "log_softmax": lambda v: F.log_softmax(v.x),
    "lstm": lambda v: F.lstm(v.x[:, :1], F.concat((v.x, v.y[:, :1]))),
    "maxout": lambda v: F.maxout(v.x, 3),
    "prelu": lambda v: F.prelu(v.x, GAMMA),
    "rrelu": lambda v: F.rrelu(v.x),
    "relu": lambda v: F.relu(v.x),
    "relu6": lambda v: F.relu6(v.x),
    "selu": lambda v: F.selu(v.x),
    "sigmoid": lambda v: F.sigmoid(v.x),
    "slstm": lambda v: F.slstm(
        v.x[:, :1], v.y[:, :1], F.concat((v.x, v.y[:, :1])), F.concat((v.y, v.x[:, 1:2]))
    ),
    "softmax": lambda v: F.softmax(v.x, axis=0),
    "softplus": lambda v: F.softplus(v.x, 2.0),
    "swish": lambda v: F.swish(v.x, GAMMA),
    "tanh": lambda v: F.tanh(v.x),
    "tree_lstm": lambda v: F.tree_lstm(v.x[:, :1], F.concat((v.x, v.y[:, :1]))),
    # arrays
    "as_strided": lambda v: F.as_strided(F.copy(v.x, -1), (3, 2), (1, 3), 0),
    "broadcast": lambda v: F.broadcast(v.x, v.y[:1]),
    "broadcast_to": lambda v: F.broadcast_to(v.x, (4, 2, 3)),
    "cast": lambda v: F.cast(v.x, np.float64),
    "concat": lambda v: F.concat((v.x, v.y), axis=0),
    "copy": lambda v: F.copy(v.x, -1),
    "depth2space": lambda v: F.depth2space(F.concat((v.image, v.image[:, :1])), 2),
    "diagonal": lambda v: F.diagonal(v.square, 1, 1, 2),
    "dstack": lambda v: F.dstack((v.x, v.y)),
    "expand_dims": lambda v: F.expand_dims(v.x, 1),
    "flatten": lambda v: F.flatten(v.image),
    "flip": lambda v: F.flip(v.x, 1),
    "fliplr": lambda v: F.fliplr(v.x),
    "flipud": lambda v: F.flipud(v.x),
    "get_item": lambda v: v.x[:, ::-1],
    "get_item_list": lambda v: v.x[[1, 0, 1]],
    "hstack": lambda v: F.hstack((v.x, v.y)),
    "im2col": lambda v: F.im2col(v.image, 3, 2, 1),
    "moveaxis": lambda v: F.moveaxis(v.image, 1, -1),
    "pad": lambda v: F.pad(v.x, ((0, 1), (2, 0)), "constant", constant_values=0.5),
    "pad_sequence": lambda v: F.pad_sequence([v.x, v.y[:1]]),
    "permutate": lambda v: F.permutate(v.x, np.array([1, 0], np.int32)),
    "repeat": lambda v: F.repeat(v.x, 2, axis=1),
    "reshape": lambda v: F.reshape(v.x, (3, -1)),
    "resize_images": lambda v: F.resize_images(v.image, (5, 7)),
    "rollaxis": lambda v: F.rollaxis(v.image, 2),
    "scatter_add": lambda v: F.scatter_add(v.x, [0, 0], v.y),
    "select_item": lambda v: F.select_item(v.x, v.labels),
    "separate": lambda v: F.separate(v.x, 1),
    "space2depth": lambda v: F.space2depth(v.image, 2),
    "spatial_transformer": lambda v: F.spatial_transformer_sampler(
        v.image,
        F.spatial_transformer_grid(F.reshape(F.tanh(F.concat((v.x, v.y))), (2, 2, 3)), (4, 5)),
    ),
    "split_axis": lambda v: F.split_axis(v.x, [1], 1),
    "squeeze": lambda v: F.squeeze(v.x[:, :1]),
    "stack": lambda v: F.stack((v.x, v.y), 1),
    "swapaxes": lambda v: F.swapaxes(v.image, 1, 3),
    "tile": lambda v: F.tile(v.x, (2, 1)),
    "transpose": lambda v: F.transpose(v.image, (0, 2, 3, 1)),
    "transpose_sequence": lambda v: F.transpose_sequence([v.x, v.y[:1]]),
    "vstack": lambda v: F.vstack((v.x, v.y)),
    "where": lambda v: F.where(np.array([[True, False, True]] * 2), v.x, v.y),
    # connections
    "bilinear": lambda v: F.bilinear(v.x, v.y, weights(3, 3, 4)),
    "convolution_1d": lambda v: F.convolution_1d(v.image[:, :, 0], weights(4, 3, 3), B4, 2, 1),
    "convolution_2d": lambda v: F.convolution_2d(v.image, W_CONV, B4, (2, 1), (1, 0)),
    "convolution_2d_groups": lambda v: F.convolution_2d(v.image, weights(6, 1, 3, 2), groups=3),
    "convolution_2d_dilate": lambda v: F.convolution_2d(v.image, W_CONV, B4, dilate=2),
    "convolution_nd": lambda v: F.convolution_nd(v.image[:, :, None], weights(4, 3, 1, 2, 3), B4),
    "deconvolution_2d": lambda v: F.deconvolution_2d(v.image, W_DECONV, B4, 2, 1),
    "deconvolution_nd": lambda v: F.deconvolution_nd(v.image[:, :, None], weights(3, 4, 1, 2, 3)),
    "depthwise_convolution_2d": lambda v: F.depthwise_convolution_2d(v.image, weights(2, 3, 3, 2)),
    "dilated_convolution_2d": lambda v: F.dilated_convolution_2d(v.image, W_CONV, dilate=2),
    "embed_id": lambda v: F.embed_id(v.labels, W_DENSE),
    "linear": lambda v: F.linear(v.x, W_DENSE, B5),
    "local_convolution_2d": lambda v: F.local_convolution_2d(
        v.image[:, :, :3, :2], weights(4, 2, 1, 3, 2, 2), weights(4, 2, 1)
    ),
    "n_step_gru": lambda v: F.n_step_gru(
        1,
        0.0,
        None or np.zeros((1, 2, 4), "f"),
        [[weights(4, 3 + (i > 2)) for i in range(6)]],
        [[weights(4)] * 6],
        [v.x, v.y[:1]],
    ),
    "n_step_lstm": lambda v: F.n_step_lstm(
        1,
        0.0,
        np.zeros((1, 2, 4), "f"),
        np.zeros((1, 2, 4), "f"),
        [[weights(4, 3 + (i > 3)) for i in range(8)]],
        [[weights(4)] * 8],
        [v.x, v.y[:1]],
    ),
    "shift": lambda v: F.shift(F.tile(v.image, (1, 3, 1, 1)), 3),
    # losses
    "absolute_error": lambda v: F.absolute_error(v.x, v.y),
    "bernoulli_nll": lambda v: F.bernoulli_nll(v.positive, v.y),
    "contrastive": lambda v: F.contrastive(v.x, v.y, np.array([1, 0])),
    "crf1d": lambda v: F.crf1d(weights(3, 3), [v.x, v.y], [v.labels, v.labels]),
    "cross_covariance": lambda v: F.cross_covariance(v.x, v.y),
    "ctc": lambda v: F.connectionist_temporal_classification(
        [v.x, v.y], np.array([[1], [2]], "i"), 0
    ),
    "decov": lambda v: F.decov(v.x),
    "gaussian_kl_divergence": lambda v: F.gaussian_kl_divergence(v.x, v.y),
    "gaussian_nll": lambda v: F.gaussian_nll(v.x, v.y, v.positive),
    "hinge": lambda v: F.hinge(v.x, v.labels),
    "huber_loss": lambda v: F.huber_loss(v.x, v.y, 0.5),
    "mean_absolute_error": lambda v: F.mean_absolute_error(v.x, v.y),
    "mean_squared_error": lambda v: F.mean_squared_error(v.x, v.y),
    "sigmoid_cross_entropy": lambda v: F.sigmoid_cross_entropy(v.x, np.array([[1, 0, 1]] * 2)),
    "softmax_cross_entropy": lambda v: F.softmax_cross_entropy(v.x, v.labels, class_weight=B3),
    "squared_error": lambda v: F.squared_error(v.x, v.y),
    "triplet": lambda v: F.triplet(v.x, v.y, v.positive),
    # mathematics
    "arccos": lambda v: F.arccos(v.positive),
    "arcsin": lambda v: F.arcsin(v.positive),
    "arctan": lambda v: F.arctan(v.x),
    "arctan2": lambda v: F.arctan2(v.x, v.y),
    "arctanh": lambda v: F.arctanh(v.positive),
    "argmax": lambda v: F.argmax(v.x, 1),
    "average": lambda v: F.average(v.x, 1, weights=GAMMA),
    "basic": lambda v: (
        v.x + v.y,
        v.x - v.y,
        v.x * v.y,
        v.x / v.y,
        v.positive**v.y,
        -v.x,
        abs(v.x),
        2 + v.x,
        2 - v.x,
        2 * v.x,
        2 / v.x,
        2**v.x,
        v.x**2,
        v.x @ F.transpose(v.y),
        v.x // 1,
        v.x + GAMMA,
        GAMMA * v.x,
    ),
    "batch_l2_norm_squared": lambda v: F.batch_l2_norm_squared(v.x),
    "batch_inv": lambda v: F.batch_inv(v.square),
    "batch_det": lambda v: F.batch_det(v.square),
    "bias": lambda v: F.bias(v.x, GAMMA),
    "cholesky": lambda v: F.cholesky(v.square[0] @ F.transpose(v.square[0])),
    "clip": lambda v: F.clip(v.x, -0.5, 0.5),
    "cumprod": lambda v: F.cumprod(v.x, 1),
    "cumsum": lambda v: F.cumsum(v.x, 1),
    "einsum": lambda v: F.einsum("bij,bjk->bik", v.square, v.square),
    "elementary": lambda v: [
        f(v.positive)
        for f in (
            F.exp,
            F.log,
            F.log2,
            F.log10,
            F.log1p,
            F.expm1,
            F.sqrt,
            F.rsqrt,
            F.square,
            F.sin,
            F.cos,
            F.tan,
            F.sinh,
            F.cosh,
            F.floor,
            F.ceil,
            F.sign,
            F.fix,
        )
    ],
    "special": lambda v: [
        f(v.positive)
        for f in (
            F.erf,
            F.erfc,
            F.erfcx,
            F.erfinv,
            F.erfcinv,
            F.ndtr,
            F.ndtri,
            F.log_ndtr,
            F.digamma,
            F.lgamma,
        )
    ],
    "polygamma": lambda v: F.polygamma(np.ones((2, 3), "i"), v.positive),
    "fft": lambda v: F.fft((v.x, v.y)),
    "fmod": lambda v: F.fmod(v.x, v.y),
    "linear_interpolate": lambda v: F.linear_interpolate(v.positive, v.x, v.y),
    "logsumexp": lambda v: F.logsumexp(v.x, 1),
    "matmul": lambda v: F.matmul(v.square, v.square, transa=True),
    "max": lambda v: (F.max(v.x, 1), F.min(v.x, 0), F.maximum(v.x, v.y), F.minimum(v.x, v.y)),
    "mean": lambda v: F.mean(v.x, 1, keepdims=True),
    "prod": lambda v: F.prod(v.x, 1),
    "scale": lambda v: F.scale(v.x, GAMMA),
    "sparse_matmul": lambda v: F.sparse_matmul(v.x, chainer.utils.to_coo(weights(3, 2))),
    "sum": lambda v: F.sum(v.image, (1, 3)),
    "sum_to": lambda v: F.sum_to(v.x, (1, 3)),
    "tensordot": lambda v: F.tensordot(v.image, weights(3, 8, 2), ((1, 2), (0, 1))),
    "zeta": lambda v: F.zeta(np.full((2, 3), 2, "i"), v.positive),
    # noise, where it is off
    "dropout": lambda v: F.dropout(v.x),
    "zoneout": lambda v: F.zoneout(v.x, v.y),
    # normalisation
    "batch_normalization": lambda v: F.batch_normalization(v.image, GAMMA, BETA),
    "decorrelated_batch_normalization": lambda v: F.decorrelated_batch_normalization(
        v.image, groups=1
    ),
    "fixed_batch_normalization": lambda v: F.fixed_batch_normalization(
        v.image, GAMMA, BETA, MEAN, VAR
    ),
    "fixed_decorrelated": lambda v: F.fixed_decorrelated_batch_normalization(
        v.image, MEAN[None], np.diag(VAR)[None], groups=1
    ),
    "group_normalization": lambda v: F.group_normalization(v.image, 3, GAMMA, BETA),
    "layer_normalization": lambda v: F.layer_normalization(v.x, GAMMA, BETA),
    "local_response_normalization": lambda v: F.local_response_normalization(v.image),
    "normalize": lambda v: F.normalize(v.x),
    # pooling
    "average_pooling_1d": lambda v: F.average_pooling_1d(v.image[:, :, 0], 3),
    "average_pooling_2d": lambda v: F.average_pooling_2d(v.image, 3, 2, 1),
    "average_pooling_nd": lambda v: F.average_pooling_nd(v.image[:, :, None], (1, 2, 3)),
    "max_pooling_1d": lambda v: F.max_pooling_1d(v.image[:, :, 0], 3),
    "max_pooling_2d": lambda v: F.max_pooling_2d(v.image, 3, 2, return_indices=True),
    "max_pooling_nd": lambda v: F.max_pooling_nd(v.image[:, :, None], (1, 2, 3)),
    "roi_pooling_2d": lambda v: F.roi_pooling_2d(
        v.image, np.array([[0, 1, 1, 6, 5], [1, 0, 2, 7, 7]], "f"), 3, 2, 0.9
    ),
    "roi_average_align_2d": lambda v: F.roi_average_align_2d(
        v.image, np.array([[1, 1, 6, 5]], "f"), np.array([1], "i"), 3, 0.9, 2
    ),
    "spatial_pyramid_pooling_2d": lambda v: F.spatial_pyramid_pooling_2d(v.image, 2, "max"),
    "unpooling_2d": lambda v: F.unpooling_2d(v.image, 2, cover_all=False),
    "upsampling_2d": lambda v: F.upsampling_2d(
        F.max_pooling_2d(v.image, 2), F.max_pooling_2d(v.image, 2, return_indices=True)[1], 2
    ),
    # others
    "forget": lambda v: F.forget(lambda a, b: F.tanh(a) * b, v.x, v.y),
    "gradient": lambda v: chainer.grad([F.sum(F.relu(v.x) ** 2 * F.tanh(v.y))], [v.x, v.y]),
}
