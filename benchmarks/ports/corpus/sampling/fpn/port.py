"""The feature pyramid in torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def conv_gn(n_in, n_out, stride=1, groups=4):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False),
        nn.GroupNorm(groups, n_out),
        nn.ReLU(inplace=True),
    )


class PyramidNet(nn.Module):
    def __init__(self, n_classes=3, width=8, channels=(8, 12, 16)):
        super().__init__()
        self.encoder = nn.ModuleList()
        n_in = 3
        for i, n_out in enumerate(channels):
            self.encoder.append(conv_gn(n_in, n_out, stride=1 if i == 0 else 2))
            n_in = n_out
        self.lateral = nn.ModuleList([nn.Conv2d(c, width, 1) for c in channels])
        self.smooth = nn.ModuleList([conv_gn(width, width) for _ in channels])
        self.head = nn.Conv2d(width, n_classes, 1)

    def upsample(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest")

    def top_down(self, features):
        levels = [self.lateral[-1](features[-1])]
        for feature, lateral in zip(features[-2::-1], list(self.lateral)[-2::-1]):
            above = self.upsample(levels[0])
            levels.insert(0, lateral(feature) + above)
        return levels

    def forward(self, x):
        features = []
        for stage in self.encoder:
            x = stage(x)
            features.append(x)
        levels = self.top_down(features)
        levels = [smooth(level) for smooth, level in zip(self.smooth, levels)]
        merged = levels[-1]
        for level in levels[-2::-1]:
            merged = level + self.upsample(merged)
        mask = torch.sigmoid(self.head(merged))
        pooled = [level.mean(dim=(2, 3)) for level in levels]
        return mask, torch.cat(pooled, dim=1)


def make():
    torch.manual_seed(0)
    return PyramidNet()


def _put(parameter, array):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.array(array)))


def _conv(to, link):
    _put(to.weight, link.W.array)
    if to.bias is not None:
        _put(to.bias, link.b.array)


def _conv_gn(to, link):
    _conv(to[0], link.conv)
    _put(to[1].weight, link.norm.gamma.array)
    _put(to[1].bias, link.norm.beta.array)


def load(model, reference):
    for i in range(3):
        _conv_gn(model.encoder[i], getattr(reference, f"c{i + 1}"))
        _conv(model.lateral[i], getattr(reference, f"lat{i + 1}"))
        _conv_gn(model.smooth[i], getattr(reference, f"smooth{i + 1}"))
    _conv(model.head, reference.head)
