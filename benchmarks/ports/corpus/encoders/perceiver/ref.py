"""Perceiver: latents cross-attend to a padded set (nn.MultiheadAttention)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, M, C, L, D, H = 4, 14, 16, 8, 32, 4


class Block(nn.Module):
    def __init__(self, ctx):
        super().__init__()
        self.nq, self.nm = nn.LayerNorm(D), nn.LayerNorm(D)
        self.nk = nn.LayerNorm(ctx)
        self.att = nn.MultiheadAttention(D, H, kdim=ctx, vdim=ctx, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

    def forward(self, z, ctx, padding=None):
        k = self.nk(ctx)
        z = z + self.att(self.nq(z), k, k, key_padding_mask=padding, need_weights=False)[0]
        return z + self.mlp(self.nm(z))


class Perceiver(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(L, D) * 0.5)
        self.cross, self.self_ = Block(C), Block(D)
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, 7)

    def forward(self, x, valid):
        z = self.latents.expand(x.shape[0], L, D)
        z = self.cross(z, x, valid == 0)
        z = self.self_(z, z)
        return self.head(self.norm(z).mean(1))


def make():
    torch.manual_seed(5)
    ref = Perceiver()
    with torch.no_grad():
        for n, p in ref.named_parameters():
            if n.endswith("bias") or ".n" in n:
                p.add_(torch.randn_like(p) * 0.1)
    ref.eval()
    return ref


def inputs(seed):
    r = np.random.default_rng(seed + 5)
    x = r.normal(size=(B, M, C)).astype("float32")
    valid = (np.arange(M)[None] < np.array([14, 9, 6, 11])[:, None]).astype("float32")
    return x, valid
