"""Small ConvNeXt-V2 segmenter with pyramid pooling, and its two training losses."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class GRN(nn.Module):
    """Global response normalisation, channels last."""

    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1, 1, 1, dim))
        self.beta = nn.Parameter(torch.zeros(1, 1, 1, dim))

    def forward(self, x):
        gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        nx = gx / (gx.mean(dim=-1, keepdim=True) + 1e-6)
        return self.gamma * (x * nx) + self.beta + x


class LayerNorm2d(nn.Module):
    """Over the channels of NCHW."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.grn = GRN(4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.layer_scale = nn.Parameter(torch.full((dim,), 0.1))

    def forward(self, x):
        y = self.dwconv(x).permute(0, 2, 3, 1)
        y = self.pwconv1(self.norm(y))
        y = self.pwconv2(self.grn(F.gelu(y)))
        return x + (self.layer_scale * y).permute(0, 3, 1, 2)


class Segmenter(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, stride=2, padding=1)
        self.stem_norm = LayerNorm2d(dim)
        self.block1 = Block(dim)
        self.down_norm = LayerNorm2d(dim)
        self.down = nn.Conv2d(dim, 2 * dim, 2, stride=2)
        self.block2 = Block(2 * dim)
        self.squeeze = nn.ModuleList(nn.Conv2d(2 * dim, 4, 1) for _ in (1, 2))
        self.classify = nn.Conv2d(2 * dim + 8, 1, 3, padding=1)

    def forward(self, image, target):
        x = self.block1(self.stem_norm(self.stem(image)))
        x = self.block2(self.down(self.down_norm(x)))
        size = x.shape[-2:]
        pyramid = [x]
        for bins, conv in zip((1, 2), self.squeeze):
            pooled = F.hardswish(conv(F.adaptive_avg_pool2d(x, bins)))
            pyramid.append(F.interpolate(pooled, size=size, mode="bilinear", align_corners=False))
        logits = self.classify(torch.cat(pyramid, dim=1)).squeeze(1)
        return {"logits": logits, "dice": dice(logits, target), "focal": focal(logits, target)}


def dice(logits, target, smooth=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    overlap = (p * t).sum(1)
    return 1 - (2 * overlap + smooth) / (p.pow(2).sum(1) + t.sum(1) + smooth)


def focal(logits, target, alpha=0.25, gamma=2.0):
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p_t = torch.exp(-ce)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return (weight * (1 - p_t) ** gamma * ce).mean(dim=(1, 2))


def make():
    torch.manual_seed(1)
    net = Segmenter().eval()
    for p in net.parameters():
        if p.dim() == 1 or p.shape[0] == 1:
            p.data += 0.3 * torch.randn_like(p)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.normal(size=(3, 3, 16, 16)).astype("float32")
    target = (rng.random((3, 4, 4)) < 0.4).astype("float32")
    return image, target
