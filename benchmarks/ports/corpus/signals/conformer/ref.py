"""A conformer block (Gulati et al. 2020) with relative positions, behind it a CTC head. torch."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
DIM, HEADS, KERNEL, VOCAB = 32, 4, 7, 19


class FeedForward(nn.Module):
    def __init__(self, dim, mult=4):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, dim * mult)
        self.down = nn.Linear(dim * mult, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = F.silu(self.up(self.norm(x)))
        return self.drop(self.down(self.drop(x)))


def sinusoids(length, dim):
    position = torch.arange(length - 1, -length, -1.0)
    rate = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    table = torch.zeros(2 * length - 1, dim)
    table[:, 0::2] = torch.sin(position[:, None] * rate)
    table[:, 1::2] = torch.cos(position[:, None] * rate)
    return table


class RelativeAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.pos = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(dim, dim)
        self.u = nn.Parameter(torch.randn(heads, self.head_dim) * 0.3)
        self.v = nn.Parameter(torch.randn(heads, self.head_dim) * 0.3)

    def shift(self, scores):
        b, h, t, p = scores.shape
        padded = F.pad(scores, (1, 0)).view(b, h, p + 1, t)
        return padded[:, :, 1:].reshape(b, h, t, p)[..., :t]

    def forward(self, x, keep):
        b, t, d = x.shape
        q, k, value = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, self.head_dim)
        k = k.view(b, t, self.heads, self.head_dim).transpose(1, 2)
        value = value.view(b, t, self.heads, self.head_dim).transpose(1, 2)
        pos = self.pos(sinusoids(t, d).to(x)).view(-1, self.heads, self.head_dim).transpose(0, 1)
        content = torch.matmul((q + self.u).transpose(1, 2), k.transpose(-2, -1))
        position = self.shift(torch.matmul((q + self.v).transpose(1, 2), pos.transpose(-2, -1)))
        scores = (content + position) / math.sqrt(self.head_dim)
        scores = scores.masked_fill(~keep[:, None, None, :], -1e4)
        attended = torch.matmul(scores.softmax(dim=-1), value)
        return self.out(attended.transpose(1, 2).reshape(b, t, d))


class Convolution(nn.Module):
    def __init__(self, dim, kernel):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.pointwise1 = nn.Conv1d(dim, 2 * dim, 1)
        self.depthwise = nn.Conv1d(dim, dim, kernel, padding=kernel // 2, groups=dim)
        self.batch_norm = nn.BatchNorm1d(dim)
        self.pointwise2 = nn.Conv1d(dim, dim, 1)

    def forward(self, x, keep):
        x = F.glu(self.pointwise1(self.norm(x).transpose(1, 2)), dim=1)
        x = x * keep[:, None, :]
        x = F.silu(self.batch_norm(self.depthwise(x)))
        return self.pointwise2(x).transpose(1, 2)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff1, self.ff2 = FeedForward(DIM), FeedForward(DIM)
        self.attention = RelativeAttention(DIM, HEADS)
        self.conv = Convolution(DIM, KERNEL)
        self.norm = nn.LayerNorm(DIM)
        self.ctc = nn.Linear(DIM, VOCAB)

    def forward(self, features, lengths):
        keep = torch.arange(features.shape[1])[None, :] < lengths[:, None]
        x = features + 0.5 * self.ff1(features)
        x = x + self.attention(x, keep)
        x = x + self.conv(x, keep)
        x = x + 0.5 * self.ff2(x)
        return F.log_softmax(self.ctc(self.norm(x)), dim=-1)


def make():
    torch.manual_seed(4)
    model = Recogniser().eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (nn.LayerNorm, nn.BatchNorm1d)):
                module.weight.uniform_(0.6, 1.4)
                module.bias.normal_(0, 0.2)
        model.conv.batch_norm.running_mean.normal_(0, 0.2)
        model.conv.batch_norm.running_var.uniform_(0.2, 0.9)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(3, 11, DIM)).astype("float32")
    return features, np.array([11, 8, 6], dtype="int64")
