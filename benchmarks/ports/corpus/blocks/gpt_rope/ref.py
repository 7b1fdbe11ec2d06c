"""A decoder in the manner of LLaMA: rotary positions, grouped queries, SwiGLU."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VOCAB, DIM, HEADS, KV_HEADS, DEPTH = 50, 32, 4, 2, 2
HEAD = DIM // HEADS


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rotary(length, base=10000.0):
    inverse = 1.0 / base ** (torch.arange(0, HEAD, 2).float() / HEAD)
    angles = torch.outer(torch.arange(length).float(), inverse)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, DIM, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, HEADS, HEAD).transpose(1, 2)
        k = self.k_proj(x).view(b, t, KV_HEADS, HEAD).transpose(1, 2)
        v = self.v_proj(x).view(b, t, KV_HEADS, HEAD).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        k = k.repeat_interleave(HEADS // KV_HEADS, dim=1)
        v = v.repeat_interleave(HEADS // KV_HEADS, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, -1))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_norm, self.post_norm = RMSNorm(DIM), RMSNorm(DIM)
        self.attention = Attention()
        self.gate = nn.Linear(DIM, 80, bias=False)
        self.up = nn.Linear(DIM, 80, bias=False)
        self.down = nn.Linear(80, DIM, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.input_norm(x), cos, sin)
        h = self.post_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList([Layer() for _ in range(DEPTH)])
        self.norm = RMSNorm(DIM)

    def forward(self, tokens):
        x = self.embed(tokens)
        cos, sin = rotary(tokens.shape[1])
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.linear(self.norm(x), self.embed.weight)


def make():
    torch.manual_seed(8)
    net = Decoder()
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.25)
    return net


def inputs(seed):
    return np.random.default_rng(seed).integers(0, VOCAB, size=(3, 12))
