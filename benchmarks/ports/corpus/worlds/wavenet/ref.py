"""WaveNet: dilated causal gated stack with global conditioning. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
Q, RES, SKIP, COND = 32, 12, 16, 6


class Block(nn.Module):
    def __init__(self, dilation):
        super().__init__()
        self.pad = dilation
        self.dilated = nn.Conv1d(RES, 2 * RES, 2, dilation=dilation)
        self.cond = nn.Linear(COND, 2 * RES, bias=False)
        self.res = nn.Conv1d(RES, RES, 1)
        self.skip = nn.Conv1d(RES, SKIP, 1)

    def forward(self, x, g):
        z = self.dilated(F.pad(x, (self.pad, 0))) + self.cond(g).unsqueeze(-1)
        filt, gate = z.chunk(2, dim=1)
        y = torch.tanh(filt) * torch.sigmoid(gate)
        return x + self.res(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(Q, RES)
        self.front = nn.Conv1d(RES, RES, 2)
        self.blocks = nn.ModuleList([Block(2**i) for _ in range(2) for i in range(3)])
        self.post1 = nn.Conv1d(SKIP, SKIP, 1)
        self.post2 = nn.Conv1d(SKIP, Q, 1)

    def forward(self, codes, speaker):
        x = self.embed(codes).transpose(1, 2)
        x = self.front(F.pad(x, (1, 0)))
        skips = 0
        for block in self.blocks:
            x, skip = block(x, speaker)
            skips = skips + skip
        y = self.post1(F.relu(skips))
        return self.post2(F.relu(y)).transpose(1, 2)


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(4)
    return rough(WaveNet())


def inputs(seed):
    g = np.random.default_rng(seed + 4)
    return g.integers(0, Q, (3, 27)).astype("int64"), g.normal(size=(3, COND)).astype("float32")
