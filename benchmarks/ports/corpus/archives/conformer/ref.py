"""A Conformer block."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, HEADS, FF, K = 16, 4, 40, 5


class FeedForward(nn.Sequential):
    def __init__(self):
        super().__init__(nn.LayerNorm(D), nn.Linear(D, FF), nn.SiLU(), nn.Linear(FF, D))


class ConvModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.expand = nn.Conv1d(D, 2 * D, 1)
        self.depthwise = nn.Conv1d(D, D, K, padding=K // 2, groups=D)
        self.bn = nn.BatchNorm1d(D)
        self.project = nn.Conv1d(D, D, 1)

    def forward(self, x):
        y = self.norm(x).transpose(1, 2)
        y = nn.functional.glu(self.expand(y), dim=1)
        y = nn.functional.silu(self.bn(self.depthwise(y)))
        return self.project(y).transpose(1, 2)


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff1, self.ff2 = FeedForward(), FeedForward()
        self.norm = nn.LayerNorm(D)
        self.attention = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.conv = ConvModule()
        self.final = nn.LayerNorm(D)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.final(x)


def make():
    torch.manual_seed(4)
    net = Conformer()
    net.conv.bn.running_mean.normal_(0, 0.2)
    net.conv.bn.running_var.uniform_(0.1, 0.8)
    for m in net.modules():
        if isinstance(m, (nn.LayerNorm, nn.BatchNorm1d)):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.2)
    nn.init.normal_(net.attention.in_proj_bias, 0, 0.2)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, 9, D)).astype("float32")
