"""Tiny ConvNeXt classifier (PyTorch reference)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = super().forward(x)
        return x.permute(0, 3, 1, 2)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x):
        shortcut = x
        x = self.dwconv(x).permute(0, 2, 3, 1)
        x = self.pwconv2(F.gelu(self.pwconv1(self.norm(x))))
        x = self.gamma * x
        return shortcut + x.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, in_chans=3, dims=(8, 16), depths=(2, 2), num_classes=6):
        super().__init__()
        self.downsample_layers = nn.ModuleList()
        self.downsample_layers.append(
            nn.Sequential(nn.Conv2d(in_chans, dims[0], 4, stride=4), LayerNorm2d(dims[0], eps=1e-6)))
        for a, b in zip(dims[:-1], dims[1:]):
            self.downsample_layers.append(
                nn.Sequential(LayerNorm2d(a, eps=1e-6), nn.Conv2d(a, b, 2, stride=2)))
        self.stages = nn.ModuleList(
            [nn.Sequential(*[Block(d) for _ in range(n)]) for d, n in zip(dims, depths)])
        self.norm = nn.LayerNorm(dims[-1], eps=1e-6)
        self.head = nn.Linear(dims[-1], num_classes)

    def forward(self, x):
        for down, stage in zip(self.downsample_layers, self.stages):
            x = stage(down(x))
        return self.head(self.norm(x.mean([-2, -1])))


def make():
    g = torch.Generator().manual_seed(11)
    net = ConvNeXt()
    with torch.no_grad():
        for name, p in net.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if name.endswith("gamma"):
                p.copy_(0.8 + 0.2 * r)
            elif p.ndim == 1 and name.endswith("weight"):
                p.copy_(1.0 + 0.2 * r)
            elif p.ndim == 1:
                p.copy_(0.1 * r)
            else:
                p.copy_(r / np.sqrt(p[0].numel()))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (4, 3, 32, 32)).astype(np.float32)
