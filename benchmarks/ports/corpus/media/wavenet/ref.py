"""WaveNet: a gated dilated causal stack with a local skip sum."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
R, S, K, DIL, Q = 16, 24, 2, (1, 2, 4, 8), 32


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.filter = nn.Conv1d(R, R, K, dilation=d)
        self.gate = nn.Conv1d(R, R, K, dilation=d)
        self.res = nn.Conv1d(R, R, 1)
        self.skip = nn.Conv1d(R, S, 1)

    def forward(self, x):
        p = F.pad(x, ((K - 1) * self.d, 0))
        z = torch.tanh(self.filter(p)) * torch.sigmoid(self.gate(p))
        return x + self.res(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(Q, R)
        self.layers = nn.ModuleList(Layer(d) for d in DIL)
        self.post1 = nn.Conv1d(S, S, 1)
        self.post2 = nn.Conv1d(S, Q, 1)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        total = 0
        for layer in self.layers:
            x, s = layer(x)
            total = total + s
        y = F.relu(self.post1(F.relu(total)))
        return F.log_softmax(self.post2(y), dim=1)


def make():
    torch.manual_seed(2)
    return WaveNet().eval()


def inputs(seed):
    return np.random.default_rng(seed).integers(0, Q, (4, 40))
