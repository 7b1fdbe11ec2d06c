"""Perceiver (Jaegle et al. 2021) over a padded set of entity tokens, with shared repeated blocks."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def fourier_encode(n, bands, max_freq):
    pos = torch.linspace(-1.0, 1.0, n).unsqueeze(-1)
    freqs = torch.linspace(1.0, max_freq / 2, bands)
    x = pos * freqs * math.pi
    return torch.cat([x.sin(), x.cos(), pos], dim=-1)


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.net = nn.Sequential(nn.Linear(dim, dim * mult * 2), GEGLU(), nn.Linear(dim * mult, dim))

    def forward(self, x):
        return self.net(self.norm(x))


class CrossAttend(nn.Module):
    def __init__(self, dim, context_dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.norm_context = nn.LayerNorm(context_dim)
        self.attn = nn.MultiheadAttention(dim, heads, kdim=context_dim, vdim=context_dim, batch_first=True)

    def forward(self, x, context, padding):
        q = self.norm(x)
        context = self.norm_context(context)
        return self.attn(q, context, context, key_padding_mask=padding, need_weights=False)[0]


class SelfAttend(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        y = self.norm(x)
        return self.attn(y, y, y, need_weights=False)[0]


class PerceiverBlock(nn.Module):
    def __init__(self, dim, context_dim, heads):
        super().__init__()
        self.cross = CrossAttend(dim, context_dim, heads)
        self.cross_ff = FeedForward(dim)
        self.latent = SelfAttend(dim, heads)
        self.latent_ff = FeedForward(dim)

    def forward(self, x, context, padding):
        x = self.cross(x, context, padding) + x
        x = self.cross_ff(x) + x
        x = self.latent(x) + x
        x = self.latent_ff(x) + x
        return x


class Perceiver(nn.Module):
    def __init__(self, features=5, bands=3, dim=24, latents=6, heads=4, depth=3, actions=7):
        super().__init__()
        self.bands = bands
        context_dim = features + 2 * bands + 1
        self.latents = nn.Parameter(torch.randn(latents, dim))
        first = PerceiverBlock(dim, context_dim, heads)
        shared = PerceiverBlock(dim, context_dim, heads)
        self.blocks = nn.ModuleList([first] + [shared] * (depth - 1))
        self.norm = nn.LayerNorm(dim)
        self.policy = nn.Linear(dim, actions)
        self.value = nn.Linear(dim, 1)

    def forward(self, tokens, valid):
        b, n, _ = tokens.shape
        pos = fourier_encode(n, self.bands, 8.0).expand(b, -1, -1)
        context = torch.cat([tokens, pos], dim=-1)
        x = self.latents.unsqueeze(0).repeat(b, 1, 1)
        for block in self.blocks:
            x = block(x, context, ~valid)
        x = self.norm(x.mean(dim=1))
        return self.policy(x), self.value(x).squeeze(-1)


def make():
    torch.manual_seed(47)
    model = Perceiver()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                p.add_(0.2 * torch.randn_like(p))
            elif name.endswith("bias"):
                p.copy_(0.2 * torch.randn_like(p))
            elif name.endswith("weight"):
                p.mul_(1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(4, 9, 5)).astype(np.float32)
    lengths = np.array([9, 4, 6, 7]) if seed == 0 else rng.integers(3, 10, 4)
    valid = np.arange(9)[None] < lengths[:, None]
    return tokens, valid
