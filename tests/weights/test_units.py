"""Layers whose units stand in another order, as a dense one before a reshape to images."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers

import parity
from tests.weights import transfer_models as nets

chainer, F, L, nn = nets.chainer, nets.chainer.functions, nets.chainer.links, torch.nn
PAIRS = list(itertools.permutations(["torch", "keras", "chainer"], 2))
ROWS = np.random.default_rng(0).normal(size=(6, 5)).astype("float32")
IMAGES = np.random.default_rng(1).normal(size=(4, 3, 6, 5)).astype("float32")
SHAPE = 4, 3, 5  # channels, height and width: all different, and none a neighbour's


def torch_decoder():
    return nn.Sequential(
        nn.Linear(5, 60),
        nn.BatchNorm1d(60, eps=1e-3),
        nn.ReLU(),
        nn.Unflatten(1, SHAPE),
        nn.BatchNorm2d(4, eps=1e-3),
        nn.ConvTranspose2d(4, 3, 2),
        nn.Tanh(),
        nn.Conv2d(3, 2, 2),
    )


def keras_decoder():
    return keras.Sequential(
        [
            layers.Input((5,)),
            layers.Dense(60),
            layers.BatchNormalization(epsilon=1e-3),
            layers.ReLU(),
            layers.Reshape((3, 5, 4)),
            layers.BatchNormalization(epsilon=1e-3),
            layers.Conv2DTranspose(3, 2),
            layers.Activation("tanh"),
            layers.Conv2D(2, 2),
        ]
    )


class ChainerDecoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.dense, self.norm = L.Linear(5, 60), L.BatchNormalization(60, eps=1e-3)
            self.second = L.BatchNormalization(4, eps=1e-3)
            self.up, self.conv = L.Deconvolution2D(4, 3, 2), L.Convolution2D(3, 2, 2)

    def forward(self, x):
        h = F.relu(self.norm(self.dense(x)))
        h = self.second(F.reshape(h, (len(h), *SHAPE)))
        return self.conv(F.tanh(self.up(h)))


DECODERS = {"torch": torch_decoder, "keras": keras_decoder, "chainer": ChainerDecoder}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_dense_layer_before_a_reshape_to_images(source, target):
    one, other, inputs = nets.both(DECODERS, source, target, ROWS)
    result = parity.transfer(one, other, inputs)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    permuted = [row.target for row in result.table.rows if "outputs permuted" in row.done]
    assert len(permuted) == (2 if "keras" in (source, target) else 0)


@pytest.mark.parametrize("turned", [False, True])
def test_images_that_are_an_output(turned):
    makers = {
        "torch": lambda: nn.Sequential(nn.Linear(5, 60), nn.Sigmoid(), nn.Unflatten(1, SHAPE)),
        "keras": lambda: keras.Sequential(
            [
                layers.Input((5,)),
                layers.Dense(60, "sigmoid"),
                layers.Reshape((3, 5, 4)),
                layers.Permute((3, 1, 2)),
            ]
        ),
    }
    names = ("keras", "torch") if turned else ("torch", "keras")
    one, other, inputs = nets.both(makers, *names, ROWS)
    result = parity.transfer(one, other, inputs)
    assert result.verdict == "parity", str(result)


class KerasShuffle(keras.Model):
    """TensorFlow's depth to space has the channels of a pixel last, torch's first."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Conv2D(12, 2), layers.Conv2D(2, 2)

    def call(self, x):
        return self.second(tf.nn.depth_to_space(self.first(x), 2))


@pytest.mark.parametrize("turned", [False, True])
def test_channels_that_become_pixels(turned):
    makers = {
        "torch": lambda: nn.Sequential(nn.Conv2d(3, 12, 2), nn.PixelShuffle(2), nn.Conv2d(3, 2, 2)),
        "keras": KerasShuffle,
    }
    names = ("keras", "torch") if turned else ("torch", "keras")
    one, other, inputs = nets.both(makers, *names, IMAGES, images=True)
    result = parity.transfer(one, other, inputs)
    assert result.verdict == "parity", str(result)


@pytest.mark.parametrize("turned", [False, True])
def test_a_file_says_how_its_images_lie(turned, tmp_path):
    names = ("keras", "torch") if turned else ("torch", "keras")
    one, other, inputs = nets.both(DECODERS, *names, ROWS)
    file = tmp_path / ("model.weights.h5" if turned else "model.pt")
    if turned:
        one.obj.save_weights(file)
    else:
        torch.save(one.obj.state_dict(), file)
    result = parity.transfer(file, other, inputs)
    assert result.verdict == "unverified" and result.written
    assert parity.compare(one, other, inputs=inputs).verdict == "parity"
