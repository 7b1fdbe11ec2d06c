"""WaveNet: gated dilated causal convolutions over mu-law codes, in torch (NCT)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Layer(nn.Module):
    def __init__(self, c, s, d):
        super().__init__()
        self.d = d
        self.filter, self.gate = nn.Conv1d(c, c, 2, dilation=d), nn.Conv1d(c, c, 2, dilation=d)
        self.res, self.skip = nn.Conv1d(c, c, 1), nn.Conv1d(c, s, 1)

    def forward(self, x):
        y = F.pad(x, (self.d, 0))
        z = torch.tanh(self.filter(y)) * torch.sigmoid(self.gate(y))
        return x + self.res(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self, codes=32, c=24, s=24, depth=4):
        super().__init__()
        self.embed = nn.Embedding(codes, c)
        self.stem = nn.Conv1d(c, c, 2)
        self.layers = nn.ModuleList(Layer(c, s, 2**i) for i in range(depth))
        self.out1, self.out2 = nn.Conv1d(s, s, 1), nn.Conv1d(s, codes, 1)

    def forward(self, codes):
        x = self.embed(codes).transpose(1, 2)
        x = self.stem(F.pad(x, (1, 0)))
        total = 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip
        y = self.out2(F.relu(self.out1(F.relu(total))))
        return F.log_softmax(y, dim=1).transpose(1, 2)


def make():
    torch.manual_seed(0)
    return WaveNet().eval()


def inputs(seed):
    return np.random.default_rng(seed + 2).integers(0, 32, (5, 40)).astype("int64")
