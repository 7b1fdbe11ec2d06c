"""HRNet (Sun et al. 2019), two resolutions, keypoint heatmaps."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
CH, JOINTS, MODULES = (6, 10), 4, 2


def conv_bn(cin, cout, k, stride=1, relu=True):
    mods = [nn.Conv2d(cin, cout, k, stride, k // 2, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*mods + ([nn.ReLU(inplace=True)] if relu else []))


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = out + residual
        return self.relu(out)


class HighResolutionModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([BasicBlock(c) for c in CH])
        self.up = conv_bn(CH[1], CH[0], 1, relu=False)
        self.down = conv_bn(CH[0], CH[1], 3, stride=2, relu=False)

    def forward(self, xs):
        xs = [b(x) for b, x in zip(self.branches, xs)]
        y0 = xs[0] + F.interpolate(self.up(xs[1]), scale_factor=2, mode="nearest")
        y1 = self.down(xs[0]) + xs[1]
        return [F.relu(y0), F.relu(y1)]


class HRNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, stride=2)
        self.trans0 = conv_bn(8, CH[0], 3)
        self.trans1 = conv_bn(8, CH[1], 3, stride=2)
        self.stage = nn.ModuleList([HighResolutionModule() for _ in range(MODULES)])
        self.last = conv_bn(sum(CH), 12, 1)
        self.final = nn.Conv2d(12, JOINTS, 1)

    def forward(self, x):
        x = self.stem(x)
        xs = [self.trans0(x), self.trans1(x)]
        for module in self.stage:
            xs = module(xs)
        h, w = xs[0].shape[2:]
        low = F.interpolate(xs[1], size=(h, w), mode="bilinear", align_corners=True)
        return self.final(self.last(torch.cat([xs[0], low], dim=1)))


def make():
    g = torch.Generator().manual_seed(17)
    m = HRNet()
    with torch.no_grad():
        for n, p in list(m.named_parameters()) + list(m.named_buffers()):
            if p.ndim == 0:
                continue
            z = torch.randn(p.shape, generator=g)
            if n.endswith("running_var"):
                p.copy_(0.6 + torch.rand(p.shape, generator=g))
            elif p.ndim == 4:
                p.copy_(z * 1.3 / math.sqrt(p[0].numel()))
            else:
                p.copy_((1.0 if n.endswith("weight") else 0.0) + 0.2 * z)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 16, 12).astype("float32"),)
