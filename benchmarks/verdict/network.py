"""One small network in three frameworks, every number of which a fault can change.

Pixels are scaled, go through a convolution, a BatchNorm and a leaky ReLU, are pooled, go through a
dense layer, a LayerNorm and a GELU, through another dense layer and a standardization, and end in
the probabilities of the actions that are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.pair import Side, chainer, image_side

from .clean.layers import loaded

F, L = chainer.functions, chainer.links
CHANNELS, MAPS, HIDDEN, FEATURES, ACTIONS = 3, 6, 11, 9, 5
SHAPE = (4, CHANNELS, 8, 7)
FRAMEWORKS = ("torch", "keras", "chainer")


def draw_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(62)
    shapes = {
        "conv": (MAPS, CHANNELS, 3, 2),
        "conv_bias": (MAPS,),
        "gamma": (MAPS,),
        "beta": (MAPS,),
        "mean": (MAPS,),
        "dense": (HIDDEN, MAPS),
        "dense_bias": (HIDDEN,),
        "gain": (HIDDEN,),
        "shift": (HIDDEN,),
        "second": (FEATURES, HIDDEN),
        "second_bias": (FEATURES,),
        "logits": (ACTIONS, FEATURES),
        "logits_bias": (ACTIONS,),
    }
    found = {
        name: rng.normal(scale=1 / np.prod(shape[1:]) ** 0.5, size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    return found | {"variance": rng.uniform(0.5, 2.0, MAPS).astype(np.float32)}


@dataclass(frozen=True)
class Numbers:
    """What the network computes with."""

    weights: dict[str, np.ndarray] = field(default_factory=draw_weights)
    pixel: float = 255.0
    batch_epsilon: float = 1e-5
    slope: float = 0.01
    layer_epsilon: float = 1e-5
    tanh_gelu: bool = False
    freedom: float = 0.0  # taken from the number of values that a variance is over
    temperature: float = 1.0
    allowed: tuple[bool, ...] = (True, True, False, True, True)

    def weighing(self, **arrays: np.ndarray) -> Numbers:
        return replace(self, weights={**self.weights, **arrays})


class TorchNet(nn.Module):
    def __init__(self, n: Numbers):
        super().__init__()
        w = n.weights
        self.n = n
        self.conv = loaded(nn.Conv2d(CHANNELS, MAPS, (3, 2)), w["conv"], w["conv_bias"])
        self.batch_norm = loaded(
            nn.BatchNorm2d(MAPS, n.batch_epsilon), w["gamma"], w["beta"], w["mean"], w["variance"]
        )
        self.dense = loaded(nn.Linear(MAPS, HIDDEN), w["dense"], w["dense_bias"])
        self.layer_norm = loaded(nn.LayerNorm(HIDDEN, n.layer_epsilon), w["gain"], w["shift"])
        self.second = loaded(nn.Linear(HIDDEN, FEATURES), w["second"], w["second_bias"])
        self.logits = loaded(nn.Linear(FEATURES, ACTIONS), w["logits"], w["logits_bias"])

    def forward(self, x):
        n = self.n
        x = x / n.pixel  # stage: pixels
        x = self.conv(x)  # stage: conv
        x = self.batch_norm(x)  # stage: batch_norm
        x = torch_f.leaky_relu(x, n.slope)  # stage: leaky
        x = x.mean((2, 3))
        x = self.dense(x)  # stage: dense
        x = self.layer_norm(x)  # stage: layer_norm
        x = torch_f.gelu(x, approximate="tanh" if n.tanh_gelu else "none")  # stage: gelu
        x = self.second(x)  # stage: second
        centred = x - x.mean(1, keepdim=True)
        variance = (centred**2).sum(1, keepdim=True) / (FEATURES - n.freedom)  # stage: variance
        x = centred / torch.sqrt(variance + 1e-3)
        logits = self.logits(x)  # stage: logits
        logits = torch.where(torch.tensor(n.allowed), logits, -torch.inf)  # stage: mask
        return torch.softmax(logits / n.temperature, 1)  # stage: temperature


class KerasNet(keras.Model):
    def __init__(self, n: Numbers):
        super().__init__()
        w = n.weights
        self.n = n
        self.conv = layers.Conv2D(MAPS, (3, 2))
        self.batch_norm = layers.BatchNormalization(epsilon=n.batch_epsilon)
        self.dense = layers.Dense(HIDDEN)
        self.layer_norm = layers.LayerNormalization(epsilon=n.layer_epsilon)
        self.second = layers.Dense(FEATURES)
        self.logits = layers.Dense(ACTIONS)
        self(np.zeros((2, *SHAPE[2:], CHANNELS), np.float32))
        self.conv.set_weights([w["conv"].transpose(2, 3, 1, 0), w["conv_bias"]])
        self.batch_norm.set_weights([w["gamma"], w["beta"], w["mean"], w["variance"]])
        self.dense.set_weights([w["dense"].T, w["dense_bias"]])
        self.layer_norm.set_weights([w["gain"], w["shift"]])
        self.second.set_weights([w["second"].T, w["second_bias"]])
        self.logits.set_weights([w["logits"].T, w["logits_bias"]])

    def call(self, x):
        n = self.n
        x = x / n.pixel  # stage: pixels
        x = self.conv(x)  # stage: conv
        x = self.batch_norm(x)  # stage: batch_norm
        x = tf.nn.leaky_relu(x, n.slope)  # stage: leaky
        x = tf.reduce_mean(x, (1, 2))
        x = self.dense(x)  # stage: dense
        x = self.layer_norm(x)  # stage: layer_norm
        x = tf.nn.gelu(x, approximate=n.tanh_gelu)  # stage: gelu
        x = self.second(x)  # stage: second
        centred = x - tf.reduce_mean(x, 1, keepdims=True)
        squares = tf.reduce_sum(centred**2, 1, keepdims=True)
        variance = squares / (FEATURES - n.freedom)  # stage: variance
        x = centred / tf.sqrt(variance + 1e-3)
        logits = self.logits(x)  # stage: logits
        logits = tf.where(n.allowed, logits, -1e9)  # stage: mask
        return tf.nn.softmax(logits / n.temperature)  # stage: temperature


class ChainerNet(chainer.Chain):
    def __init__(self, n: Numbers):
        super().__init__()
        w = n.weights
        self.n = n
        with self.init_scope():
            self.conv = L.Convolution2D(
                CHANNELS, MAPS, (3, 2), initialW=w["conv"], initial_bias=w["conv_bias"]
            )
            self.batch_norm = L.BatchNormalization(MAPS, eps=n.batch_epsilon)
            self.dense = L.Linear(MAPS, HIDDEN, initialW=w["dense"], initial_bias=w["dense_bias"])
            self.layer_norm = L.LayerNormalization(HIDDEN, n.layer_epsilon)
            self.second = L.Linear(
                HIDDEN, FEATURES, initialW=w["second"], initial_bias=w["second_bias"]
            )
            self.logits = L.Linear(
                FEATURES, ACTIONS, initialW=w["logits"], initial_bias=w["logits_bias"]
            )
        self.batch_norm.gamma.array[...], self.batch_norm.beta.array[...] = w["gamma"], w["beta"]
        self.batch_norm.avg_mean[...], self.batch_norm.avg_var[...] = w["mean"], w["variance"]
        self.layer_norm.gamma.array[...], self.layer_norm.beta.array[...] = w["gain"], w["shift"]

    def forward(self, x):
        n = self.n
        x = chainer.as_variable(x) / n.pixel  # stage: pixels
        x = self.conv(x)  # stage: conv
        x = self.batch_norm(x)  # stage: batch_norm
        x = F.leaky_relu(x, n.slope)  # stage: leaky
        x = F.mean(x, axis=(2, 3))
        x = self.dense(x)  # stage: dense
        x = self.layer_norm(x)  # stage: layer_norm
        if n.tanh_gelu:
            inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)  # stage: gelu
            x = 0.5 * x * (1 + F.tanh(inner))  # stage: gelu
        else:
            x = 0.5 * x * (1 + F.erf(x / 2**0.5))  # stage: gelu
        x = self.second(x)  # stage: second
        centred = x - F.broadcast_to(F.mean(x, axis=1, keepdims=True), x.shape)
        squares = F.sum(centred**2, axis=1, keepdims=True)
        variance = squares / (FEATURES - n.freedom)  # stage: variance
        x = centred / F.broadcast_to(F.sqrt(variance + 1e-3), x.shape)
        logits = self.logits(x)  # stage: logits
        allowed = np.broadcast_to(np.array(n.allowed), logits.shape)
        least = np.full(logits.shape, np.finfo(np.float32).min, np.float32)
        logits = F.where(allowed, logits, least)  # stage: mask
        return F.softmax(logits / n.temperature, axis=1)  # stage: temperature


NETS = {"torch": TorchNet, "keras": KerasNet, "chainer": ChainerNet}


def side(framework: str, numbers: Numbers) -> Side:
    net = NETS[framework](numbers)
    return image_side(framework, net.eval() if framework == "torch" else net)
