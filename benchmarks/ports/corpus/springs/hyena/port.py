"""Hyena as plain functions over a dict of parameters, with direct causal convolutions (PyTorch)."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
D, SEQ, ORDER, BLOCKS = 8, 12, 3, 2
EMB, HID = 5, 10
CH = D * (ORDER - 1)
WIDE = D * (ORDER + 1)


def shapes():
    s = {}
    for i in range(BLOCKS):
        s.update({"%d/%s" % (i, k): v for k, v in {
            "ln1_g": (D,), "ln1_b": (D,), "in_w": (WIDE, D), "in_b": (WIDE,), "short_w": (WIDE, 1, 3),
            "short_b": (WIDE,), "skip": (CH,), "f0_w": (HID, EMB), "f0_b": (HID,), "freq": (HID,),
            "f1_w": (HID, HID), "f1_b": (HID,), "f2_w": (CH, HID), "out_w": (D, D), "out_b": (D,),
            "ln2_g": (D,), "ln2_b": (D,), "fc1_w": (2 * D, D), "fc1_b": (2 * D,),
            "fc2_w": (D, 2 * D), "fc2_b": (D,)}.items()})
    s.update({"ln_g": (D,), "ln_b": (D,)})
    return s


def positions(n):
    t = torch.linspace(0, 1, n).unsqueeze(1)
    bands = (EMB - 1) // 2
    f = torch.linspace(1e-4, bands - 1, bands)
    ang = 2 * math.pi * torch.arange(n).unsqueeze(1) / n * f
    return t, torch.cat([t, torch.cos(ang), -torch.sin(ang)], dim=1)


def long_filters(p, n):
    t, z = positions(n)
    h = torch.sin(p["freq"] * F.linear(z, p["f0_w"], p["f0_b"]))
    h = torch.sin(p["freq"] * F.linear(h, p["f1_w"], p["f1_b"]))
    h = F.linear(h, p["f2_w"])
    rate = torch.linspace(-math.log(1e-2) / 1.5, -math.log(1e-2) / 0.3, CH)
    h = h * (torch.exp(-t * rate) + 0.05)
    return h.t().reshape(D, ORDER - 1, n)


def causal_conv(v, k, skip):
    n = v.shape[-1]
    y = F.conv1d(F.pad(v, (n - 1, 0)), k.flip(-1).unsqueeze(1), groups=D)
    return y + v * skip.unsqueeze(-1)


def hyena(p, u):
    n = u.shape[1]
    z = F.linear(u, p["in_w"], p["in_b"]).transpose(1, 2)
    z = F.conv1d(F.pad(z, (2, 0)), p["short_w"], p["short_b"], groups=WIDE)
    gates = list(z.chunk(ORDER + 1, dim=1))
    v = gates.pop()
    k = long_filters(p, n)
    skip = p["skip"].reshape(D, ORDER - 1)
    for o in range(ORDER - 1):
        v = causal_conv(v * gates.pop(), k[:, o], skip[:, o])
    y = (gates.pop() * v).transpose(1, 2)
    return F.linear(y, p["out_w"], p["out_b"])


def block(p, x):
    x = x + hyena(p, F.layer_norm(x, (D,), p["ln1_g"], p["ln1_b"]))
    h = F.layer_norm(x, (D,), p["ln2_g"], p["ln2_b"])
    h = F.gelu(F.linear(h, p["fc1_w"], p["fc1_b"]), approximate="tanh")
    return x + F.linear(h, p["fc2_w"], p["fc2_b"])


class Hyena(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({k.replace("/", "_"): nn.Parameter(torch.randn(s) * 0.3)
                                   for k, s in shapes().items()})

    def part(self, i):
        return {k[2:]: v for k, v in self.p.items() if k.startswith("%d_" % i)}

    def forward(self, x):
        for i in range(BLOCKS):
            x = block(self.part(i), x)
        return F.layer_norm(x, (D,), self.p["ln_g"], self.p["ln_b"])


def make():
    torch.manual_seed(18)
    return Hyena().eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, SEQ, D).astype("float32"),)


def load(ported, original):
    s = original.state_dict()
    names = {"ln1_g": "norm1.weight", "ln1_b": "norm1.bias", "in_w": "mixer.in_proj.weight",
             "in_b": "mixer.in_proj.bias", "short_w": "mixer.short_filter.weight",
             "short_b": "mixer.short_filter.bias", "skip": "mixer.filter_fn.bias",
             "f0_w": "mixer.filter_fn.implicit_filter.0.weight", "f0_b": "mixer.filter_fn.implicit_filter.0.bias",
             "freq": "mixer.filter_fn.implicit_filter.1.freq", "f1_w": "mixer.filter_fn.implicit_filter.2.weight",
             "f1_b": "mixer.filter_fn.implicit_filter.2.bias", "f2_w": "mixer.filter_fn.implicit_filter.4.weight",
             "out_w": "mixer.out_proj.weight", "out_b": "mixer.out_proj.bias", "ln2_g": "norm2.weight",
             "ln2_b": "norm2.bias", "fc1_w": "fc1.weight", "fc1_b": "fc1.bias", "fc2_w": "fc2.weight",
             "fc2_b": "fc2.bias"}
    for k, t in ported.p.items():
        if k in ("ln_g", "ln_b"):
            a = s["norm.weight" if k == "ln_g" else "norm.bias"]
        else:
            a = s["layers.%s.%s" % (k[0], names[k[2:]])]
        t.data.copy_(a.reshape(t.shape))
