"""The same computation done by one operation of a framework, or by hand: always parity.

Each function below returns the fused models and the ones by hand, by position from different
frameworks, and their inputs. `clean.py` compares each with its counterpart, both ways.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from .pair import Side, chainer, image_side

F, L = chainer.functions, chainer.links
EPSILON = 1e-3


def normal(rng, *shape, scale=1.0):
    return rng.normal(scale=scale, size=shape).astype(np.float32)


def batchnorm_folded(rng):
    """Convolution and BatchNorm, against one convolution with the BatchNorm in its weights."""
    kernel, bias = normal(rng, 7, 3, 4, 2, scale=0.3), normal(rng, 7)
    gamma, beta, mean = normal(rng, 7), normal(rng, 7), normal(rng, 7)
    variance = rng.uniform(0.5, 2.0, 7).astype(np.float32)
    factor = gamma / np.sqrt(variance.astype(np.float64) + EPSILON)
    folded = (kernel * factor[:, None, None, None]).astype(np.float32)
    folded_bias = ((bias - mean.astype(np.float64)) * factor + beta).astype(np.float32)

    def torch_convolution(kernel, bias):
        convolution = nn.Conv2d(3, 7, (4, 2))
        convolution.load_state_dict({"weight": torch.tensor(kernel), "bias": torch.tensor(bias)})
        return convolution

    def torch_model(*modules):
        return nn.Sequential(*modules, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()

    normalize = nn.BatchNorm2d(7, eps=EPSILON)
    statistics = dict(weight=gamma, bias=beta, running_mean=mean, running_var=variance)
    normalize.load_state_dict({k: torch.tensor(v) for k, v in statistics.items()}, strict=False)
    torch_fused = torch_model(torch_convolution(kernel, bias), normalize)
    torch_folded = torch_model(torch_convolution(folded, folded_bias))

    keras_fused = keras.Sequential(
        [
            layers.Input((9, 11, 3)),
            layers.Conv2D(7, (4, 2)),
            layers.BatchNormalization(epsilon=EPSILON),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
        ]
    )
    keras_fused.set_weights([kernel.transpose(2, 3, 1, 0), bias, gamma, beta, mean, variance])
    folded_hwio = tf.constant(folded.transpose(2, 3, 1, 0))

    def tensorflow_folded(x):
        x = tf.nn.bias_add(tf.nn.conv2d(x, folded_hwio, 1, "VALID"), folded_bias)
        return tf.reduce_mean(tf.nn.relu(x), (1, 2))

    class ChainerConvolution(chainer.Chain):
        def __init__(self, kernel, bias, normalized):
            super().__init__()
            with self.init_scope():
                self.convolution = L.Convolution2D(3, 7, (4, 2), initialW=kernel, initial_bias=bias)
                if normalized:
                    self.normalize = L.BatchNormalization(
                        7, eps=EPSILON, initial_gamma=gamma, initial_beta=beta
                    )
                    self.normalize.avg_mean[...] = mean
                    self.normalize.avg_var[...] = variance
            self.normalized = normalized

        def forward(self, x):
            h = self.convolution(x)
            h = self.normalize(h) if self.normalized else h
            return F.mean(F.relu(h), axis=(2, 3))

    fused = [
        image_side("torch", torch_fused),
        image_side("keras", keras_fused),
        image_side("chainer", ChainerConvolution(kernel, bias, normalized=True)),
    ]
    by_hand = [
        image_side("tensorflow", tensorflow_folded),
        image_side("chainer", ChainerConvolution(folded, folded_bias, normalized=False)),
        image_side("torch", torch_folded),
    ]
    return fused, by_hand, (normal(rng, 5, 3, 9, 11),)


def log_softmax(rng):
    """Log-softmax, against logits less their maximum less the log of the sum of exponentials."""

    def torch_by_hand(x):
        shifted = x - x.amax(1, keepdim=True)
        return shifted - shifted.exp().sum(1, keepdim=True).log()

    def tensorflow_by_hand(x):
        shifted = x - tf.reduce_max(x, 1, keepdims=True)
        return shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), 1, keepdims=True))

    def chainer_by_hand(x):
        shifted = x - F.max(chainer.as_variable(x), axis=1, keepdims=True)
        return shifted - F.log(F.sum(F.exp(shifted), axis=1, keepdims=True))

    fused = [
        Side("torch", lambda x: torch_f.log_softmax(x, 1)),
        Side("tensorflow", lambda x: tf.nn.log_softmax(x)),
        Side("chainer", lambda x: F.log_softmax(x, axis=1)),
    ]
    by_hand = [
        Side("tensorflow", tensorflow_by_hand),
        Side("chainer", chainer_by_hand),
        Side("torch", torch_by_hand),
    ]
    return fused, by_hand, (normal(rng, 5, 13, scale=3.0),)


def im2col(rng):
    """Convolution, against a matrix product with the patches of the image."""
    kernel, bias = normal(rng, 7, 3, 4, 2, scale=0.3), normal(rng, 7)
    flat = kernel.reshape(7, -1)
    hwio = kernel.transpose(2, 3, 1, 0).copy()
    kernel_t, bias_t, flat_t = map(torch.from_numpy, (kernel, bias, flat))

    def torch_convolution(x):
        return torch.relu(torch_f.conv2d(x, kernel_t, bias_t)).mean((2, 3))

    def torch_patches(x):
        columns = torch_f.unfold(x, (4, 2))
        return torch.relu(flat_t @ columns + bias_t[:, None]).mean(2)

    def tensorflow_convolution(x):
        return tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, hwio, 1, "VALID") + bias), (1, 2))

    def tensorflow_patches(x):
        patches = tf.image.extract_patches(x, (1, 4, 2, 1), (1,) * 4, (1,) * 4, "VALID")
        maps = tf.tensordot(patches, hwio.reshape(-1, 7), 1) + bias
        return tf.reduce_mean(tf.nn.relu(maps), (1, 2))

    def chainer_convolution(x):
        return F.mean(F.relu(F.convolution_2d(x, kernel, bias)), axis=(2, 3))

    def chainer_patches(x):
        columns = F.im2col(x, (4, 2))
        maps = F.tensordot(columns, flat, ((1,), (1,))) + bias
        return F.mean(F.relu(maps), axis=(1, 2))

    fused = [
        image_side("torch", torch_convolution),
        image_side("tensorflow", tensorflow_convolution),
        image_side("chainer", chainer_convolution),
    ]
    by_hand = [
        image_side("tensorflow", tensorflow_patches),
        image_side("chainer", chainer_patches),
        image_side("torch", torch_patches),
    ]
    return fused, by_hand, (normal(rng, 5, 3, 9, 11),)


def dueling_reassociated(rng):
    """Value and centred advantages, against value less the mean, and then the advantages."""
    fused = [
        Side("torch", lambda a, v: v + (a - a.mean(1, keepdim=True))),
        Side("tensorflow", lambda a, v: v + (a - tf.reduce_mean(a, 1, keepdims=True))),
        Side("chainer", lambda a, v: v + (a - F.mean(chainer.as_variable(a), 1, keepdims=True))),
    ]
    by_hand = [
        Side("tensorflow", lambda a, v: (v - tf.reduce_sum(a, 1, keepdims=True) / 6) + a),
        Side("chainer", lambda a, v: (v - F.sum(chainer.as_variable(a), 1, keepdims=True) / 6) + a),
        Side("torch", lambda a, v: (v - a.sum(1, keepdim=True) / 6) + a),
    ]
    return fused, by_hand, (normal(rng, 5, 6), normal(rng, 5, 1))


def flatten_permuted(rng):
    """A dense layer on a CHW flatten, against one on an HWC flatten with its weights permuted."""
    kernel, bias = normal(rng, 13, 3 * 4 * 7, scale=0.2), normal(rng, 13)
    hwc = kernel.reshape(13, 3, 4, 7).transpose(0, 2, 3, 1).reshape(13, -1).copy()
    dense = nn.Linear(84, 13)
    dense.load_state_dict({"weight": torch.tensor(kernel), "bias": torch.tensor(bias)})
    keras_model = keras.Sequential(
        [layers.Input((4, 7, 3)), layers.Activation("tanh"), layers.Flatten(), layers.Dense(13)]
    )
    keras_model.set_weights([hwc.T, bias])

    def torch_hwc(x):
        return torch_f.linear(
            torch.tanh(x).permute(0, 2, 3, 1).flatten(1),
            torch.from_numpy(hwc),
            torch.from_numpy(bias),
        )

    def tensorflow_hwc(x):
        return tf.reshape(tf.tanh(x), (len(x), -1)) @ hwc.T + bias

    fused = [
        image_side("torch", nn.Sequential(nn.Tanh(), nn.Flatten(), dense).eval()),
        image_side("chainer", lambda x: F.linear(F.tanh(x), kernel, bias)),
        image_side("chainer", lambda x: F.linear(F.tanh(x), kernel, bias)),
    ]
    by_hand = [
        image_side("tensorflow", tensorflow_hwc),
        image_side("keras", keras_model),
        image_side("torch", torch_hwc),
    ]
    return fused, by_hand, (normal(rng, 5, 3, 4, 7),)
