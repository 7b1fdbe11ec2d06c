"""SchNet (Schuett et al. 2017): continuous-filter convolutions over padded molecules."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
ATOMS, SPECIES, FEATURES, FILTERS, BASIS, BLOCKS = 7, 10, 16, 20, 12, 2
CUTOFF = 4.0


def shifted_softplus(x):
    return F.softplus(x) - math.log(2.0)


class Interaction(nn.Module):
    def __init__(self):
        super().__init__()
        self.in2f = nn.Linear(FEATURES, FILTERS, bias=False)
        self.filter1 = nn.Linear(BASIS, FILTERS)
        self.filter2 = nn.Linear(FILTERS, FILTERS)
        self.f2out = nn.Linear(FILTERS, FEATURES)
        self.dense = nn.Linear(FEATURES, FEATURES)

    def forward(self, x, rbf, envelope):
        w = self.filter2(shifted_softplus(self.filter1(rbf)))
        w = w * envelope.unsqueeze(-1)
        neighbours = self.in2f(x)[:, None, :, :]
        m = (neighbours * w).sum(dim=2)
        return self.dense(shifted_softplus(self.f2out(m)))


class SchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SPECIES, FEATURES, padding_idx=0)
        self.interactions = nn.ModuleList([Interaction() for _ in range(BLOCKS)])
        self.readout1 = nn.Linear(FEATURES, FEATURES // 2)
        self.readout2 = nn.Linear(FEATURES // 2, 1)
        self.register_buffer("centres", torch.linspace(0.0, CUTOFF, BASIS))
        self.gamma = 0.5 / (CUTOFF / (BASIS - 1)) ** 2

    def forward(self, numbers, positions):
        real = (numbers > 0).float()
        offset = positions[:, None] - positions[:, :, None]
        distance = torch.sqrt((offset**2).sum(-1))
        rbf = torch.exp(-self.gamma * (distance.unsqueeze(-1) - self.centres) ** 2)
        envelope = 0.5 * (torch.cos(math.pi * distance / CUTOFF) + 1) * (distance < CUTOFF)
        pairs = real[:, :, None] * real[:, None, :]
        pairs = pairs * (1 - torch.eye(numbers.shape[1]))
        envelope = envelope * pairs
        x = self.embedding(numbers)
        for interaction in self.interactions:
            x = x + interaction(x, rbf, envelope)
        atomwise = self.readout2(shifted_softplus(self.readout1(x))).squeeze(-1)
        return (atomwise * real).sum(dim=1)


def make(seed=0):
    torch.manual_seed(seed)
    net = SchNet()
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, std=0.2)
        elif "embedding" not in name:
            p.data *= 2.0
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.choice([1, 6, 7, 8], size=(5, ATOMS))
    sizes = rng.integers(4, ATOMS + 1, size=5)
    numbers[np.arange(ATOMS) >= sizes[:, None]] = 0
    positions = rng.normal(size=(5, ATOMS, 3)) * 1.3
    positions[numbers == 0] = 0
    return numbers.astype("int64"), positions.astype("float32")
