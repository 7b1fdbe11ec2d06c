"""Branchformer (Peng et al. 2022) encoder with a CTC head, as ESPnet writes it."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
T, FEAT, D, HEADS, UNITS, KERNEL, LAYERS, VOCAB = 10, 12, 16, 4, 24, 5, 2, 9


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        self.xscale = math.sqrt(d_model)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0), persistent=False)

    def forward(self, x):
        return x * self.xscale + self.pe[:, :x.size(1)]


class MultiHeadedAttention(nn.Module):
    def __init__(self, n_head, n_feat):
        super().__init__()
        self.d_k, self.h = n_feat // n_head, n_head
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)
        self.linear_out = nn.Linear(n_feat, n_feat)

    def forward(self, x, mask):
        b = x.size(0)
        q = self.linear_q(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
        k = self.linear_k(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        mask = mask.unsqueeze(1).unsqueeze(1).eq(0)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        attn = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
        x = torch.matmul(attn, v).transpose(1, 2).contiguous().view(b, -1, self.h * self.d_k)
        return self.linear_out(x)


class ConvolutionalSpatialGatingUnit(nn.Module):
    def __init__(self, size, kernel):
        super().__init__()
        n = size // 2
        self.norm = nn.LayerNorm(n)
        self.conv = nn.Conv1d(n, n, kernel, 1, (kernel - 1) // 2, groups=n)

    def forward(self, x):
        x_r, x_g = x.chunk(2, dim=-1)
        x_g = self.norm(x_g)
        x_g = self.conv(x_g.transpose(1, 2)).transpose(1, 2)
        return x_r * x_g


class BranchformerLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_mha = nn.LayerNorm(D)
        self.attn = MultiHeadedAttention(HEADS, D)
        self.norm_mlp = nn.LayerNorm(D)
        self.channel_proj1 = nn.Sequential(nn.Linear(D, UNITS), nn.GELU())
        self.csgu = ConvolutionalSpatialGatingUnit(UNITS, KERNEL)
        self.channel_proj2 = nn.Linear(UNITS // 2, D)
        self.merge_proj = nn.Linear(2 * D, D)

    def forward(self, x, mask):
        x1 = self.attn(self.norm_mha(x), mask)
        x2 = self.channel_proj2(self.csgu(self.channel_proj1(self.norm_mlp(x))))
        return x + self.merge_proj(torch.cat([x1, x2], dim=-1))


class Branchformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(FEAT, D), nn.LayerNorm(D), PositionalEncoding(D))
        self.encoders = nn.ModuleList([BranchformerLayer() for _ in range(LAYERS)])
        self.after_norm = nn.LayerNorm(D)
        self.ctc = nn.Linear(D, VOCAB)

    def forward(self, feats, mask):
        x = self.embed(feats)
        for layer in self.encoders:
            x = layer(x, mask)
        return torch.log_softmax(self.ctc(self.after_norm(x)), dim=-1)


def make():
    g = torch.Generator().manual_seed(31)
    m = Branchformer()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if p.ndim == 1 and "norm" in n or n.startswith("embed.1"):
                base, s = (1.0 if n.endswith("weight") else 0.0), 0.2
            else:
                base, s = 0.0, (1.2 / math.sqrt(p[0].numel()) if p.ndim > 1 else 0.2)
            p.copy_(base + s * torch.randn(p.shape, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    lens = np.array([10, 7, 8, 6])
    return (r.randn(4, T, FEAT).astype("float32"), (np.arange(T) < lens[:, None]).astype("float32"))
