"""A Conformer encoder with a CTC head (Gulati et al. 2020), on padded batches."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MEL, DIM, HEADS, KERNEL, VOCAB = 20, 24, 4, 7, 16


def feed_forward(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))


class Convolution(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.expand = nn.Conv1d(dim, 2 * dim, 1)
        self.depthwise = nn.Conv1d(dim, dim, KERNEL, padding=KERNEL // 2, groups=dim)
        self.bn = nn.BatchNorm1d(dim)
        self.project = nn.Conv1d(dim, dim, 1)

    def forward(self, x, padded):
        x = F.glu(self.expand(self.norm(x).transpose(1, 2)), dim=1)
        x = x.masked_fill(padded[:, None], 0.0)
        return self.project(F.silu(self.bn(self.depthwise(x)))).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ff1, self.ff2 = feed_forward(dim), feed_forward(dim)
        self.att_norm = nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, HEADS, batch_first=True)
        self.conv = Convolution(dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, padded):
        x = x + 0.5 * self.ff1(x)
        h = self.att_norm(x)
        x = x + self.att(h, h, h, key_padding_mask=padded, need_weights=False)[0]
        x = x + self.conv(x, padded)
        x = x + 0.5 * self.ff2(x)
        return self.norm(x)


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.subsample = nn.Conv1d(MEL, DIM, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Block(DIM) for _ in range(2))
        self.ctc = nn.Linear(DIM, VOCAB)

    def forward(self, mels, lengths):
        x = F.relu(self.subsample(mels.transpose(1, 2))).transpose(1, 2)
        padded = torch.arange(x.shape[1]) >= (lengths[:, None] + 1) // 2
        for block in self.blocks:
            x = block(x, padded)
        return F.log_softmax(self.ctc(x), -1)


@torch.no_grad()
def make(seed=0):
    net, g = Conformer(), torch.Generator().manual_seed(seed)
    for name, t in net.state_dict().items():
        if t.is_floating_point():
            noise = torch.randn(t.shape, generator=g)
            if "running_var" in name:
                t.copy_(0.5 + noise.abs())
            elif t.ndim > 1:
                t.copy_(noise * t[0].numel() ** -0.5)
            else:
                t.copy_(float(name.endswith("weight")) + 0.2 * noise)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (4, 24, MEL)).astype("float32"), np.array([24, 17, 11, 20])
