"""Drawn networks in Chainer, and their weights in the common arrangement."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from parity.frameworks.chainer import chainer
from tests.weights.drawn.nets import Net

F, L = chainer.functions, chainer.links


class ChainerNet(chainer.Chain):
    """The links are made in a different order."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net
        given = list(net.layers.items())
        Random(net.made + 2).shuffle(given)
        with self.init_scope():
            for layer, (node, entering) in given:
                made = MADE[node.kind](entering, node.sizes, "chainer" in node.by_hand)
                setattr(self, f"l{layer}", made)

    def forward(self, x):
        found = [x]
        for node in self.net.nodes[1:]:
            given = [found[number] for number in node.inputs]
            made = getattr(self, f"l{node.layer}", None)
            if made is not None:
                found.append(CALLED.get(node.kind, lambda one, x: one(x))(made, *given))
            else:
                found.append(APPLIED[node.kind](given))
        outputs = tuple(found[number] for number in self.net.outputs)
        return outputs if len(outputs) > 1 else outputs[0]


APPLIED = {
    "relu": lambda given: F.relu(given[0]),
    "tanh": lambda given: F.tanh(given[0]),
    "sigmoid": lambda given: F.sigmoid(given[0]),
    "elu": lambda given: F.elu(given[0]),
    "add": lambda given: given[0] + given[1],
    "concat": lambda given: F.concat(given, -1),
    "flatten": lambda given: F.reshape(given[0], (len(given[0]), -1)),
    "last": lambda given: given[0][:, -1],
    "mean_over_time": lambda given: F.mean(given[0], 1),
    "as_image": lambda given: F.transpose(given[0], (0, 2, 1)),
    "as_series": lambda given: F.transpose(given[0], (0, 2, 1)),
    "max_pool": lambda given: F.max_pooling_nd(given[0], 2, cover_all=False),
    "average_pool": lambda given: F.average_pooling_nd(given[0], 2),
}


def _over_series(made, x):
    return made(x, n_batch_axes=x.ndim - 1) if isinstance(made, L.Linear) else made(x)


def _over_rows(made, x):
    """A layer norm takes rows alone."""
    if isinstance(made, NormByHand) or x.ndim == 2:
        return made(x)
    return F.reshape(made(F.reshape(x, (-1, x.shape[-1]))), x.shape)


def _over_time(made, x):
    if isinstance(made, (L.NStepLSTM, L.NStepGRU)):
        before = (None,) * (2 if isinstance(made, L.NStepLSTM) else 1)
        return F.stack(made(*before, list(x))[-1], 0)
    if hasattr(made, "reset_state"):
        made.reset_state()
        return F.stack([made(x[:, t]) for t in range(x.shape[1])], 1)
    h, found = np.zeros((len(x), made.U.W.shape[0]), "f"), []
    for t in range(x.shape[1]):
        h = made(h, x[:, t])
        found.append(h)
    return F.stack(found, 1)


CALLED = {
    "dense": _over_series,
    "layer_norm": _over_rows,
    **dict.fromkeys(("lstm", "gru", "gru_before"), _over_time),
}


# --- links: each takes the shape that enters, its sizes, and whether it is by hand ----------------


def _convolution(entering, sizes, _):
    channels, *space = entering
    pad = sizes["dilation"] * (sizes["kernel"] - 1) // 2 if sizes["same"] else 0
    settings = {"stride": sizes["stride"], "pad": pad, "nobias": not sizes["bias"]}
    if "multiplier" in sizes and len(space) == 2 and sizes["dilation"] == 1:
        multiplier, kernel = sizes["multiplier"], sizes["kernel"]
        return L.DepthwiseConvolution2D(channels, multiplier, kernel, **settings)
    groups = channels if "multiplier" in sizes else sizes.get("groups", 1)
    filters = sizes.get("filters", channels * sizes.get("multiplier", 1))
    settings |= {"dilate": sizes["dilation"], "groups": groups}
    if len(space) == 2:
        return L.Convolution2D(channels, filters, sizes["kernel"], **settings)
    return L.ConvolutionND(len(space), channels, filters, sizes["kernel"], **settings)


def _transposed(entering, sizes, _):
    channels, *space = entering
    settings = {"stride": sizes["stride"], "nobias": not sizes["bias"]}
    if len(space) == 2:
        return L.Deconvolution2D(channels, sizes["filters"], sizes["kernel"], **settings)
    return L.DeconvolutionND(len(space), channels, sizes["filters"], sizes["kernel"], **settings)


class NormByHand(chainer.Chain):
    """A batch norm, or a layer norm where there are no statistics."""

    def __init__(self, size: int, rank: int, statistics: bool) -> None:
        super().__init__()
        self.shape, self.statistics = (1, size, *[1] * rank), statistics
        with self.init_scope():
            self.shift = chainer.Parameter(np.zeros(size, "f"))
            self.stretch = chainer.Parameter(np.ones(size, "f"))
        if statistics:
            self.centre, self.var = np.zeros(size, "f"), np.ones(size, "f")
            self.register_persistent("centre")
            self.register_persistent("var")

    def forward(self, x):
        if not self.statistics:
            mean = F.broadcast_to(F.mean(x, -1, keepdims=True), x.shape)
            variance = F.mean(F.square(x - mean), -1, keepdims=True)
            normed = (x - mean) / F.broadcast_to(F.sqrt(variance + 1e-3), x.shape)
            stretch, shift = self.stretch, self.shift
        else:
            own = (self.centre, self.var, self.stretch, self.shift)
            centre, var, stretch, shift = (F.reshape(one, self.shape) for one in own)
            normed = x - F.broadcast_to(centre, x.shape)
            normed = normed / F.broadcast_to(F.sqrt(var + 1e-3), x.shape)
        return normed * F.broadcast_to(stretch, x.shape) + F.broadcast_to(shift, x.shape)


def _batch_norm(entering, sizes, by_hand):
    if by_hand:
        return NormByHand(entering[0], len(entering) - 1, True)
    return L.BatchNormalization(entering[0], eps=1e-3)


def _layer_norm(entering, sizes, by_hand):
    if by_hand:
        return NormByHand(entering[-1], 0, False)
    return L.LayerNormalization(entering[-1], eps=1e-3)


class GruByHand(chainer.Chain):
    """Resets before the product; the update gate keeps what was there, as Keras's does."""

    ORDER = (1, 0, 2)

    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.units = units
        with self.init_scope():
            self.into = L.Linear(features, 3 * units)
            self.gates, self.new = (
                L.Linear(units, 2 * units, nobias=True),
                L.Linear(units, units, nobias=True),
            )

    def reset_state(self):
        self.h = None

    def forward(self, x):
        h = np.zeros((len(x), self.units), "f") if self.h is None else self.h
        z, r, n = F.split_axis(self.into(x), 3, 1)
        keep, reset = F.split_axis(self.gates(h), 2, 1)
        z, r = F.sigmoid(z + keep), F.sigmoid(r + reset)
        n = F.tanh(n + self.new(r * h))
        self.h = z * h + (1 - z) * n
        return self.h


class Attention(chainer.Chain):
    """Split, as Chainer has none of its own."""

    def __init__(self, features: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        with self.init_scope():
            self.k, self.o, self.q, self.v = (
                L.Linear(features, features, nobias=not bias) for _ in range(4)
            )

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        q, k, v = (
            F.transpose(F.reshape(one(x, n_batch_axes=2), shape), (0, 2, 1, 3))
            for one in (self.q, self.k, self.v)
        )
        scores = F.matmul(q, k, transb=True) / math.sqrt(shape[-1])
        found = F.matmul(F.softmax(scores, axis=-1), v)
        return self.o(F.reshape(F.transpose(found, (0, 2, 1, 3)), x.shape), n_batch_axes=2)


def _gru_before(entering, sizes, by_hand):
    made = GruByHand if by_hand else L.StatelessGRU
    return made(entering[-1], sizes["units"])


MADE = {
    "dense": lambda entering, sizes, _: L.Linear(
        entering[-1], sizes["units"], nobias=not sizes["bias"]
    ),
    "conv": _convolution,
    "depthwise": _convolution,
    "transposed": _transposed,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": lambda entering, sizes, _: L.GroupNormalization(
        sizes["groups"], entering[0], eps=1e-3
    ),
    "embedding": lambda entering, sizes, _: L.EmbedID(sizes["rows"], sizes["units"]),
    "lstm": lambda entering, sizes, by_hand: (
        L.LSTM(entering[-1], sizes["units"])
        if by_hand
        else L.NStepLSTM(1, entering[-1], sizes["units"], 0.0)
    ),
    "gru": lambda entering, sizes, _: L.NStepGRU(1, entering[-1], sizes["units"], 0.0),
    "gru_before": _gru_before,
    "attention": lambda entering, sizes, _: Attention(entering[-1], sizes["heads"], sizes["bias"]),
}


# --- weights -------------------------------------------------------------------------------------


def weights_of(model: ChainerNet):
    """By layer and role: arrays in torch's arrangement."""
    found = {}
    for layer, (node, _) in model.net.layers.items():
        own = READ.get(node.kind, _read_plain)(getattr(model, f"l{layer}"))
        for role, array in own.items():
            if array is not None:
                found[layer, role] = getattr(array, "array", array)
    return found


def _read_plain(made):
    kernel = made.W.array
    if isinstance(made, L.DepthwiseConvolution2D):  # (multiplier, channels, *space)
        kernel = kernel.swapaxes(0, 1).reshape(-1, 1, *kernel.shape[2:])
    return {"kernel": kernel, "bias": made.b}


def _read_norm(made):
    if isinstance(made, NormByHand):
        own = {"mean": made.centre, "variance": made.var} if made.statistics else {}
        return {"gamma": made.stretch, "beta": made.shift, **own}
    own = {"mean": getattr(made, "avg_mean", None), "variance": getattr(made, "avg_var", None)}
    return {"gamma": made.gamma, "beta": made.beta, **own}


def _joined(links, key):
    return np.concatenate([getattr(link, key).array for link in links])


def _read_lstm(made):
    if isinstance(made, L.LSTM):
        own = made.upward.W.array, made.lateral.W.array, made.upward.b.array

        def rows(array):  # a, i, f, o for each unit
            gates = array.reshape(-1, 4, *array.shape[1:])[:, [1, 2, 0, 3]]
            return gates.swapaxes(0, 1).reshape(array.shape)

        return dict(zip(("kernel", "recurrent", "bias"), map(rows, own), strict=True))
    found = _read_nstep(made)
    found["bias"] = found["bias"] + found.pop("recurrent bias")
    return found


def _read_nstep(made):
    (own,) = made
    half = len(list(own.params())) // 4
    weights = [getattr(own, f"w{n}").array for n in range(2 * half)]
    biases = [getattr(own, f"b{n}").array for n in range(2 * half)]
    return {
        "kernel": np.concatenate(weights[:half]),
        "recurrent": np.concatenate(weights[half:]),
        "bias": np.concatenate(biases[:half]),
        "recurrent bias": np.concatenate(biases[half:]),
    }


def _read_gru_before(made):
    if isinstance(made, GruByHand):

        def rows(array):  # z, r, n
            gates = array.reshape(3, -1, *array.shape[1:])
            return gates[[1, 0, 2]].reshape(array.shape)

        back = np.concatenate([made.gates.W.array, made.new.W.array])
        own = made.into.W.array, back, made.into.b.array
        return dict(zip(("kernel", "recurrent", "bias"), map(rows, own), strict=True))
    into, back = (made.W_r, made.W_z, made.W), (made.U_r, made.U_z, made.U)
    units = made.U.W.shape[0]
    sign = np.repeat(np.float32([1, -1, 1]), units)  # its update gate takes what is new
    return {
        "kernel": sign[:, None] * _joined(into, "W"),
        "recurrent": sign[:, None] * _joined(back, "W"),
        "bias": sign * (_joined(into, "b") + _joined(back, "b")),
    }


def _read_attention(made):
    parts = {"query": made.q, "key": made.k, "value": made.v, "output": made.o}
    kernels = {f"{role} kernel": one.W for role, one in parts.items()}
    return kernels | {f"{role} bias": one.b for role, one in parts.items()}


READ = {
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm"), _read_norm),
    "embedding": lambda made: {"table": made.W},
    "lstm": _read_lstm,
    "gru": _read_nstep,
    "gru_before": _read_gru_before,
    "attention": _read_attention,
}
