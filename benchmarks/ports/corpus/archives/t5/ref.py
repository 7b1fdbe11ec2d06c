"""T5 encoder block: relative position buckets, RMS norm, gated GELU."""
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
D, H, DK, FF, BUCKETS, MAXD, V = 24, 3, 8, 32, 8, 16, 40


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(D) + 0.5)

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def bucket_torch(rel):
    half = BUCKETS // 2
    out = (rel > 0).long() * half
    rel = rel.abs()
    exact = half // 2
    large = exact + (torch.log(rel.float().clamp(min=1) / exact) / math.log(MAXD / exact) * (half - exact)).long()
    return out + torch.where(rel < exact, rel, large.clamp(max=half - 1))


class T5Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.q, self.k, self.v = (nn.Linear(D, H * DK, bias=False) for _ in range(3))
        self.o = nn.Linear(H * DK, D, bias=False)
        self.rel = nn.Embedding(BUCKETS, H)
        self.wi0, self.wi1 = nn.Linear(D, FF, bias=False), nn.Linear(D, FF, bias=False)
        self.wo = nn.Linear(FF, D, bias=False)

    def forward(self, ids, mask):
        x = self.embed(ids)
        b, n, _ = x.shape
        h = self.norm1(x)
        q, k, v = (m(h).view(b, n, H, DK).transpose(1, 2) for m in (self.q, self.k, self.v))
        pos = torch.arange(n)
        bias = self.rel(bucket_torch(pos[None, :] - pos[:, None])).permute(2, 0, 1)[None]
        scores = q @ k.transpose(-1, -2) + bias + (1.0 - mask)[:, None, None, :] * -1e9
        ctx = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, n, H * DK)
        x = x + self.o(ctx)
        h = self.norm2(x)
        return x + self.wo(F.gelu(self.wi0(h), approximate="tanh") * self.wi1(h))


def make():
    torch.manual_seed(3)
    return T5Block().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    mask = (np.arange(11)[None] < np.array([11, 7, 9, 5])[:, None]).astype("float32")
    return rng.integers(0, V, size=(4, 11)), mask
