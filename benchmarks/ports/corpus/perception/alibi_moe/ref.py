"""A causal transformer over a trajectory with ALiBi and a top-2 mixture of experts."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
MODE = "train"
DIM, HEADS, EXPERTS, TOP_K, LAYERS = 24, 4, 5, 2, 2


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim) + 0.2 * torch.randn(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM)
        self.drop = nn.Dropout(dropout)
        slopes = torch.tensor([2.0 ** (-8.0 * (h + 1) / HEADS) for h in range(HEADS)])
        self.register_buffer("slopes", slopes)

    def forward(self, x, padding):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, T, HEADS, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (DIM // HEADS) ** 0.5
        pos = torch.arange(T)
        distance = (pos[None, :] - pos[:, None]).float()
        scores = scores + self.slopes[:, None, None] * distance
        mask = torch.tril(torch.ones(T, T, dtype=torch.bool))
        mask = mask & ~padding[:, None, None, :]
        scores = scores.masked_fill(~mask, -1e9)
        attn = self.drop(F.softmax(scores, dim=-1))
        y = (attn @ v).transpose(1, 2).reshape(B, T, DIM)
        return self.out(y)


class MoE(nn.Module):
    def __init__(self, hidden=30):
        super().__init__()
        self.gate = nn.Linear(DIM, EXPERTS, bias=False)
        self.w1 = nn.Parameter(torch.randn(EXPERTS, DIM, hidden) / DIM**0.5)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, hidden, DIM) / hidden**0.5)

    def forward(self, x):
        flat = x.reshape(-1, DIM)
        logits = self.gate(flat)
        top, chosen = logits.topk(TOP_K, dim=-1)
        weights = F.softmax(top, dim=-1)
        out = torch.zeros_like(flat)
        for e in range(EXPERTS):
            weight = (weights * (chosen == e)).sum(-1, keepdim=True)
            out = out + weight * (F.silu(flat @ self.w1[e]) @ self.w2[e])
        probs = F.softmax(logits, dim=-1)
        load = F.one_hot(chosen, EXPERTS).float().sum(1).mean(0) / TOP_K
        aux = EXPERTS * (load * probs.mean(0)).sum()
        return out.view_as(x), aux


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(DIM), RMSNorm(DIM)
        self.attn, self.moe = Attention(dropout), MoE()
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding):
        x = x + self.drop(self.attn(self.norm1(x), padding))
        y, aux = self.moe(self.norm2(x))
        return x + self.drop(y), aux


class TrajectoryModel(nn.Module):
    def __init__(self, obs_dim=9, actions=4, dropout=0.1):
        super().__init__()
        self.embed = nn.Linear(obs_dim, DIM)
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.norm = RMSNorm(DIM)
        self.head = nn.Linear(DIM, actions)

    def forward(self, obs, padding):
        x = self.embed(obs)
        aux = 0.0
        for block in self.blocks:
            x, a = block(x, padding)
            aux = aux + a
        return self.head(self.norm(x)), aux / LAYERS


def make():
    torch.manual_seed(13)
    return TrajectoryModel()


def inputs(seed):
    rng = np.random.default_rng(seed)
    padding = np.zeros((3, 7), dtype=bool)
    padding[1, :2] = True
    padding[2, :4] = True
    return rng.normal(size=(3, 7, 9)).astype("float32"), padding
