"""How torch users write each kind of node down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from . import conditions as when
from .forms import Flavour, Form, Piece, Plan, Weight, body, by_hand, by_layer, tag
from .forms_common import common_forms, joined
from .network import NEVER, Network

BUFFERS = (
    "mean",
    "variance",
    "scale",
    "shift",
    "support",
    "valid",
    "band",
    "multiples",
    "rows_taken",
    "columns_taken",
)
CELL = {name: name for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
LAYER = {f"{attribute}_l0": arrangement for attribute, arrangement in CELL.items()}
NORM = {"weight": "gamma", "bias": "beta", "running_mean": "mean", "running_var": "variance"}
SPREAD = "stride={stride}, dilation={dilation}, groups={groups}"
PADDED = "F.pad({x}, ({left}, {right}, {top}, {bottom}))"
WINDOWS = "{x}.unfold(2, {window[0]}, {stride}).unfold(3, {window[1]}, {stride})"

OPERATIONS = {
    **{name: f"torch.{name}(@)" for name in ("sqrt", "exp", "tanh", "sigmoid", "cos", "relu")},
    "mean": "torch.mean(@, #, keepdim=True)",
    "sum": "torch.sum(@, #, keepdim=True)",
    "matmul": "torch.matmul(@, #)",
    "split": "torch.chunk(@, #, 1)",
    "zeros": "torch.zeros({batch}, {units})",
    "clip": "torch.clamp(@, 0, 1)",
    "softmax": "torch.softmax(@, -1)",
    "reshape": "torch.reshape(@, (#))",
    "transpose": "torch.permute(@, (#))",
    "apply": "torch.matmul(@, #)",
    "einsum": "torch.einsum('#', @)",
    "causal": "torch.triu(torch.full(({steps}, {steps}), {fill}), 1)",
    "take": "@[torch.arange(#)]",
    "fractions": "(torch.arange({rows}) + {offset}) / {rows}",
}

HANDWRITTEN: dict[str, list[Form]] = {
    "dense": [
        by_layer("nn.Linear({features}, {units}, bias={has_bias})", weight="weight", bias="bias"),
        by_hand("{y} = F.linear({x}, {weight}, {bias})"),
        by_hand("{y} = {x} @ {kernel}{plus_bias}"),
        by_hand("{y} = torch.einsum('...i,oi->...o', {x}, {weight}){plus_bias}"),
    ],
    "conv2d": [
        by_layer(
            "nn.Conv2d({channels}, {filters}, {window}, stride={stride}, "
            "padding=({top}, {left}), dilation={dilation}, groups={groups}, bias={has_bias})",
            when=when.symmetric,
            weight="weight",
            bias="bias",
        ),
        by_hand("{y} = F.conv2d(" + PADDED + ", {weight}, {bias}, " + SPREAD + ")"),
        by_hand(
            "columns = F.unfold(" + PADDED + ", {window}, {dilation}, stride={stride})\n"
            "{y} = {weight}.flatten(1) @ columns\n"
            "{y} = {y}.view(-1, {filters}, {out_height}, {out_width}){plus_bias}",
            when=when.ungrouped,
        ),
    ],
    "conv2d_border": [
        by_layer(
            "nn.Conv2d({channels}, {filters}, {window}, stride={stride}, padding=({top}, {left}), "
            "dilation={dilation}, groups={groups}, bias={has_bias}, padding_mode='reflect')",
            when=lambda names: when.symmetric(names) and when.reflected(names),
            weight="weight",
            bias="bias",
        ),
        by_hand(
            "{y} = F.conv2d(F.pad({x}, ({left}, {right}, {top}, {bottom}), mode='reflect'), "
            "{weight}, {bias}, " + SPREAD + ")",
            when=when.reflected,
        ),
        by_hand(
            "{y} = F.conv2d(F.pad({x}, ({left}, {right}, {top}, {bottom}), value=1.0), "
            "{weight}, {bias}, " + SPREAD + ")",
            when=when.of_ones,
        ),
    ],
    "maxpool": [
        by_layer("nn.MaxPool2d({window}, stride={stride})", when=when.unpadded),
        by_layer(
            "nn.MaxPool2d({window}, stride={stride}, padding=({top}, {left}))", when=when.symmetric
        ),
        by_layer("nn.MaxPool2d({window}, stride={stride}, ceil_mode=True)", when=when.rounded_up),
        by_hand("{y} = F.max_pool2d({x}, {window}, stride={stride})", when=when.unpadded),
        by_hand(
            "{y} = F.max_pool2d({x}, {window}, stride={stride}, ceil_mode=True)",
            when=when.rounded_up,
        ),
        by_hand(
            "padded = F.pad({x}, ({left}, {right}, {top}, {bottom}), value=-math.inf)\n"
            "{y} = F.max_pool2d(padded, {window}, stride={stride})"
        ),
        by_hand("{y} = " + WINDOWS + ".amax((4, 5))", when=when.unpadded),
    ],
    "maxpool_zeros": [by_hand("{y} = F.max_pool2d(" + PADDED + ", {window}, stride={stride})")],
    "avgpool": [
        by_layer(
            "nn.AvgPool2d({window}, stride={stride}, padding=({top}, {left}), "
            "count_include_pad={counts_padding})"
        ),
        by_hand("{y} = F.avg_pool2d(" + PADDED + ", {window}, stride={stride})", when=when.counted),
        by_hand("{y} = " + WINDOWS + ".mean((4, 5))", when=when.unpadded),
    ],
    "batchnorm": [
        by_layer(
            "nn.BatchNorm2d({channels}, eps={epsilon})",
            when=lambda names: names["rank"] == 4,
            **NORM,
        ),
        by_layer(
            "nn.BatchNorm1d({channels}, eps={epsilon})",
            when=lambda names: names["rank"] == 2,
            **NORM,
        ),
        by_hand("{y} = F.batch_norm({x}, {mean}, {variance}, {gamma}, {beta}, eps={epsilon})"),
    ],
    "layernorm": [
        by_layer(
            "nn.LayerNorm({features}, eps={epsilon})",
            when=when.last_axis,
            weight="gamma",
            bias="beta",
        ),
        by_hand(
            "{y} = F.layer_norm({x}, ({features},), {gamma}, {beta}, {epsilon})",
            when=when.last_axis,
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
            when=when.forwards,
            **LAYER,
        ),
        by_layer(
            "nn.LSTM({features}, {units}, batch_first=True)",
            "{y} = self.{y}({x}.flip(1))[0].flip(1)",
            when=lambda names: names["reverse"] and names["sequence"],
            **LAYER,
        ),
        by_layer(
            "nn.LSTMCell({features}, {units})",
            "h = c = torch.zeros({x}.shape[0], {units})\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    h, c = self.{y}({x}[:, t], (h, c))\n"
            "    steps.append(h)\n"
            "{y} = {joined}",
            **CELL,
        ),
        by_hand(
            "h = c = torch.zeros({x}.shape[0], {units})\n"
            "steps = []\n"
            "for t in {times}:\n"
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
    "hard_sigmoid": [
        by_layer("nn.Hardsigmoid()", when=when.sixth_slope),
        by_hand("{y} = F.hardsigmoid({x})", when=when.sixth_slope),
        by_hand("{y} = torch.clamp({slope} * {x} + 0.5, 0, 1)"),
        by_hand("{y} = F.hardtanh({x} * {slope} + 0.5, 0.0, 1.0)"),
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
    "silu": [by_hand("{y} = F.silu({x})")],
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
    "dueling_value": [by_hand("{y} = {value} - {value}.mean(0, keepdim=True) + {a}")],
    "expectation": [
        by_hand("{y} = ({x} * {support}{column}).sum({axis})"),
        by_hand("{y} = {x} @ {support}", when=when.last_axis),
        by_hand("{y} = ({x} * torch.linspace({low}, {high}, {atoms}){column}).sum({axis})"),
    ],
}

NATIVE: dict[str, list[Form]] = {
    "layernorm_bare": [
        by_layer(
            "nn.LayerNorm({features}, eps={epsilon}, elementwise_affine=False)", when=when.last_axis
        )
    ],
    "layernorm_ddof": [
        by_hand(
            "deviation = torch.sqrt({x}.var({axis}, keepdim=True) + {epsilon})\n"
            "{y} = ({x} - {x}.mean({axis}, keepdim=True)) / deviation * {gamma} + {beta}"
        )
    ],
    "rmsnorm": [
        by_layer("nn.RMSNorm({features}, eps={epsilon})", when=when.last_axis, weight="gamma"),
        by_hand("{y} = {x} * torch.rsqrt({x}.pow(2).mean({axis}, True) + {epsilon}) * {gamma}"),
    ],
    "rmsnorm_bare": [
        by_hand("{y} = F.rms_norm({x}, ({features},), eps={epsilon})", when.last_axis)
    ],
    "batchnorm_batch": [
        by_hand("{y} = F.batch_norm({x}, None, None, {gamma}, {beta}, True, eps={epsilon})")
    ],
    "lstm_hard": [
        by_hand(
            "h = c = torch.zeros({batch}, {units})\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    gates = F.linear({x}[:, t], {weight_ih}, {bias}) + F.linear(h, {weight_hh})\n"
            "    i, f, g, o = gates.chunk(4, 1)\n"
            "    c = (0.2 * f + 0.5).clamp(0, 1) * c + (0.2 * i + 0.5).clamp(0, 1) * g.tanh()\n"
            "    h = (0.2 * o + 0.5).clamp(0, 1) * c.tanh()\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        )
    ],
    "lstm_stateless": [
        by_layer(
            "nn.LSTMCell({features}, {units})",
            "steps = [self.{y}({x}[:, t])[0] for t in {times}]\n{y} = {joined}",
            **CELL,
        )
    ],
    "lstm_masked": [
        by_layer(
            "nn.LSTM({features}, {units}, batch_first=True)",
            "packed = nn.utils.rnn.pack_padded_sequence(\n"
            "    {x}, torch.tensor({lengths}), batch_first=True, enforce_sorted=False\n"
            ")\n"
            "{y} = self.{y}(packed)[1][0][0]",
            **LAYER,
        )
    ],
    "gru": [
        by_layer(
            "nn.GRU({features}, {units}, batch_first=True)",
            "{y} = self.{y}({x})[0]{last}",
            when=lambda names: names["reset_after"] and when.forwards(names),
            **LAYER,
        ),
        by_layer(
            "nn.GRUCell({features}, {units})",
            "h = torch.zeros({batch}, {units})\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    h = self.{y}({x}[:, t], h)\n"
            "    steps.append(h)\n"
            "{y} = {joined}",
            when=when.resets_after,
            **CELL,
        ),
    ],
    "depthwise": [
        by_layer(
            "nn.Conv2d({channels}, {filters}, {window}, stride={stride}, "
            "padding=({top}, {left}), groups={channels}, bias={has_bias})",
            when=when.symmetric,
            weight="weight",
            bias="bias",
        ),
        by_hand(
            "{y} = F.conv2d(" + PADDED + ", {weight}, {bias}, stride={stride}, groups={channels})"
        ),
    ],
    "deconv2d": [
        by_layer(
            "nn.ConvTranspose2d({channels}, {filters}, {window}, stride={stride}, "
            "padding=({top}, {left}), output_padding=({top} - {bottom}, {left} - {right}), "
            "bias={has_bias})",
            when=lambda names: (
                0 <= names["top"] - names["bottom"] < 2 and 0 <= names["left"] - names["right"] < 2
            ),
            weight="weight",
            bias="bias",
        ),
        by_hand(
            "{y} = F.conv_transpose2d({x}, {weight}, {bias}, stride={stride})\n"
            "{y} = {y}[:, :, {top} : {top} + {out_height}, {left} : {left} + {out_width}]"
        ),
    ],
    "resize": [
        by_hand(
            "{y} = F.interpolate({x}, ({out_height}, {out_width}), mode='bilinear')",
            when=when.resized("bilinear", "half-pixel"),
        ),
        by_hand(
            "{y} = F.interpolate("
            "{x}, ({out_height}, {out_width}), mode='bilinear', align_corners=True)",
            when=when.align_corners,
        ),
        by_layer(
            "nn.Upsample(({out_height}, {out_width}), mode='nearest')",
            when=when.resized("nearest", "asymmetric"),
        ),
        by_hand(
            "{y} = F.interpolate({x}, ({out_height}, {out_width}), mode='nearest-exact')",
            when=when.resized("nearest", "half-pixel"),
        ),
    ],
    "pixel_shuffle": [
        by_layer("nn.PixelShuffle(2)", when=when.channels_before_blocks),
        by_hand("{y} = F.pixel_shuffle({x}, 2)", when=when.channels_before_blocks),
    ],
    "lrn": [
        by_layer("nn.LocalResponseNorm({size}, alpha={alpha} * {size}, beta={beta}, k={k})"),
        by_hand("{y} = F.local_response_norm({x}, {size}, {size} * {alpha}, {beta}, {k})"),
    ],
    "positions": [
        by_layer(
            "nn.Embedding({steps} + 2, {features})",
            "{y} = {x} + self.{y}(torch.arange({offset}, {offset} + {steps}))",
            weight="table",
        )
    ],
    "attention": [
        by_layer(
            "nn.MultiheadAttention({features}, {heads}, bias=False, batch_first=True)",
            "{y} = self.{y}({x}, {x}, {x})[0]",
            when=lambda names: _by_torch(names) and not names["causal"],
            in_proj_weight="query_key_value",
            out_proj__weight="output_t",
        ),
        by_layer(
            "nn.MultiheadAttention({features}, {heads}, bias=False, batch_first=True)",
            "mask = torch.ones({steps}, {steps}).triu(1).bool()\n"
            "{y} = self.{y}({x}, {x}, {x}, attn_mask=mask)[0]",
            when=lambda names: _by_torch(names) and names["causal"],
            in_proj_weight="query_key_value",
            out_proj__weight="output_t",
        ),
        by_hand(
            "q, k, v = (\n"
            "    ({x} @ kernel).view({batch}, {steps}, {heads}, {depth}).transpose(1, 2)\n"
            "    for kernel in ({query}, {key}, {value})\n"
            ")\n"
            "read = F.scaled_dot_product_attention("
            "q, k, v, is_causal={causal}, scale={factor})\n"
            "{y} = read.transpose(1, 2).flatten(2) @ {output}",
            when=lambda names: names["fill"] == NEVER or not names["causal"],
        ),
    ],
}

FORMS = joined(HANDWRITTEN, NATIVE, common_forms(OPERATIONS))


def _by_torch(names: Mapping[str, Any]) -> bool:
    return names["usual"] and names["width"] == names["features"]


def _write(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = ["import math", "", "import torch", "from torch import nn"]
    lines += ["from torch.nn import functional as F", "", "", "class Model(nn.Module):"]
    lines += ["    def __init__(self):", "        super().__init__()"]
    for piece in pieces:
        made = [f"self.{piece.node.name} = {piece.layer}"] if piece.layer else []
        made += [_parameter(weight) for weight in piece.weights if not weight.of_layer]
        lines += [f"        {line}" for line in tag(made, piece.node)]
    lines += ["", "    def forward(self, x):"]
    return "\n".join([*lines, *body(network, pieces), ""])


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
        target = reduce(getattr, weight.attribute.split("."), owner)
        assert target.shape == weight.value.shape, weight
        target.data.copy_(torch.tensor(weight.value))
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
