"""Drawn networks in torch, and their weights in the common arrangement."""

from __future__ import annotations

import math
from random import Random

import torch

from tests.weights.drawn.nets import Net

nn, F = torch.nn, torch.nn.functional
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
BATCH_NORMS = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
POOLS = {
    "max_pool": {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d},
    "average_pool": {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d},
}


class TorchNet(nn.Module):
    """The layers are made in a different order."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net
        given = list(net.layers.items())
        Random(net.made).shuffle(given)
        self.made = nn.ModuleDict(
            {
                str(layer): MADE[node.kind](entering, node.sizes, "torch" in node.by_hand)
                for layer, (node, entering) in given
            }
        )

    def forward(self, x):
        found = [x]
        for node in self.net.nodes[1:]:
            given = [found[number] for number in node.inputs]
            if str(node.layer) in self.made:
                made = self.made[str(node.layer)]
                fused = isinstance(made, (nn.LSTM, nn.GRU))
                found.append(made(*given)[0] if fused else made(*given))
            else:
                found.append(APPLIED[node.kind](given, node.sizes))
        outputs = tuple(found[number] for number in self.net.outputs)
        return outputs if len(outputs) > 1 else outputs[0]


def _pool(kind):
    return lambda given, sizes: POOLS[kind][given[0].ndim - 2](given[0], 2)


APPLIED = {
    "relu": lambda given, _: torch.relu(given[0]),
    "tanh": lambda given, _: torch.tanh(given[0]),
    "sigmoid": lambda given, _: torch.sigmoid(given[0]),
    "elu": lambda given, _: F.elu(given[0]),
    "add": lambda given, _: given[0] + given[1],
    "concat": lambda given, _: torch.cat(given, -1),
    "flatten": lambda given, _: given[0].flatten(1),
    "last": lambda given, _: given[0][:, -1],
    "mean_over_time": lambda given, _: given[0].mean(1),
    "as_image": lambda given, _: given[0].transpose(1, 2),
    "as_series": lambda given, _: given[0].transpose(1, 2),
    "max_pool": _pool("max_pool"),
    "average_pool": _pool("average_pool"),
}


# --- layers: each takes the shape that enters, its sizes, and whether it is by hand ---------------


def _convolution(entering, sizes, _):
    channels, *space = entering
    groups = channels if "multiplier" in sizes else sizes.get("groups", 1)
    filters = sizes.get("filters", channels * sizes.get("multiplier", 1))
    return CONVOLUTIONS[len(space)](
        channels,
        filters,
        sizes["kernel"],
        sizes["stride"],
        padding="same" if sizes["same"] else 0,
        dilation=sizes["dilation"],
        groups=groups,
        bias=sizes["bias"],
    )


def _transposed(entering, sizes, _):
    made = TRANSPOSED[len(entering) - 1]
    kernel, stride, bias = sizes["kernel"], sizes["stride"], sizes["bias"]
    return made(entering[0], sizes["filters"], kernel, stride, bias=bias)


class NormByHand(nn.Module):
    """A batch norm, or a layer norm where there are no statistics."""

    def __init__(self, size: int, rank: int, statistics: bool) -> None:
        super().__init__()
        self.shape = (size, *[1] * rank)
        self.g, self.b = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))
        self.statistics = statistics
        if statistics:
            self.register_buffer("m", torch.zeros(size))
            self.register_buffer("running_var", torch.ones(size))

    def forward(self, x):
        if self.statistics:
            mean, variance = self.m.view(self.shape), self.running_var.view(self.shape)
        else:
            mean = x.mean(-1, keepdim=True)
            variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        normed = (x - mean) / torch.sqrt(variance + 1e-3)
        return normed * self.g.view(self.shape) + self.b.view(self.shape)


def _batch_norm(entering, sizes, by_hand):
    if by_hand:
        return NormByHand(entering[0], len(entering) - 1, True)
    return BATCH_NORMS[len(entering) - 1](entering[0], eps=1e-3)


def _layer_norm(entering, sizes, by_hand):
    if by_hand:
        return NormByHand(entering[-1], 0, False)
    return nn.LayerNorm(entering[-1], eps=1e-3)


class LstmByHand(nn.Module):
    """Gates in an order of its own: f, i, o, g."""

    ORDER = (1, 0, 3, 2)

    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.back, self.into = nn.Linear(units, 4 * units), nn.Linear(features, 4 * units)
        self.units = units

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.units)
        found = []
        for t in range(x.shape[1]):
            f, i, o, g = (self.into(x[:, t]) + self.back(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            found.append(h)
        return torch.stack(found, 1)


class GruBefore(nn.Module):
    """Resets before the product, as the paper of Cho et al. (2014); gates z, r, n."""

    ORDER = (1, 0, 2)

    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.into = nn.Linear(features, 3 * units)
        self.gates = nn.Linear(units, 2 * units, bias=False)
        self.new = nn.Linear(units, units, bias=False)
        self.units = units

    def forward(self, x):
        h = x.new_zeros(len(x), self.units)
        found = []
        for t in range(x.shape[1]):
            z, r, n = self.into(x[:, t]).chunk(3, -1)
            gates = self.gates(h)
            z = torch.sigmoid(z + gates[:, : self.units])
            r = torch.sigmoid(r + gates[:, self.units :])
            n = torch.tanh(n + self.new(r * h))
            h = z * h + (1 - z) * n
            found.append(h)
        return torch.stack(found, 1)


def _lstm(entering, sizes, by_hand):
    if by_hand:
        return LstmByHand(entering[-1], sizes["units"])
    return nn.LSTM(entering[-1], sizes["units"], batch_first=True, bias=sizes["bias"])


class Attention(nn.Module):
    """torch's own, or split."""

    def __init__(self, features: int, heads: int, bias: bool, by_hand: bool) -> None:
        super().__init__()
        self.heads = heads
        if by_hand:
            for name in ("o", "v", "q", "k"):
                setattr(self, name, nn.Linear(features, features, bias=bias))
        else:
            self.own = nn.MultiheadAttention(features, heads, bias=bias, batch_first=True)

    def forward(self, x):
        if hasattr(self, "own"):
            return self.own(x, x, x, need_weights=False)[0]
        q, k, v = (
            one(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for one in (self.q, self.k, self.v)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
        return self.o((weights @ v).transpose(1, 2).reshape(x.shape))


MADE = {
    "dense": lambda entering, sizes, _: nn.Linear(entering[-1], sizes["units"], bias=sizes["bias"]),
    "conv": _convolution,
    "depthwise": _convolution,
    "transposed": _transposed,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "group_norm": lambda entering, sizes, _: nn.GroupNorm(sizes["groups"], entering[0], eps=1e-3),
    "embedding": lambda entering, sizes, _: nn.Embedding(sizes["rows"], sizes["units"]),
    "lstm": _lstm,
    "gru": lambda entering, sizes, _: nn.GRU(entering[-1], sizes["units"], batch_first=True),
    "gru_before": lambda entering, sizes, _: GruBefore(entering[-1], sizes["units"]),
    "attention": lambda entering, sizes, by_hand: Attention(
        entering[-1], sizes["heads"], sizes["bias"], by_hand
    ),
}


# --- weights -------------------------------------------------------------------------------------


def weights_of(model: TorchNet):
    """By layer and role: arrays in torch's own arrangement, biases of recurrences added up."""
    found = {}
    for layer in map(int, model.made):
        made = model.made[str(layer)]
        read = next((READ[kind] for kind in READ if isinstance(made, kind)), _read_plain)
        for role, array in read(made).items():
            if array is not None:
                found[layer, role] = array.detach().numpy()
    return found


def _read_plain(made):
    return {"kernel": made.weight, "bias": made.bias}


def _read_norm(made):
    statistics = {"mean": "running_mean", "variance": "running_var"}
    own = {role: getattr(made, name, None) for role, name in statistics.items()}
    return {"gamma": made.weight, "beta": made.bias, **own}


def _read_norm_by_hand(made):
    own = {"mean": made.m, "variance": made.running_var} if made.statistics else {}
    return {"gamma": made.g, "beta": made.b, **own}


def _read_lstm(made):
    both = made.bias_ih_l0 + made.bias_hh_l0
    return {"kernel": made.weight_ih_l0, "recurrent": made.weight_hh_l0, "bias": both}


def _read_gru(made):
    kernels = {"kernel": made.weight_ih_l0, "recurrent": made.weight_hh_l0}
    return {**kernels, "bias": made.bias_ih_l0, "recurrent bias": made.bias_hh_l0}


def _gates(array, order):
    units = array.reshape(len(order), -1, *array.shape[1:])
    return units[list(order)].reshape(array.shape)


def _read_lstm_by_hand(made):
    return {
        "kernel": _gates(made.into.weight, made.ORDER),
        "recurrent": _gates(made.back.weight, made.ORDER),
        "bias": _gates(made.into.bias + made.back.bias, made.ORDER),
    }


def _read_gru_before(made):
    back = torch.cat([made.gates.weight, made.new.weight])
    return {
        "kernel": _gates(made.into.weight, made.ORDER),
        "recurrent": _gates(back, made.ORDER),
        "bias": _gates(made.into.bias, made.ORDER),
    }


def _read_attention(made):
    if hasattr(made, "own"):
        own = made.own
        names = ("query kernel", "key kernel", "value kernel")
        found = dict(zip(names, own.in_proj_weight.chunk(3), strict=True))
        found["output kernel"] = own.out_proj.weight
        if own.in_proj_bias is not None:
            names = ("query bias", "key bias", "value bias")
            found |= dict(zip(names, own.in_proj_bias.chunk(3), strict=True))
            found["output bias"] = own.out_proj.bias
        return found
    parts = {"query": made.q, "key": made.k, "value": made.v, "output": made.o}
    kernels = {f"{role} kernel": one.weight for role, one in parts.items()}
    return kernels | {f"{role} bias": one.bias for role, one in parts.items()}


READ = {
    (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm): _read_norm,
    NormByHand: _read_norm_by_hand,
    nn.Embedding: lambda made: {"table": made.weight},
    nn.LSTM: _read_lstm,
    nn.GRU: _read_gru,
    LstmByHand: _read_lstm_by_hand,
    GruBefore: _read_gru_before,
    Attention: _read_attention,
}
