"""RCAN x2 in PyTorch, mostly nn.Sequential."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def conv3(i, o):
    return nn.Conv2d(i, o, 3, padding=1)


class Residual(nn.Module):
    def __init__(self, *body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return self.body(x) + x


class CALayer(nn.Module):
    def __init__(self, ch, r=3):
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(ch, ch // r, 1), nn.ReLU(),
            nn.Conv2d(ch // r, ch, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


class BlockShuffle(nn.Module):
    """Chainer's depth2space: the block offsets are the slow part of the channel axis."""

    def __init__(self, r):
        super().__init__()
        self.r = r

    def forward(self, x):
        b, c, h, w = x.shape
        r = self.r
        x = x.reshape(b, r, r, c // (r * r), h, w)
        x = x.permute(0, 3, 4, 1, 5, 2)
        return x.reshape(b, c // (r * r), h * r, w * r)


def rcab(ch):
    return Residual(conv3(ch, ch), nn.ReLU(), conv3(ch, ch), CALayer(ch))


class RCAN(nn.Module):
    def __init__(self, ch=12, groups=2, blocks=2):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1))
        self.head = conv3(3, ch)
        trunk = [Residual(*[rcab(ch) for _ in range(blocks)], conv3(ch, ch)) for _ in range(groups)]
        self.trunk = Residual(*trunk, conv3(ch, ch))
        self.expand = conv3(ch, 4 * ch)
        self.shuffle = BlockShuffle(2)
        self.tail = conv3(ch, 3)

    def forward(self, lr):
        x = lr - self.mean
        up = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        feat = self.head(x)
        feat = self.trunk(feat)
        hr = self.tail(self.shuffle(self.expand(feat)))
        return hr + up + self.mean


def make(seed=9):
    torch.manual_seed(seed)
    return RCAN().eval()


def inputs(seed=0):
    r = np.random.RandomState(seed)
    yy, xx = np.mgrid[:10, :12] / 12.0
    img = [[0.5 + 0.3 * np.sin(r.uniform(1, 9) * xx + r.uniform(1, 9) * yy + r.uniform(0, 6))
            for _ in range(3)] for _ in range(4)]
    return (np.clip(np.array(img) + 0.05 * r.normal(size=(4, 3, 10, 12)), 0, 1).astype("float32"),)


@torch.no_grad()
def load(ported, original):
    def put(conv, link):
        conv.weight.copy_(torch.from_numpy(link.W.array))
        conv.bias.copy_(torch.from_numpy(link.b.array))

    put(ported.head, original.head)
    put(ported.expand, original.expand)
    put(ported.tail, original.tail)
    put(ported.trunk.body[-1], original.body)
    for dst, src in zip(ported.trunk.body, original.groups):
        put(dst.body[-1], src.tail)
        for block, b in zip(dst.body, src.blocks):
            put(block.body[0], b.conv1)
            put(block.body[2], b.conv2)
            put(block.body[3].gate[1], b.ca.down)
            put(block.body[3].gate[3], b.ca.up)
