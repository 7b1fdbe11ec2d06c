"""Drawn networks in Keras, channels last, and their weights in the common arrangement."""

from __future__ import annotations

import math
from random import Random

import keras
import numpy as np
from keras import layers, ops

from tests.weights.drawn.nets import Net

CONVOLUTIONS = {1: layers.Conv1D, 2: layers.Conv2D, 3: layers.Conv3D}
DEPTHWISE = {1: layers.DepthwiseConv1D, 2: layers.DepthwiseConv2D}
TRANSPOSED = {1: layers.Conv1DTranspose, 2: layers.Conv2DTranspose, 3: layers.Conv3DTranspose}
POOLS = {
    "max_pool": {1: layers.MaxPooling1D, 2: layers.MaxPooling2D, 3: layers.MaxPooling3D},
    "average_pool": {
        1: layers.AveragePooling1D,
        2: layers.AveragePooling2D,
        3: layers.AveragePooling3D,
    },
}


def last(shape):
    return (*shape[1:], shape[0])


def keras_net(net: Net) -> keras.Model:
    """The layers are made in a different order, and called in the network's."""
    keras.utils.clear_session(free_memory=False)  # a net built again has the names that it had
    given = list(net.layers.items())
    Random(net.made + 1).shuffle(given)
    made = {
        layer: MADE[node.kind](entering, node.sizes, "keras" in node.by_hand)
        for layer, (node, entering) in given
    }
    words = net.form == "words"
    shape = last(net.shape) if net.form == "image" else net.shape
    found = [layers.Input(shape, dtype="int32" if words else "float32")]
    for node in net.nodes[1:]:
        inputs = [found[number] for number in node.inputs]
        if node.layer in made:
            own = isinstance(made[node.layer], layers.MultiHeadAttention)
            found.append(made[node.layer](*inputs * 2 if own else inputs))
        else:
            found.append(APPLIED[node.kind](inputs))
    model = keras.Model(found[0], [found[number] for number in net.outputs])
    model.drawn_layers = made
    return model


def _pool(kind):
    return lambda given: POOLS[kind][len(given[0].shape) - 2](2)(given[0])


APPLIED = {
    **{
        kind: lambda given, kind=kind: layers.Activation(kind)(given[0])
        for kind in ("relu", "tanh", "sigmoid", "elu")
    },
    "add": lambda given: layers.Add()(given),
    "concat": lambda given: layers.Concatenate()(given),
    "flatten": lambda given: layers.Flatten()(given[0]),
    "last": lambda given: given[0][:, -1],
    "mean_over_time": lambda given: layers.GlobalAveragePooling1D()(given[0]),
    "as_image": lambda given: given[0],
    "as_series": lambda given: given[0],
    "max_pool": _pool("max_pool"),
    "average_pool": _pool("average_pool"),
}


# --- layers: each takes the shape that enters, its sizes, and whether it is by hand ---------------


def _convolution(entering, sizes, _):
    settings = {
        "strides": sizes["stride"],
        "padding": "same" if sizes["same"] else "valid",
        "dilation_rate": sizes["dilation"],
        "use_bias": sizes["bias"],
    }
    rank = len(entering) - 1
    if "multiplier" not in sizes:
        groups = sizes.get("groups", 1)
        return CONVOLUTIONS[rank](sizes["filters"], sizes["kernel"], groups=groups, **settings)
    if rank in DEPTHWISE:
        return DEPTHWISE[rank](sizes["kernel"], depth_multiplier=sizes["multiplier"], **settings)
    filters = entering[0] * sizes["multiplier"]  # Keras has none in 3d: each channel is a group
    return CONVOLUTIONS[rank](filters, sizes["kernel"], groups=entering[0], **settings)


def _transposed(entering, sizes, _):
    return TRANSPOSED[len(entering) - 1](
        sizes["filters"], sizes["kernel"], strides=sizes["stride"], use_bias=sizes["bias"]
    )


class NormByHand(layers.Layer):
    """A batch norm, or a layer norm where there are no statistics."""

    def __init__(self, statistics: bool) -> None:
        super().__init__()
        self.statistics = statistics

    def build(self, shape):
        size = (shape[-1],)
        self.shift = self.add_weight(shape=size, initializer="zeros", name="shift")
        self.stretch = self.add_weight(shape=size, initializer="ones", name="stretch")
        if self.statistics:
            self.var = self.add_weight(shape=size, trainable=False, name="var")
            self.centre = self.add_weight(shape=size, trainable=False, name="centre")

    def call(self, x):
        if self.statistics:
            mean, variance = self.centre, self.var
        else:
            mean = ops.mean(x, -1, keepdims=True)
            variance = ops.mean(ops.square(x - mean), -1, keepdims=True)
        return self.stretch * ((x - mean) / ops.sqrt(variance + 1e-3)) + self.shift


def _batch_norm(entering, sizes, by_hand):
    return NormByHand(True) if by_hand else layers.BatchNormalization(epsilon=1e-3)


def _layer_norm(entering, sizes, by_hand):
    return NormByHand(False) if by_hand else layers.LayerNormalization(epsilon=1e-3)


class Attention(layers.Layer):
    """Split, with queries, keys and values of their own layers."""

    def __init__(self, features: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.v, self.o, self.k, self.q = (layers.Dense(features, use_bias=bias) for _ in range(4))

    def call(self, x):
        shape = (-1, x.shape[1], self.heads, x.shape[2] // self.heads)
        q, k, v = (
            ops.transpose(ops.reshape(one(x), shape), (0, 2, 1, 3))
            for one in (self.q, self.k, self.v)
        )
        scores = q @ ops.transpose(k, (0, 1, 3, 2)) / math.sqrt(shape[-1])
        found = ops.transpose(ops.softmax(scores, -1) @ v, (0, 2, 1, 3))
        return self.o(ops.reshape(found, (-1, x.shape[1], x.shape[2])))


def _attention(entering, sizes, by_hand):
    features, heads, bias = entering[-1], sizes["heads"], sizes["bias"]
    if by_hand:
        return Attention(features, heads, bias)
    return layers.MultiHeadAttention(heads, features // heads, use_bias=bias)


def _recurrence(kind, **settings):
    return lambda entering, sizes, _: kind(sizes["units"], return_sequences=True, **settings)


MADE = {
    "dense": lambda entering, sizes, _: layers.Dense(sizes["units"], use_bias=sizes["bias"]),
    "conv": _convolution,
    "depthwise": _convolution,
    "transposed": _transposed,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": lambda entering, sizes, _: layers.GroupNormalization(
        sizes["groups"], epsilon=1e-3
    ),
    "embedding": lambda entering, sizes, _: layers.Embedding(sizes["rows"], sizes["units"]),
    "lstm": _recurrence(layers.LSTM),
    "gru": _recurrence(layers.GRU),
    "gru_before": _recurrence(layers.GRU, reset_after=False),
    "attention": _attention,
}


# --- weights -------------------------------------------------------------------------------------


def weights_of(model: keras.Model, net: Net):
    """By layer and role: arrays in torch's arrangement."""
    orders = _orders(net)
    found = {}
    for layer, (node, entering) in net.layers.items():
        own = READ.get(node.kind, _read_flat)(model.drawn_layers[layer], node, entering)
        order = orders[node.inputs[0]]
        for role, array in own.items():
            if array is not None:
                found[layer, role] = _in_order(np.asarray(array), order, role)
    return found


def _orders(net: Net):
    """For each node whose features are in another order than with channels first: which."""
    shapes, found = net.shapes, {0: None}
    for number, node in enumerate(net.nodes[1:], 1):
        shape = shapes[node.inputs[0]]
        found[number] = found[node.inputs[0]]
        if node.kind == "flatten" and len(shape) > 1 and net.form == "image":
            places = np.arange(math.prod(shape)).reshape(shape)
            found[number] = np.moveaxis(places, 0, -1).ravel()
        elif node.kind == "dense":
            found[number] = None
    return found


def _in_order(array, order, role):
    if order is None or role == "bias":
        return array
    found = np.empty_like(array)
    found[..., order] = array
    return found


def _read_flat(made, node, entering):
    return {"kernel": np.asarray(made.kernel).T, "bias": made.bias}


def _read_convolution(made, node, entering):
    kernel = np.asarray(made.kernel)
    if isinstance(made, tuple(DEPTHWISE.values())):  # (*space, channels, multiplier)
        kernel = kernel.reshape(*kernel.shape[:-2], 1, -1)
    kernel = np.moveaxis(kernel, (-1, -2), (0, 1))
    return {"kernel": kernel, "bias": made.bias}


def _read_norm(made, node, entering):
    if isinstance(made, NormByHand):
        own = {"mean": made.centre, "variance": made.var} if made.statistics else {}
        return {"gamma": made.stretch, "beta": made.shift, **own}
    own = {"gamma": made.gamma, "beta": made.beta}
    if node.kind == "batch_norm":
        own |= {"mean": made.moving_mean, "variance": made.moving_variance}
    return own


def _gates(array, order):
    """(..., gates x units) to (gates x units, ...)."""
    gates = np.asarray(array).reshape(*array.shape[:-1], len(order), -1)[..., list(order), :]
    return np.moveaxis(gates.reshape(array.shape), -1, 0)


def _read_recurrence(made, node, entering):
    order = (0, 1, 2, 3) if node.kind == "lstm" else (1, 0, 2)
    cell = made.cell
    found = {
        "kernel": _gates(cell.kernel, order),
        "recurrent": _gates(cell.recurrent_kernel, order),
    }
    biases = [_gates(one, order) for one in np.atleast_2d(np.asarray(cell.bias))]
    return found | dict(zip(("bias", "recurrent bias"), biases, strict=False))


def _read_attention(made, node, entering):
    size = entering[-1]
    if isinstance(made, Attention):
        parts = {"query": made.q, "key": made.k, "value": made.v, "output": made.o}
    else:
        parts = {
            "query": made.query_dense,
            "key": made.key_dense,
            "value": made.value_dense,
            "output": made.output_dense,
        }
    found = {}
    for role, one in parts.items():
        found[f"{role} kernel"] = np.asarray(one.kernel).reshape(size, size).T
        if one.bias is not None:
            found[f"{role} bias"] = np.asarray(one.bias).reshape(-1)
    return found


READ = {
    **dict.fromkeys(("conv", "depthwise", "transposed"), _read_convolution),
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm"), _read_norm),
    **dict.fromkeys(("lstm", "gru", "gru_before"), _read_recurrence),
    "attention": _read_attention,
    "embedding": lambda made, node, entering: {"table": made.embeddings},
}
