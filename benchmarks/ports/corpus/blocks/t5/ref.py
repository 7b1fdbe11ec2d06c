"""A T5 v1.1 encoder: relative position bias, RMS norms, gated GELU, padding masked."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
VOCAB, DIM, HEADS, HEAD, FF, DEPTH = 60, 32, 4, 8, 64, 2


class T5LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(DIM) + 0.5)

    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


def buckets(relative, num=16, far=40):
    """Both directions: half of the buckets are for each."""
    num //= 2
    result = (relative > 0).long() * num
    distance = relative.abs()
    exact = num // 2
    large = exact + (
        torch.log(distance.float().clamp(min=1) / exact) / math.log(far / exact) * (num - exact)
    ).long()
    large = torch.clamp(large, max=num - 1)
    return result + torch.where(distance < exact, distance, large)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.k = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.v = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.o = nn.Linear(HEADS * HEAD, DIM, bias=False)

    def split(self, x):
        return x.view(x.shape[0], -1, HEADS, HEAD).transpose(1, 2)

    def forward(self, x, bias):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(3, 2))  # T5 does not scale
        scores = scores + bias
        weights = scores.softmax(-1)
        out = torch.matmul(weights, v).transpose(1, 2).reshape(x.shape[0], -1, HEADS * HEAD)
        return self.o(out)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = T5LayerNorm(), SelfAttention()
        self.norm2 = T5LayerNorm()
        self.wi_0 = nn.Linear(DIM, FF, bias=False)
        self.wi_1 = nn.Linear(DIM, FF, bias=False)
        self.wo = nn.Linear(FF, DIM, bias=False)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x, bias):
        x = x + self.attention(self.norm1(x), bias)
        h = self.norm2(x)
        return x + self.wo(self.act(self.wi_0(h)) * self.wi_1(h))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(VOCAB, DIM)
        self.relative_attention_bias = nn.Embedding(16, HEADS)
        self.blocks = nn.ModuleList([Block() for _ in range(DEPTH)])
        self.final = T5LayerNorm()

    def forward(self, ids, mask):
        x = self.shared(ids)
        steps = torch.arange(ids.shape[1])
        relative = steps[None, :] - steps[:, None]  # key less query
        bias = self.relative_attention_bias(buckets(relative)).permute(2, 0, 1)[None]
        bias = bias + (1.0 - mask[:, None, None, :]) * -1e9
        for block in self.blocks:
            x = block(x, bias)
        x = self.final(x)
        pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return x, pooled


def make():
    torch.manual_seed(13)
    net = Encoder()
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.15)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, VOCAB, size=(3, 20))
    mask = (np.arange(20) < np.array([[20], [14], [9]])).astype("float32")
    return {"ids": ids * mask.astype("int64"), "mask": mask}
