"""Conditional gated PixelCNN (van den Oord et al. 2016) with masked convolutions."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class MaskedConv2d(nn.Conv2d):
    def __init__(self, c_in, c_out, mask):
        kh, kw = mask.shape
        super().__init__(c_in, c_out, (kh, kw), padding=(kh // 2, kw // 2))
        self.register_buffer("mask", mask[None, None])

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


def vertical(c_in, c_out, k, hide_center):
    mask = torch.ones(k, k)
    mask[k // 2 + 1:] = 0
    if hide_center:
        mask[k // 2] = 0
    return MaskedConv2d(c_in, c_out, mask)


def horizontal(c_in, c_out, k, hide_center):
    mask = torch.ones(1, k)
    mask[0, k // 2 + 1:] = 0
    if hide_center:
        mask[0, k // 2] = 0
    return MaskedConv2d(c_in, c_out, mask)


def gated(x):
    value, gate = x.chunk(2, dim=1)
    return torch.tanh(value) * torch.sigmoid(gate)


class GatedLayer(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv_v = vertical(channels, 2 * channels, 3, hide_center=False)
        self.conv_h = horizontal(channels, 2 * channels, 3, hide_center=False)
        self.v_to_h = nn.Conv2d(2 * channels, 2 * channels, 1)
        self.conv_out = nn.Conv2d(channels, channels, 1)
        self.cond = nn.Embedding(classes, 2 * channels)

    def forward(self, v, h, label):
        cond = self.cond(label)[:, :, None, None]
        v_feat = self.conv_v(v)
        h_feat = self.conv_h(h) + self.v_to_h(v_feat)
        v_out = gated(v_feat + cond)
        h_out = gated(h_feat + cond)
        return v_out, h + self.conv_out(h_out)


class GatedPixelCNN(nn.Module):
    def __init__(self, channels=10, layers=3, classes=5, levels=6):
        super().__init__()
        self.levels = levels
        self.first_v = vertical(1, channels, 5, hide_center=True)
        self.first_h = horizontal(1, channels, 5, hide_center=True)
        self.layers = nn.ModuleList(GatedLayer(channels, classes) for _ in range(layers))
        self.out = nn.Conv2d(channels, levels, 1)

    def forward(self, image, label):
        x = image / (self.levels - 1) * 2 - 1
        v, h = self.first_v(x), self.first_h(x)
        for layer in self.layers:
            v, h = layer(v, h, label)
        return self.out(F.elu(h))


def make(seed=0):
    torch.manual_seed(seed)
    net = GatedPixelCNN()
    for p in net.parameters():
        nn.init.normal_(p, std=0.2 if p.ndim == 1 else p[0].numel() ** -0.5)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 6, size=(4, 1, 9, 9)).astype("float32")
    return image, rng.integers(0, 5, size=4)
