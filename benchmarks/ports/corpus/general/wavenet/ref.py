"""WaveNet with mu-law inputs, two stacks of dilated gated convolutions and a mixture-free head."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"

HPARAMS = {
    "bins": 64,
    "residual": 16,
    "gate": 24,
    "skip": 20,
    "layers": 6,
    "stacks": 2,
    "kernel": 3,
    "condition": 5,
}


def mu_law_encode(wave, bins):
    """Companded class of every sample of a wave in [-1, 1]."""
    mu = bins - 1
    compressed = torch.sign(wave) * torch.log1p(mu * wave.abs()) / math.log1p(mu)
    return ((compressed + 1) / 2 * mu + 0.5).long()


class CausalConv1d(nn.Conv1d):
    def __init__(self, cin, cout, kernel, dilation):
        super().__init__(cin, cout, kernel, dilation=dilation)
        self.left = (kernel - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class ResidualLayer(nn.Module):
    def __init__(self, hp, dilation):
        super().__init__()
        self.conv = CausalConv1d(hp["residual"], 2 * hp["gate"], hp["kernel"], dilation)
        self.local = nn.Conv1d(hp["condition"], 2 * hp["gate"], 1, bias=False)
        self.out = nn.Conv1d(hp["gate"], hp["residual"], 1)
        self.skip = nn.Conv1d(hp["gate"], hp["skip"], 1)

    def forward(self, x, condition):
        h = self.conv(x) + self.local(condition)
        a, b = h.chunk(2, dim=1)
        h = torch.tanh(a) * torch.sigmoid(b)
        skip = self.skip(h)
        x = (x + self.out(h)) * math.sqrt(0.5)
        return x, skip


class WaveNet(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.hp = hp
        self.embed = nn.Embedding(hp["bins"], hp["residual"])
        per_stack = hp["layers"] // hp["stacks"]
        self.layers = nn.ModuleList(
            [ResidualLayer(hp, 2 ** (i % per_stack)) for i in range(hp["layers"])]
        )
        self.final1 = nn.Conv1d(hp["skip"], hp["skip"], 1)
        self.final2 = nn.Conv1d(hp["skip"], hp["bins"], 1)

    def upsample(self, condition, length):
        """Frames of the condition, repeated to the rate of the samples."""
        return condition.repeat_interleave(length // condition.shape[2], dim=2)

    def forward(self, wave, condition):
        codes = mu_law_encode(wave, self.hp["bins"])
        x = self.embed(codes).transpose(1, 2)
        condition = self.upsample(condition, wave.shape[1])
        total = 0.0
        for layer in self.layers:
            x, skip = layer(x, condition)
            total = total + skip
        total = total * math.sqrt(1.0 / len(self.layers))
        h = self.final1(F.relu(total))
        return self.final2(F.relu(h))


def make(seed=0):
    torch.manual_seed(seed)
    return WaveNet(HPARAMS).eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 7)
    time = np.arange(32) / 32
    pitch = rng.uniform(1, 4, size=(4, 1))
    wave = 0.6 * np.sin(2 * np.pi * pitch * time) + 0.1 * rng.normal(size=(4, 32))
    wave = np.clip(wave, -0.99, 0.99).astype(np.float32)
    return wave, rng.normal(size=(4, 5, 8)).astype(np.float32)
