"""Noisy layers: factorised and independent noise in weights, Gaussian layers, stochastic depth."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from ..ops import F
from ..subject import SUBJECTS, Subject, formula, weights


def factorised(o, random, batch, fault):
    """NoisyNet's linear layer with factorised noise."""
    mu, sigma, bias = (
        o.array(one)
        for one in (weights(random, 8, 5), weights(random, 8, 5, scale=0.2), weights(random, 5))
    )

    def spread(noise):
        return noise if fault == "no-root" else o.sign(noise) * o.sqrt(o.abs(noise))  # here

    def run(x):
        draw = o.uniform if fault == "uniform" else o.normal
        if fault == "independent":
            outer = o.normal(8, 5)  # here
            last = o.normal(1, 5)  # here
        else:
            first, last = spread(draw(8, 1)), spread(draw(1, 5))  # here
            outer = o.matmul(first, last)  # here
        w = mu + (2.0 if fault == "scale" else 1.0) * sigma * outer  # here
        return o.tanh(o.matmul(x, w) + bias * last)  # here

    return run


def factorised_other_order(random, batch, fault):
    """The same; the noise of the outputs is drawn first, and weights lie the other way round."""
    mu, sigma, bias = (
        torch.from_numpy(one)
        for one in (weights(random, 8, 5), weights(random, 8, 5, scale=0.2), weights(random, 5))
    )

    def spread(noise):
        return noise if fault == "no-root" else noise.sign() * noise.abs().sqrt()  # here

    def run(x):
        draw = torch.rand if fault == "uniform" else torch.randn
        last, first = spread(draw(5)), spread(draw(8))  # here
        outer = torch.outer(last, first)  # here
        if fault == "independent":
            outer = torch.randn(5, 8)  # here
        w = mu.T + (2.0 if fault == "scale" else 1.0) * sigma.T * outer  # here
        return torch.tanh(torch.nn.functional.linear(x, w, bias * last))  # here

    return run


formula(
    "noisy linear",
    factorised,
    "torch tensorflow numpy",
    "no-root uniform scale independent",
    more={"torch-other-order": factorised_other_order},
)


def independent(o, random, batch, fault):
    """Noise in each weight and bias."""
    mu, sigma, bias = (
        o.array(one)
        for one in (weights(random, 8, 5), weights(random, 8, 5, scale=0.2), weights(random, 5))
    )

    def run(x):
        if fault == "uniform":
            noise = o.uniform(8, 5)  # here
        elif fault == "shared":
            noise = o.normal(1, 5)  # here
        elif o.name == "tensorflow":
            noise = o.transpose(o.normal(5, 8))  # here
        else:
            noise = o.normal(8, 5)  # here
        w = mu + (0.5 if fault == "scale" else 1.0) * sigma * noise  # here
        return o.tanh(o.matmul(x, w) + bias * o.normal(5))  # here

    return run


formula("noisy weights", independent, "torch tensorflow chainer numpy", "uniform shared scale")


def gaussian_keras(random, batch, fault):
    """Noise that is added, and noise that is multiplied."""
    w = weights(random, 8, 5)
    added = keras.layers.GaussianNoise(0.5 if fault == "added" else 0.2)
    times = keras.layers.GaussianDropout(0.5 if fault == "times" else 0.3)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.added, self.times = added, times

        def call(self, x, training=None):
            h = tf.tanh(self.added(x, training=training) @ w)  # here
            return h if fault == "no-times" else self.times(h, training=training)  # here

    return Net()


def gaussian_torch(random, batch, fault):
    w = torch.from_numpy(weights(random, 8, 5))
    rate = 0.5 if fault == "times" else 0.3

    def run(x):
        noisy = x + (0.5 if fault == "added" else 0.2) * torch.randn_like(x)  # here
        h = torch.tanh(noisy @ w)
        if fault == "no-times":
            return h
        return h * torch.normal(1.0, (rate / (1 - rate)) ** 0.5, h.shape)  # here

    return run


def gaussian_chainer(random, batch, fault):
    w = weights(random, 8, 5)
    rate = 0.5 if fault == "times" else 0.3

    def run(x):
        scale = 0.5 if fault == "added" else 0.2
        h = F.tanh(F.matmul(x + np.random.normal(0, scale, x.shape).astype("f"), w))  # here
        if fault == "no-times":
            return h
        deviation = (rate / (1 - rate)) ** 0.5
        return h * np.random.normal(1, deviation, h.shape).astype("f")  # here

    return run


SUBJECTS.append(
    Subject(
        "gaussian layers",
        {"keras": gaussian_keras, "torch": gaussian_torch, "chainer": gaussian_chainer},
        [("keras", "torch"), ("torch", "keras"), ("torch", "chainer"), ("chainer", "keras")],
        ["added", "times", "no-times"],
        (8,),
    )
)


def depth(o, random, batch, fault):
    """A residual block that is skipped for some samples (stochastic depth)."""
    w, v = weights(random, 8, 8), weights(random, 8, 3)

    def run(x):
        kept = {"rate": 0.5, "near": 0.75}.get(fault, 0.8)
        if fault == "shape":
            coin = o.less(o.uniform(batch, 8), kept)  # here
        else:
            coin = o.less(o.uniform(batch, 1), kept)  # here
        if fault != "unscaled":
            coin = coin / kept  # here
        return o.matmul(x + coin * o.tanh(o.matmul(x, w)), v)  # here

    return run


formula("stochastic depth", depth, "torch tensorflow numpy", "rate near shape unscaled")


def rrelu_torch(random, batch, fault):
    """A leaky ReLU with random slopes."""
    w = torch.from_numpy(weights(random, 8, 6))
    high = 0.5 if fault == "range" else 1 / 3

    def run(x):
        if fault == "fixed":
            return torch.nn.functional.leaky_relu(x @ w, 11 / 48)  # here
        return torch.nn.functional.rrelu(x @ w, 1 / 8, high, training=True)  # here

    return run


def rrelu_chainer(random, batch, fault):
    w = weights(random, 8, 6)
    high = 0.5 if fault == "range" else 1 / 3

    def run(x):
        h = F.matmul(x, w)
        if fault == "fixed":
            return F.leaky_relu(h, 11 / 48)  # here
        return F.rrelu(h, 1 / 8, high)  # here

    return run


def rrelu_tensorflow(random, batch, fault):
    w = weights(random, 8, 6)
    high = 0.5 if fault == "range" else 1 / 3

    def run(x):
        h = x @ w
        slope = tf.random.uniform(h.shape, 1 / 8, high)  # here
        if fault == "fixed":
            slope = 11 / 48  # here
        return tf.where(h > 0, h, h * slope)  # here

    return run


SUBJECTS.append(
    Subject(
        "rrelu",
        {"torch": rrelu_torch, "chainer": rrelu_chainer, "tensorflow": rrelu_tensorflow},
        [("torch", "chainer"), ("chainer", "torch"), ("torch", "tensorflow")],
        ["range", "fixed"],
        (8,),
    )
)


def zoneout_chainer(random, batch, fault):
    """Some states keep their old value."""
    w = weights(random, 8, 8)
    rate = 0.5 if fault == "rate" else 0.2

    def run(x):
        new = F.tanh(F.matmul(x, w))
        if fault == "off":
            return new
        return F.zoneout(new, x, rate) if fault == "exchanged" else F.zoneout(x, new, rate)  # here

    return run


def zoneout_torch(random, batch, fault):
    w = torch.from_numpy(weights(random, 8, 8))
    rate = 0.5 if fault == "rate" else 0.2

    def run(x):
        new = torch.tanh(x @ w)
        if fault == "off":
            return new
        kept = (torch.rand(batch, 8) < rate).float()  # here
        if fault == "exchanged":
            kept = 1 - kept  # here
        return kept * x + (1 - kept) * new  # here

    return run


SUBJECTS.append(
    Subject(
        "zoneout",
        {"chainer": zoneout_chainer, "torch": zoneout_torch},
        [("chainer", "torch"), ("torch", "chainer")],
        ["rate", "exchanged", "off"],
        (8,),
    )
)
