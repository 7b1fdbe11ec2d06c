"""LLaMA-like blocks: RMSNorm, rotary causal attention, SwiGLU, a tied head."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
V, DM, NH, FF = 40, 32, 4, 48
HD = DM // NH


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = RMSNorm(DM), RMSNorm(DM)
        self.q, self.k, self.v, self.o = (nn.Linear(DM, DM, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(DM, FF, bias=False), nn.Linear(DM, FF, bias=False)
        self.down = nn.Linear(FF, DM, bias=False)

    def attention(self, x):
        b, t, _ = x.shape
        q, k, v = (m(x).view(b, t, NH, HD).transpose(1, 2) for m in (self.q, self.k, self.v))
        inv = 1.0 / (10000 ** (torch.arange(0, HD, 2).float() / HD))
        ang = torch.outer(torch.arange(t).float(), inv)
        ang = torch.cat([ang, ang], -1)
        cos, sin = ang.cos(), ang.sin()
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, DM))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, DM)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = RMSNorm(DM)

    def forward(self, tokens):
        x = self.embed(tokens)
        for b in self.blocks:
            x = b(x)
        return self.norm(x) @ self.embed.weight.T


def make():
    torch.manual_seed(6)
    net = LM()
    for m in net.modules():
        if isinstance(m, RMSNorm):
            nn.init.uniform_(m.weight, 0.7, 1.3)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).integers(0, V, (4, 10))
