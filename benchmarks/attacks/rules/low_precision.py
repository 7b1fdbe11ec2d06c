"""Weights or activations that are rounded to fewer bits inside one model's forward pass."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import (
    Case,
    attack,
    chainer_,
    normal,
    numpy_,
    tf_,
    torch_,
    weights,
)
from benchmarks.attacks.heads import F, chainer

RULE = "low-precision"

W, V = weights(6, 8), weights(8, 3, seed=1)
X = normal(5, 6)


def torch_net(x):
    return torch.tanh(x @ torch.from_numpy(W)) @ torch.from_numpy(V)


def tf_net(x):
    return tf.matmul(tf.tanh(tf.matmul(x, W)), V)


def keras_net(dtype=None):
    """Two dense layers, the first under a policy of its own."""
    first = keras.layers.Dense(8, activation="tanh", use_bias=False, dtype=dtype)
    second = keras.layers.Dense(3, use_bias=False)
    net = keras.Sequential([keras.Input((6,)), first, second])
    net.set_weights([W, V])
    return net


_TORCH = {
    "float16": (torch.float16,),
    "bfloat16": (torch.bfloat16,),
    "float8-e4m3": (torch.float8_e4m3fn,),
    "float8-e5m2": (torch.float8_e5m2,),
}


@attack(RULE, "a weight is rounded on its way into the product", variants=_TORCH)
def torch_weight_rounded(dtype) -> Case:
    def wrong(x):
        w = torch.from_numpy(W).to(dtype).float()
        return torch.tanh(x @ w) @ torch.from_numpy(V)

    return Case(tf_(tf_net), torch_(wrong), torch_(torch_net), X)


@attack(RULE, "an activation is rounded on its way to the next layer", variants=_TORCH)
def torch_activation_rounded(dtype) -> Case:
    def wrong(x):
        h = torch.tanh(x @ torch.from_numpy(W)).to(dtype).float()
        return h @ torch.from_numpy(V)

    return Case(tf_(tf_net), torch_(wrong), torch_(torch_net), X)


_TF = {
    "float16": (tf.float16,),
    "bfloat16": (tf.bfloat16,),
    "float8-e4m3": (tf.dtypes.experimental.float8_e4m3fn,),
    "float8-e5m2": (tf.dtypes.experimental.float8_e5m2,),
}


@attack(RULE, "a variable is rounded where it is read", variants=_TF)
def tf_weight_rounded(dtype) -> Case:
    def make(round_):
        class Net(tf.Module):
            def __init__(self):
                super().__init__()
                self.w, self.v = tf.Variable(W), tf.Variable(V)

            def __call__(self, x):
                w = tf.cast(tf.cast(self.w, dtype), tf.float32) if round_ else self.w
                return tf.matmul(tf.tanh(tf.matmul(x, w)), self.v)

        return Net()

    return Case(torch_(torch_net), tf_(make(True)), tf_(make(False)), X)


@attack(RULE, "an activation is rounded between two layers", variants=_TF)
def tf_activation_rounded(dtype) -> Case:
    def wrong(x):
        h = tf.cast(tf.cast(tf.tanh(tf.matmul(x, W)), dtype), tf.float32)
        return tf.matmul(h, V)

    return Case(torch_(torch_net), tf_(wrong), tf_(tf_net), X)


@attack(RULE, "one layer of a float32 Keras model computes in bfloat16 by its own policy")
def keras_layer_policy() -> Case:
    return Case(torch_(torch_net), tf_(keras_net("mixed_bfloat16")), tf_(keras_net()), X)


@attack(RULE, "one layer of a float32 Keras model computes in float16 by its own policy")
def keras_layer_half() -> Case:
    return Case(torch_(torch_net), tf_(keras_net("mixed_float16")), tf_(keras_net()), X)


@attack(RULE, "a Chainer link casts its weight to float16 and back")
def chainer_weight_rounded() -> Case:
    def wrong(x):
        w = F.cast(F.cast(chainer.Variable(W), "float16"), "float32")
        return F.matmul(F.tanh(F.matmul(x, w)), V)

    def right(x):
        return F.matmul(F.tanh(F.matmul(x, W)), V)

    return Case(torch_(torch_net), chainer_(wrong), chainer_(right), X)


@attack(RULE, "a NumPy port keeps its activations in float16")
def numpy_activation_rounded() -> Case:
    def wrong(x):
        h = np.tanh(x @ W).astype(np.float16)
        return h.astype(x.dtype) @ V

    def right(x):
        return np.tanh(x @ W) @ V

    return Case(torch_(torch_net), numpy_(wrong), numpy_(right), X)


@attack(RULE, "a NumPy port rounds its weights to float16 at the call")
def numpy_weight_rounded() -> Case:
    def wrong(x):
        return np.tanh(x @ W.astype(np.float16).astype(x.dtype)) @ V

    def right(x):
        return np.tanh(x @ W) @ V

    return Case(torch_(torch_net), numpy_(wrong), numpy_(right), X)


@attack(RULE, "a region under torch.autocast multiplies in bfloat16")
def autocast_region() -> Case:
    def wrong(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = torch.tanh(x @ torch.from_numpy(W))
        return h.float() @ torch.from_numpy(V)

    return Case(tf_(tf_net), torch_(wrong), torch_(torch_net), X)


@attack(RULE, "a table of embeddings is stored in float16 and read as float32")
def half_embedding() -> Case:
    table = normal(9, 5)
    indices = np.arange(12).reshape(4, 3) % 9

    def wrong(i):
        return torch.tanh(torch.from_numpy(table).half()[i].float())

    def right(i):
        return torch.tanh(torch.from_numpy(table)[i])

    def reference(i):
        return tf.tanh(tf.gather(table, i))

    return Case(tf_(reference), torch_(wrong), torch_(right), indices)


@attack(RULE, "the mantissa is cut to 10 bits by a view as integers, as a TF32 emulation does")
def bit_mask() -> Case:
    def cut(x):
        bits = x.contiguous().view(torch.int32) & ~0x1FFF
        return bits.view(torch.float32)

    def wrong(x):
        return torch.tanh(cut(x) @ cut(torch.from_numpy(W))) @ torch.from_numpy(V)

    return Case(tf_(tf_net), torch_(wrong), torch_(torch_net), X)


@attack(RULE, "a bitcast to integers and back cuts the weights' mantissa, in TensorFlow")
def tf_bit_mask() -> Case:
    def wrong(x):
        w = tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(W, tf.int32), ~0xFFF), tf.float32)
        return tf.matmul(tf.tanh(tf.matmul(x, w)), V)

    return Case(torch_(torch_net), tf_(wrong), tf_(tf_net), X)


@attack(RULE, "the residual stream is accumulated in bfloat16, everything else in float32")
def residual_stream() -> Case:
    w = [weights(6, 6, seed=i) for i in range(3)]

    def reference(x):
        for one in w:
            x = x + tf.tanh(tf.matmul(x, one))
        return x

    def port(dtype):
        def model(x):
            for one in w:
                x = (x.to(dtype) + torch.tanh(x @ torch.from_numpy(one)).to(dtype)).float()
            return x

        return model

    return Case(tf_(reference), torch_(port(torch.bfloat16)), torch_(port(torch.float32)), X)


@attack(RULE, "int8 quantisation of a weight with its scale, undone before the product")
def int8_weight() -> Case:
    def wrong(x):
        scale = np.abs(W).max() / 127
        w = torch.from_numpy(np.round(W / scale).astype(np.int8)).float() * float(scale)
        return torch.tanh(x @ w) @ torch.from_numpy(V)

    return Case(tf_(tf_net), torch_(wrong), torch_(torch_net), X)
