"""Enformer (Avsec et al., 2021): conv tower with attention pooling, relative-position transformer. PyTorch."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LENGTH, STEM, DIM, HEADS, KEY, VALUE, BASIS, TARGET, TRACKS = 32, 8, 12, 2, 4, 6, 3, 4, 5


class GELU(nn.Module):
    def forward(self, x):
        return torch.sigmoid(1.702 * x) * x


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x) + x


def conv_block(dim, out, kernel=1):
    return nn.Sequential(nn.BatchNorm1d(dim), GELU(), nn.Conv1d(dim, out, kernel, padding=kernel // 2))


class AttentionPool(nn.Module):
    def __init__(self, dim, size=2):
        super().__init__()
        self.size = size
        self.to_logits = nn.Conv2d(dim, dim, 1, bias=False)

    def forward(self, x):
        b, d, n = x.shape
        x = x.reshape(b, d, n // self.size, self.size)
        attn = self.to_logits(x).softmax(dim=-1)
        return (x * attn).sum(dim=-1)


def positional_embed(n, features, device=None):
    """Exponential and central-mask bases of the signed distance: (2n-1, 4*features)."""
    distances = torch.arange(-n + 1, n, device=device).float()
    absd = distances.abs()[:, None]
    half_life = 2 ** torch.linspace(1.0, math.log2(n), features, device=device)
    exponential = torch.exp(-math.log(2.0) / half_life[None] * absd)
    center = 2 ** torch.arange(1, features + 1, device=device).float() - 1
    mask = (center[None] > absd).float()
    emb = torch.cat([exponential, mask], dim=-1)
    return torch.cat([emb, torch.sign(distances)[:, None] * emb], dim=-1)


def relative_shift(x):
    pad = torch.zeros_like(x[..., :1])
    x = torch.cat([pad, x], dim=-1)
    b, h, t1, t2 = x.shape
    x = x.reshape(b, h, t2, t1)[:, :, 1:]
    x = x.reshape(b, h, t1, t2 - 1)
    return x[..., :(t2 + 1) // 2]


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = KEY ** -0.5
        self.to_q = nn.Linear(dim, HEADS * KEY, bias=False)
        self.to_k = nn.Linear(dim, HEADS * KEY, bias=False)
        self.to_v = nn.Linear(dim, HEADS * VALUE, bias=False)
        self.to_out = nn.Linear(HEADS * VALUE, dim)
        self.to_rel_k = nn.Linear(4 * BASIS, HEADS * KEY, bias=False)
        self.rel_content_bias = nn.Parameter(torch.zeros(1, HEADS, 1, KEY))
        self.rel_pos_bias = nn.Parameter(torch.zeros(1, HEADS, 1, KEY))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).reshape(b, n, HEADS, -1).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        q = q * self.scale
        content = torch.einsum("bhid,bhjd->bhij", q + self.rel_content_bias, k)
        rel_k = self.to_rel_k(positional_embed(n, BASIS)).reshape(2 * n - 1, HEADS, KEY).transpose(0, 1)
        rel = torch.einsum("bhid,hjd->bhij", q + self.rel_pos_bias, rel_k)
        attn = (content + relative_shift(rel)).softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v).transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out)


class Enformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(4, STEM, 5, padding=2), Residual(conv_block(STEM, STEM)),
                                  AttentionPool(STEM))
        self.tower = nn.Sequential(conv_block(STEM, DIM, 5), Residual(conv_block(DIM, DIM)), AttentionPool(DIM))
        self.transformer = nn.Sequential(
            Residual(nn.Sequential(nn.LayerNorm(DIM), Attention(DIM))),
            Residual(nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, 2 * DIM), nn.ReLU(), nn.Linear(2 * DIM, DIM))))
        self.final = nn.Sequential(nn.Linear(DIM, 2 * DIM), GELU())
        self.head = nn.Sequential(nn.Linear(2 * DIM, TRACKS), nn.Softplus())

    def forward(self, seq):
        x = seq.transpose(1, 2)
        x = self.tower(self.stem(x)).transpose(1, 2)
        x = self.transformer(x)
        trim = (x.shape[1] - TARGET) // 2
        x = x[:, trim:-trim]
        return self.head(self.final(x))


def make():
    model = Enformer()
    rs = np.random.RandomState(17)
    with torch.no_grad():
        for p in model.parameters():
            fan = p[0].numel() if p.dim() > 1 else 9
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 1.2 / fan ** 0.5))
        for m in model.modules():
            if isinstance(m, (nn.BatchNorm1d, nn.LayerNorm)):
                m.weight.copy_(torch.from_numpy(1 + 0.2 * rs.randn(*m.weight.shape)))
            if isinstance(m, nn.BatchNorm1d):
                m.running_mean.copy_(torch.from_numpy(0.2 * rs.randn(*m.weight.shape)))
                m.running_var.copy_(torch.from_numpy(0.5 + rs.rand(*m.weight.shape)))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    return (np.eye(4, dtype="float32")[rs.randint(0, 4, (4, LENGTH))],)
