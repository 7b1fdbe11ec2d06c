"""How torch users write each kind of node down."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .forms import (
    Flavour,
    Piece,
    Plan,
    Weight,
    by_hand,
    by_layer,
    counted,
    last_axis,
    returned,
    symmetric,
    tag,
    unpadded,
)
from .network import Network

BUFFERS = ("mean", "variance", "scale", "shift", "support")
PADDED = "F.pad({x}, ({left}, {right}, {top}, {bottom}))"
WINDOWS = "{x}.unfold(2, {window[0]}, {stride}).unfold(3, {window[1]}, {stride})"

FORMS = {
    "dense": [
        by_layer("nn.Linear({features}, {units}, bias={has_bias})", weight="weight", bias="bias"),
        by_hand("{y} = F.linear({x}, {weight}, {bias})"),
        by_hand("{y} = {x} @ {kernel}{plus_bias}"),
        by_hand("{y} = torch.einsum('...i,oi->...o', {x}, {weight}){plus_bias}"),
    ],
    "conv2d": [
        by_layer(
            "nn.Conv2d({channels}, {filters}, {window}, stride={stride}, "
            "padding=({top}, {left}), bias={has_bias})",
            when=symmetric,
            weight="weight",
            bias="bias",
        ),
        by_hand("{y} = F.conv2d(" + PADDED + ", {weight}, {bias}, stride={stride})"),
        by_hand(
            "columns = F.unfold(" + PADDED + ", {window}, stride={stride})\n"
            "{y} = {weight}.flatten(1) @ columns\n"
            "{y} = {y}.view(-1, {filters}, {out_height}, {out_width}){plus_bias}"
        ),
    ],
    "maxpool": [
        by_layer("nn.MaxPool2d({window}, stride={stride})"),
        by_hand("{y} = F.max_pool2d({x}, {window}, stride={stride})"),
        by_hand("{y} = " + WINDOWS + ".amax((4, 5))"),
    ],
    "avgpool": [
        by_layer(
            "nn.AvgPool2d({window}, stride={stride}, padding=({top}, {left}), "
            "count_include_pad={counts_padding})"
        ),
        by_hand("{y} = F.avg_pool2d(" + PADDED + ", {window}, stride={stride})", when=counted),
        by_hand("{y} = " + WINDOWS + ".mean((4, 5))", when=unpadded),
    ],
    "batchnorm": [
        by_layer(
            "nn.BatchNorm2d({channels}, eps={epsilon})",
            when=lambda names: names["rank"] == 4,
            weight="gamma",
            bias="beta",
            running_mean="mean",
            running_var="variance",
        ),
        by_layer(
            "nn.BatchNorm1d({channels}, eps={epsilon})",
            when=lambda names: names["rank"] == 2,
            weight="gamma",
            bias="beta",
            running_mean="mean",
            running_var="variance",
        ),
        by_hand("{y} = F.batch_norm({x}, {mean}, {variance}, {gamma}, {beta}, eps={epsilon})"),
        by_hand(
            "{y} = ({x} - {mean}{over}) / torch.sqrt({variance}{over} + {epsilon})\n"
            "{y} = {y} * {gamma}{over} + {beta}{over}"
        ),
        by_hand("{y} = {x} * {scale}{over} + {shift}{over}"),
    ],
    "layernorm": [
        by_layer(
            "nn.LayerNorm({features}, eps={epsilon})", when=last_axis, weight="gamma", bias="beta"
        ),
        by_hand(
            "{y} = F.layer_norm({x}, ({features},), {gamma}, {beta}, {epsilon})", when=last_axis
        ),
        by_hand(
            "mean = {x}.mean({axis}, keepdim=True)\n"
            "variance = (({x} - mean) ** 2).mean({axis}, keepdim=True)\n"
            "{y} = ({x} - mean) / torch.sqrt(variance + {epsilon}) * {gamma} + {beta}"
        ),
        by_hand(
            "variance, mean = torch.var_mean({x}, {axis}, correction=0, keepdim=True)\n"
            "{y} = ({x} - mean) * torch.rsqrt(variance + {epsilon}) * {gamma} + {beta}"
        ),
    ],
    "lstm": [
        by_layer(
            "nn.LSTM({features}, {units}, batch_first=True)",
            "{y} = self.{y}({x})[0]{last}",
            weight_ih_l0="weight_ih",
            weight_hh_l0="weight_hh",
            bias_ih_l0="bias_ih",
            bias_hh_l0="bias_hh",
        ),
        by_layer(
            "nn.LSTMCell({features}, {units})",
            "h = c = torch.zeros({x}.shape[0], {units})\n"
            "steps = []\n"
            "for t in range({steps}):\n"
            "    h, c = self.{y}({x}[:, t], (h, c))\n"
            "    steps.append(h)\n"
            "{y} = {joined}",
            weight_ih="weight_ih",
            weight_hh="weight_hh",
            bias_ih="bias_ih",
            bias_hh="bias_hh",
        ),
        by_hand(
            "h = c = torch.zeros({x}.shape[0], {units})\n"
            "steps = []\n"
            "for t in range({steps}):\n"
            "    gates = F.linear({x}[:, t], {weight_ih}, {bias}) + F.linear(h, {weight_hh})\n"
            "    i, f, g, o = gates.chunk(4, 1)\n"
            "    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n"
            "    h = torch.sigmoid(o) * torch.tanh(c)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
    ],
    "relu": [
        by_layer("nn.ReLU()"),
        by_hand("{y} = F.relu({x})"),
        by_hand("{y} = {x}.clamp(min=0)"),
        by_hand("{y} = {x} * ({x} > 0)"),
    ],
    "tanh": [
        by_layer("nn.Tanh()"),
        by_hand("{y} = torch.tanh({x})"),
        by_hand("{y} = 2 * torch.sigmoid(2 * {x}) - 1"),
    ],
    "sigmoid": [
        by_layer("nn.Sigmoid()"),
        by_hand("{y} = torch.sigmoid({x})"),
        by_hand("{y} = 1 / (1 + torch.exp(-{x}))"),
    ],
    "gelu": [
        by_layer("nn.GELU()"),
        by_hand("{y} = F.gelu({x})"),
        by_hand("{y} = 0.5 * {x} * (1 + torch.erf({x} / 2**0.5))"),
    ],
    "gelu_tanh": [
        by_hand("{y} = F.gelu({x}, approximate='tanh')"),
        by_hand(
            "cubic = {x} + 0.044715 * {x} ** 3\n"
            "{y} = 0.5 * {x} * (1 + torch.tanh(math.sqrt(2 / math.pi) * cubic))"
        ),
    ],
    "leaky_relu": [
        by_layer("nn.LeakyReLU({slope})"),
        by_hand("{y} = F.leaky_relu({x}, {slope})"),
        by_hand("{y} = torch.where({x} > 0, {x}, {slope} * {x})"),
        by_hand("{y} = torch.maximum({x}, {slope} * {x})"),
    ],
    "softplus": [
        by_layer("nn.Softplus()"),
        by_hand("{y} = F.softplus({x})"),
        by_hand("{y} = torch.log(1 + torch.exp({x}))"),
    ],
    "elu": [
        by_layer("nn.ELU()"),
        by_hand("{y} = F.elu({x})"),
        by_hand("{y} = torch.where({x} > 0, {x}, torch.expm1({x}))"),
    ],
    "silu": [by_hand("{y} = F.silu({x})"), by_hand("{y} = {x} * torch.sigmoid({x})")],
    "identity": [by_hand("{y} = {x}")],
    "scale": [by_hand("{y} = {x} * {factor}"), by_hand("{y} = torch.mul({x}, {factor})")],
    "softmax": [
        by_layer("nn.Softmax(dim={axis})"),
        by_hand("{y} = torch.softmax({x}, dim={axis})"),
        by_hand(
            "shifted = torch.exp({x} - {x}.amax({axis}, keepdim=True))\n"
            "{y} = shifted / shifted.sum({axis}, keepdim=True)"
        ),
        by_hand("{y} = F.log_softmax({x}, {axis}).exp()"),
    ],
    "log_softmax": [
        by_hand("{y} = F.log_softmax({x}, {axis})"),
        by_hand("{y} = torch.log(torch.softmax({x}, {axis}))"),
        by_hand("{y} = {x} - torch.logsumexp({x}, {axis}, keepdim=True)"),
    ],
    "flatten": [
        by_layer("nn.Flatten()"),
        by_hand("{y} = torch.flatten({x}, 1)"),
        by_hand("{y} = {x}.reshape({x}.shape[0], -1)"),
    ],
    "reshape": [
        by_layer("nn.Unflatten(1, ({rows}, {columns}))"),
        by_hand("{y} = {x}.view(-1, {rows}, {columns})"),
    ],
    "reshape_swapped": [by_hand("{y} = {x}.view(-1, {columns}, {rows}).transpose(1, 2)")],
    "transpose": [
        by_hand("{y} = {x}.transpose(1, 2)"),
        by_hand("{y} = {x}.permute(0, 2, 1).contiguous()"),
        by_hand("{y} = torch.einsum('bij->bji', {x})"),
    ],
    "tokens": [
        by_hand("{y} = {x}.flatten(2).transpose(1, 2)"),
        by_hand("{y} = {x}.permute(0, 2, 3, 1).reshape(-1, {area}, {channels})"),
    ],
    "tokens_reshaped": [by_hand("{y} = {x}.reshape(-1, {area}, {channels})")],
    "reduce_mean": [by_hand("{y} = {x}.mean({axis})"), by_hand("{y} = torch.mean({x}, {axis})")],
    "reduce_sum": [by_hand("{y} = {x}.sum({axis})")],
    "reduce_max": [by_hand("{y} = {x}.amax({axis})")],
    "centre_mean": [by_hand("{y} = {x} - {x}.mean({axis}, keepdim=True)")],
    "centre_max": [
        by_hand("{y} = {x} - {x}.amax({axis}, keepdim=True)"),
        by_hand("{y} = {x} - {x}.max({axis}, keepdim=True).values"),
    ],
    "add": [by_hand("{y} = {a} + {b}"), by_hand("{y} = torch.add({b}, {a})")],
    "concat": [by_hand("{y} = torch.cat([{inputs}], dim=1)")],
    "dueling": [
        by_hand("{y} = {value} + ({a} - {a}.mean({axis}, keepdim=True))"),
        by_hand("{y} = {value} - {a}.mean({axis}, keepdim=True) + {a}"),
        by_hand("centred = {a} - torch.mean({a}, {axis}, keepdim=True)\n{y} = centred + {value}"),
    ],
    "dueling_max": [by_hand("{y} = {value} + ({a} - {a}.amax({axis}, keepdim=True))")],
    "dueling_uncentred": [by_hand("{y} = {value} + {a}")],
    "dueling_value": [by_hand("{y} = {value} - {value}.mean(0, keepdim=True) + {a}")],
    "expectation": [
        by_hand("{y} = ({x} * {support}{column}).sum({axis})"),
        by_hand("{y} = {x} @ {support}", when=last_axis),
        by_hand("{y} = ({x} * torch.linspace({low}, {high}, {atoms}){column}).sum({axis})"),
    ],
}


def _write(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = ["import math", "", "import torch", "from torch import nn"]
    lines += ["from torch.nn import functional as F", "", "", "class Model(nn.Module):"]
    lines += ["    def __init__(self):", "        super().__init__()"]
    for piece in pieces:
        made = [f"self.{piece.node.name} = {piece.layer}"] if piece.layer else []
        made += [_parameter(weight) for weight in piece.weights if not weight.of_layer]
        lines += [f"        {line}" for line in tag(made, piece.node)]
    lines += ["", "    def forward(self, x):"]
    for piece in pieces:
        lines += [f"        {line}" for line in tag(piece.lines, piece.node)]
    return "\n".join([*lines, f"        return {returned(network)}", ""])


def _parameter(weight: Weight) -> str:
    zeros = f"torch.zeros({weight.value.shape})"
    if weight.attribute.removeprefix(f"{weight.node}_") in BUFFERS:
        return f'self.register_buffer("{weight.attribute}", {zeros})'
    return f"self.{weight.attribute} = nn.Parameter({zeros})"


def _load(module: ModuleType, weights: Sequence[Weight], example: np.ndarray) -> Any:
    import torch

    model = module.Model().eval()
    for weight in weights:
        owner = getattr(model, weight.node) if weight.of_layer else model
        value = torch.tensor(weight.value)
        assert getattr(owner, weight.attribute).shape == value.shape, weight
        getattr(owner, weight.attribute).data.copy_(value)
    return model


def _run(model: Any, inputs: np.ndarray) -> Any:
    import torch

    with torch.no_grad():
        return model(torch.tensor(inputs))


TORCH = Flavour(
    name="torch",
    forms=FORMS,
    parameter="self.{}",
    row="{}.unsqueeze(1)",
    stack="torch.stack(steps, 1)",
    layouts=("NCHW",),
    write=_write,
    load=_load,
    run=_run,
)
