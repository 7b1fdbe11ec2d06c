"""Transformer-XL's relative attention with a memory."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
D, H, Q, M, B = 24, 4, 5, 4, 3
DH, K = D // H, Q + M


class RelAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.r = nn.Linear(D, D, bias=False)
        self.o = nn.Linear(D, D, bias=False)
        self.r_w_bias = nn.Parameter(0.5 * torch.randn(H, DH))
        self.r_r_bias = nn.Parameter(0.5 * torch.randn(H, DH))
        self.norm = nn.LayerNorm(D)
        self.ff1, self.ff2 = nn.Linear(D, 48), nn.Linear(48, D)
        self.norm2 = nn.LayerNorm(D)

    @staticmethod
    def shift(x):
        b, h, q, k = x.shape
        x = F.pad(x, (1, 0)).view(b, h, k + 1, q)
        return x[:, :, 1:].reshape(b, h, q, k)

    def forward(self, x, memory):
        b = x.shape[0]
        c = torch.cat([memory, x], dim=1)
        q, k, v = self.qkv(c).chunk(3, dim=-1)
        q = q[:, -Q:].view(b, Q, H, DH)
        k, v = k.reshape(b, K, H, DH), v.reshape(b, K, H, DH)
        pos = torch.arange(K - 1, -1, -1.0, device=x.device)
        freq = 1 / 10000 ** (torch.arange(0, D, 2.0) / D)
        angle = pos[:, None] * freq
        r = self.r(torch.cat([angle.sin(), angle.cos()], dim=-1)).view(K, H, DH)
        ac = torch.einsum("bihd,bjhd->bhij", q + self.r_w_bias, k)
        bd = self.shift(torch.einsum("bihd,jhd->bhij", q + self.r_r_bias, r))
        scores = (ac + bd) / DH**0.5
        mask = torch.ones(Q, K, dtype=torch.bool).triu(1 + M)
        p = scores.masked_fill(mask, float("-inf")).softmax(-1)
        y = self.o(torch.einsum("bhij,bjhd->bihd", p, v).reshape(b, Q, D))
        x = self.norm(x + y)
        return self.norm2(x + self.ff2(torch.relu(self.ff1(x))))


def make():
    torch.manual_seed(8)
    t = RelAttention().eval()
    with torch.no_grad():
        t.norm.weight.uniform_(0.5, 1.5), t.norm2.weight.uniform_(0.5, 1.5)
        t.norm.bias.normal_(0, 0.3), t.norm2.bias.normal_(0, 0.3)
        t.qkv.weight.mul_(3)
    return t


def inputs(seed):
    g = np.random.default_rng(seed + 8)
    return tuple(g.normal(size=(B, n, D)).astype("float32") for n in (Q, M))
