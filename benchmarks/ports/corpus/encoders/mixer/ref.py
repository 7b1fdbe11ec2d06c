"""MLP-Mixer classifier."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, P, N, D = 4, 4, 16, 16  # 16x16 images, 16 tokens, 16 channels


class Mlp(nn.Sequential):
    def __init__(self, n, hidden):
        super().__init__(nn.Linear(n, hidden), nn.GELU(), nn.Linear(hidden, n))


class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.tokens, self.channels = Mlp(N, 24), Mlp(D, 40)

    def forward(self, x):
        x = x + self.tokens(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.n2(x))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, D, P, P)
        self.blocks = nn.ModuleList([MixerBlock(), MixerBlock()])
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, 10)

    def forward(self, img):
        x = self.stem(img).flatten(2).transpose(1, 2)
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x).mean(1))


def make():
    torch.manual_seed(6)
    ref = Mixer()
    with torch.no_grad():
        for n, p in ref.named_parameters():
            if "n1" in n or "n2" in n or "norm" in n:
                p.add_(torch.randn_like(p) * 0.2)
    return ref


def inputs(seed):
    return np.random.default_rng(seed + 6).normal(size=(B, 3, 16, 16)).astype("float32")
