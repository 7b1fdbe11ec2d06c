"""Glow steps: squeeze, actnorm, invertible 1x1 conv, affine coupling."""
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
C, HID, STEPS = 8, 12, 2


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = nn.Parameter(torch.randn(1, C, 1, 1) * 0.3)
        self.shift = nn.Parameter(torch.randn(1, C, 1, 1) * 0.3)
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(C, C))[0] + 0.1 * torch.randn(C, C))
        self.net = nn.Sequential(nn.Conv2d(C // 2, HID, 3, padding=1), nn.ReLU(), nn.Conv2d(HID, HID, 1), nn.ReLU(), nn.Conv2d(HID, C, 3, padding=1))

    def forward(self, x, logdet):
        pixels = x.shape[2] * x.shape[3]
        x = (x + self.shift) * torch.exp(self.log_scale)
        logdet = logdet + pixels * self.log_scale.sum()
        x = F.conv2d(x, self.weight[:, :, None, None])
        logdet = logdet + pixels * torch.linalg.slogdet(self.weight)[1]
        a, b = x.chunk(2, dim=1)
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.sigmoid(s + 2.0)
        b = (b + t) * s
        logdet = logdet + torch.log(s).sum(dim=(1, 2, 3))
        return torch.cat([a, b], dim=1), logdet


class Glow(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Step() for _ in range(STEPS)])

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).reshape(b, c * 4, h // 2, w // 2)
        logdet = torch.zeros(b)
        for step in self.steps:
            x, logdet = step(x, logdet)
        prior = (-0.5 * x.pow(2) - 0.5 * math.log(2 * math.pi)).sum(dim=(1, 2, 3))
        return x, (prior + logdet) / (math.log(2) * c * h * w)


def make():
    torch.manual_seed(6)
    return Glow()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, 2, 10, 10)).astype("float32")
