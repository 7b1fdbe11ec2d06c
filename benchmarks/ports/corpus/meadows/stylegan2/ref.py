"""StyleGAN2 generator (Karras et al. 2020), small, in torch; noise is an input."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
LATENT, STYLE, CHANNELS = 10, 12, 8


class EqualLinear(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin))
        self.bias = nn.Parameter(torch.randn(cout) * 0.2)
        self.scale = 1 / math.sqrt(cin)

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias)


class ModulatedConv(nn.Module):
    def __init__(self, cin, cout, kernel, demodulate=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, kernel, kernel))
        self.scale = 1 / math.sqrt(cin * kernel * kernel)
        self.affine = EqualLinear(STYLE, cin)
        self.demodulate, self.padding = demodulate, kernel // 2

    def forward(self, x, w):
        batch, cin, height, width = x.shape
        style = (self.affine(w) + 1).view(batch, 1, cin, 1, 1)
        weight = self.scale * self.weight[None] * style
        if self.demodulate:
            norm = torch.rsqrt(weight.pow(2).sum(dim=[2, 3, 4], keepdim=True) + 1e-8)
            weight = weight * norm
        weight = weight.view(-1, cin, *self.weight.shape[2:])
        x = x.reshape(1, batch * cin, height, width)
        out = F.conv2d(x, weight, padding=self.padding, groups=batch)
        return out.view(batch, -1, height, width)


class StyledConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = ModulatedConv(cin, cout, 3)
        self.strength = nn.Parameter(torch.rand(1) + 0.3)
        self.bias = nn.Parameter(torch.randn(1, cout, 1, 1) * 0.2)

    def forward(self, x, w, noise):
        x = self.conv(x, w) + self.strength * noise + self.bias
        return F.leaky_relu(x, 0.2) * math.sqrt(2)


class ToRGB(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.conv = ModulatedConv(cin, 3, 1, demodulate=False)
        self.bias = nn.Parameter(torch.randn(1, 3, 1, 1) * 0.2)

    def forward(self, x, w, skip=None):
        rgb = self.conv(x, w) + self.bias
        return rgb if skip is None else rgb + up(skip)


def up(x):
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [LATENT, STYLE, STYLE, STYLE]
        self.mapping = nn.ModuleList([EqualLinear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.const = nn.Parameter(torch.randn(1, CHANNELS, 4, 4))
        self.first = StyledConv(CHANNELS, CHANNELS)
        self.first_rgb = ToRGB(CHANNELS)
        self.up8, self.conv8 = StyledConv(CHANNELS, CHANNELS), StyledConv(CHANNELS, CHANNELS)
        self.rgb8 = ToRGB(CHANNELS)

    def forward(self, z, noise4, noise8a, noise8b):
        w = z * torch.rsqrt(z.pow(2).mean(dim=1, keepdim=True) + 1e-8)
        for layer in self.mapping:
            w = F.leaky_relu(layer(w), 0.2)
        x = self.const.expand(z.shape[0], -1, -1, -1)
        x = self.first(x, w, noise4)
        image = self.first_rgb(x, w)
        x = self.up8(up(x), w, noise8a)
        x = self.conv8(x, w, noise8b)
        return self.rgb8(x, w, image)


def make(seed=0):
    torch.manual_seed(seed)
    return Generator().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(4, LATENT), (4, 1, 4, 4), (4, 1, 8, 8), (4, 1, 8, 8)]
    return tuple(rng.normal(size=s).astype("float32") for s in shapes)
