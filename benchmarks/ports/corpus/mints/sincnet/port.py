"""SincNet, functional: one dict of parameters, filters from torch.sinc."""
import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
RATE, KERNEL, MIN_LOW, MIN_BAND = 8000, 31, 50.0, 50.0


def window(size):
    n = torch.linspace(0, size / 2 - 1, size // 2)
    half = 0.54 - 0.46 * torch.cos(2 * math.pi * n / size)
    return torch.cat([half, torch.ones(1), half.flip(0)])


def sinc_filters(low_hz, band_hz):
    t = (torch.arange(KERNEL) - KERNEL // 2) / RATE
    low = MIN_LOW + low_hz.abs()
    high = (low + MIN_BAND + band_hz.abs()).clamp(MIN_LOW, RATE / 2)
    ideal = 2 * high * torch.sinc(2 * high * t) - 2 * low * torch.sinc(2 * low * t)
    return (ideal * window(KERNEL) / (2 * (high - low))).unsqueeze(1)


def layer_norm(p, name, x, eps=1e-6):
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt()
    return p[name + "_gamma"] * centred / (std + eps) + p[name + "_beta"]


def act(x):
    return F.leaky_relu(x, 0.2)


def forward(p, x):
    x = layer_norm(p, "ln0", x)[:, None]
    x = F.conv1d(x, sinc_filters(p["low_hz"], p["band_hz"])).abs()
    x = act(layer_norm(p, "ln1", F.max_pool1d(x, 3)))
    x = F.conv1d(x, p["conv_w"], p["conv_b"])
    x = act(layer_norm(p, "ln2", F.max_pool1d(x, 2)))
    x = F.linear(x.flatten(1), p["fc_w"], p["fc_b"])
    x = F.batch_norm(x, p["bn_mean"], p["bn_var"], p["bn_w"], p["bn_b"])
    return F.linear(act(x), p["out_w"], p["out_b"]).log_softmax(-1)


def make():
    torch.manual_seed(5)
    shapes = dict(
        ln0_gamma=[120], ln0_beta=[120], low_hz=[6, 1], band_hz=[6, 1], ln1_gamma=[30], ln1_beta=[30],
        conv_w=[5, 6, 5], conv_b=[5], ln2_gamma=[13], ln2_beta=[13], fc_w=[12, 65], fc_b=[12],
        bn_mean=[12], bn_var=[12], bn_w=[12], bn_b=[12], out_w=[5, 12], out_b=[5],
    )
    params = {k: nn.Parameter(torch.randn(s) * 0.3, requires_grad=k not in ("bn_mean", "bn_var")) for k, s in shapes.items()}
    params["low_hz"].data.uniform_(30, 2000)
    params["band_hz"].data.uniform_(100, 1000)
    params["bn_var"].data.uniform_(0.5, 2)
    return functools.partial(forward, params)


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(4, 120)).astype("float32"),)


def load(ported, original):
    p, o = ported.args[0], original
    source = dict(
        low_hz=o.sinc.low_hz_, band_hz=o.sinc.band_hz_, conv_w=o.conv.weight, conv_b=o.conv.bias,
        fc_w=o.fc.weight, fc_b=o.fc.bias, bn_mean=o.bn.running_mean, bn_var=o.bn.running_var,
        bn_w=o.bn.weight, bn_b=o.bn.bias, out_w=o.out.weight, out_b=o.out.bias,
    )
    for name in ("ln0", "ln1", "ln2"):
        source[name + "_gamma"] = getattr(o, name).gamma
        source[name + "_beta"] = getattr(o, name).beta
    for k, v in source.items():
        p[k].data.copy_(v.data)
