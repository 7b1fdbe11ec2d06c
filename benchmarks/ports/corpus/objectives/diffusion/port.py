"""The same step, functional: a flat dict of parameters, group norm and schedule written out."""

import math

import torch
from torch import nn

FRAMEWORK = "torch"
MODE = "train"
STEPS, TIME, WIDTH = 50, 8, 4


def schedule():
    def f(s):
        return math.cos((s / STEPS + 0.008) / 1.008 * math.pi / 2) ** 2

    bars, bar = [], 1.0
    for s in range(STEPS):
        bar *= 1 - min(1 - f(s + 1) / f(s), 0.999)
        bars.append(bar)
    return torch.tensor(bars)


def group_norm(x, weight, bias, groups=2, eps=1e-5):
    b, c, h, w = x.shape
    y = x.reshape(b, groups, -1)
    var, mean = torch.var_mean(y, dim=-1, correction=0, keepdim=True)
    y = ((y - mean) / (var + eps).sqrt()).reshape(b, c, h, w)
    return y * weight.view(1, c, 1, 1) + bias.view(1, c, 1, 1)


def swish(x):
    return x * torch.sigmoid(x)


class FunctionalDDPM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bars = schedule()
        shapes = {"time.0": (16, 8), "time.2": (8, 16), "out": (2, WIDTH, 1, 1)}
        for name, cin, cout in (("enter", 2, 4), ("middle", 4, 8), ("leave", 12, 4)):
            shapes[f"{name}.conv1"] = (cout, cin, 3, 3)
            shapes[f"{name}.conv2"] = (cout, cout, 3, 3)
            shapes[f"{name}.norm1"] = shapes[f"{name}.norm2"] = (cout,)
            shapes[f"{name}.film"] = (2 * cout, TIME)
            shapes[f"{name}.shortcut"] = (cout, cin, 1, 1)
        self.w, self.b = nn.ParameterDict(), nn.ParameterDict()
        for name, shape in shapes.items():
            key = name.replace(".", "_")
            self.w[key] = nn.Parameter(torch.randn(shape) * 0.1)
            self.b[key] = nn.Parameter(torch.zeros(shape[0]))

    def standard_conv(self, x, key):
        w = self.w[key].flatten(1)
        w = w - w.mean(1, keepdim=True)
        w = w / torch.sqrt(w.pow(2).mean(1, keepdim=True) + 1e-5)
        return torch.conv2d(x, w.view_as(self.w[key]), self.b[key], padding=1)

    def linear(self, x, key):
        return torch.addmm(self.b[key], x, self.w[key].t())

    def block(self, x, emb, name):
        film = self.linear(swish(emb), f"{name}_film")
        c = film.shape[1] // 2
        h = self.standard_conv(x, f"{name}_conv1")
        h = group_norm(h, self.w[f"{name}_norm1"], self.b[f"{name}_norm1"])
        h = h + h * film[:, :c, None, None] + film[:, c:, None, None]
        h = torch.dropout(swish(h), 0.1, self.training)
        h = self.standard_conv(h, f"{name}_conv2")
        h = swish(group_norm(h, self.w[f"{name}_norm2"], self.b[f"{name}_norm2"]))
        return h + torch.conv2d(x, self.w[f"{name}_shortcut"], self.b[f"{name}_shortcut"])

    def embed(self, t):
        k = torch.arange(TIME // 2)
        angles = t.unsqueeze(1) * torch.pow(10000.0, -k / (TIME // 2 - 1))
        wave = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        return self.linear(swish(self.linear(wave, "time_0")), "time_2")

    def forward(self, x0, t):
        eps = torch.randn(x0.shape)
        bar = torch.index_select(self.bars, 0, t)
        a, s = (g.view(-1, 1, 1, 1) for g in (torch.sqrt(bar), torch.sqrt(1 - bar)))
        xt = a * x0 + s * eps
        emb = self.embed(t)
        skip = self.block(xt, emb, "enter")
        b, c, h, w = skip.shape
        small = skip.view(b, c, h // 2, 2, w // 2, 2).mean(dim=(3, 5))
        small = self.block(small, emb, "middle")
        large = small.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        last = self.block(torch.cat([skip, large], 1), emb, "leave")
        v = torch.conv2d(last, self.w["out"], self.b["out"])
        error = (v - (a * eps - s * x0)).square().flatten(1).mean(1)
        weight = torch.minimum(bar, 5.0 * (1 - bar))
        return weight * error, torch.clamp(a * xt - s * v, -2.0, 2.0)


def make():
    torch.manual_seed(0)
    return FunctionalDDPM().train()


def load(net, reference):
    state = reference.state_dict()
    with torch.no_grad():
        for key in net.w:
            name = key.replace("time_", "time.mlp.").replace("_", ".")
            net.w[key].copy_(state[f"{name}.weight"])
            net.b[key].copy_(state[f"{name}.bias"])
