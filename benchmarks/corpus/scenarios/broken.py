"""Vacuous and broken models: nothing to compare, something missing, NaN, and random layers."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from .pair import Pair, Side, chainer

F = chainer.functions


class Weights:
    """Two dense layers, 7 to 11 to 3."""

    def __init__(self, biases: bool = True):
        rng = np.random.default_rng(9)
        self.w1 = rng.normal(size=(7, 11)).astype(np.float32)
        self.b1 = rng.normal(size=11).astype(np.float32) * biases
        self.w2 = rng.normal(size=(11, 3)).astype(np.float32)
        self.b2 = rng.normal(size=3).astype(np.float32) * biases


class TorchNet(torch.nn.Module):
    def __init__(self, ending="", biases=True):
        super().__init__()
        for name, array in vars(Weights(biases)).items():
            self.register_buffer(name, torch.from_numpy(array))
        self.ending = ending

    def forward(self, x):
        h = torch.tanh(x @ self.w1 + self.b1)
        if self.ending == "dropout":
            h = torch.nn.functional.dropout(h, 0.4, training=True)  # fault: dropout
        q = h @ self.w2 + self.b2
        if self.ending == "zeros":
            return torch.zeros_like(q)  # fault: zeros
        if self.ending == "nan":
            return torch.log(q)  # fault: nan
        if self.ending == "two outputs":
            return {"q": q, "value": q.amax(1)}
        return {"q": q} if self.ending == "one output" else q


def tensorflow_net(ending="", biases=True):
    w = Weights(biases)

    def net(x):
        h = tf.tanh(x @ w.w1 + w.b1)
        if ending == "dropout":
            h = tf.nn.dropout(h, 0.4)  # fault: dropout
        q = h @ w.w2 + w.b2
        if ending == "zeros":
            return tf.zeros_like(q)  # fault: zeros
        if ending == "nan":
            return tf.math.log(q)  # fault: nan
        if ending == "two outputs":
            return {"q": q, "value": tf.reduce_max(q, 1)}
        return {"q": q} if ending == "one output" else q

    return net


class ChainerNet(chainer.Chain):
    def __init__(self, ending="", biases=True):
        super().__init__()
        for name, array in vars(Weights(biases)).items():
            self.add_persistent(name, array)
        self.ending = ending

    def forward(self, x):
        h = F.tanh(F.matmul(chainer.as_variable(x), self.w1) + self.b1)
        if self.ending == "dropout":
            with chainer.using_config("train", True):
                h = F.dropout(h, 0.4)  # fault: dropout
        q = F.matmul(h, self.w2) + self.b2
        if self.ending == "zeros":
            return chainer.as_variable(self.xp.zeros_like(q.array))  # fault: zeros
        if self.ending == "nan":
            return F.log(q)  # fault: nan
        if self.ending == "two outputs":
            return {"q": q, "value": F.max(q, axis=1)}
        return {"q": q} if self.ending == "one output" else q


NETS = {"torch": TorchNet, "tensorflow": tensorflow_net, "chainer": ChainerNet}
FRAMEWORK_PAIRS = (("torch", "tensorflow"), ("chainer", "torch"))


def broken_pair(
    frameworks: tuple[str, str], endings: tuple[str, str], zero_input=False, biases=True
) -> Pair:
    """Two nets that are equal but for their endings."""
    x = np.random.default_rng(8).normal(size=(5, 7)).astype(np.float32)
    reference, candidate = (
        Side(name, NETS[name](ending, biases))
        for name, ending in zip(frameworks, endings, strict=True)
    )
    return Pair(reference, candidate, (x * (not zero_input),))
