"""Hyena operator (FFT convolutions) in PyTorch, after HazyResearch/safari."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
D, SEQ, ORDER = 8, 12, 3


def fftconv(u, k, D):
    seqlen = u.shape[-1]
    fft_size = 2 * seqlen
    k_f = torch.fft.rfft(k, n=fft_size) / fft_size
    u_f = torch.fft.rfft(u, n=fft_size)
    y = torch.fft.irfft(u_f * k_f, n=fft_size, norm="forward")[..., :seqlen]
    return y + u * D.unsqueeze(-1)


class Sin(nn.Module):
    def __init__(self, dim, w=2.0):
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, dim))

    def forward(self, x):
        return torch.sin(self.freq * x)


class PositionalEmbedding(nn.Module):
    def __init__(self, emb_dim, seq_len):
        super().__init__()
        t = torch.linspace(0, 1, seq_len)[None, :, None]
        bands = (emb_dim - 1) // 2
        w = 2 * math.pi * torch.arange(seq_len)[None, :, None] / seq_len
        f = torch.linspace(1e-4, bands - 1, bands)[None, None]
        z = torch.exp(-1j * f * w)
        self.register_buffer("z", torch.cat([t, z.real, z.imag], dim=-1))
        self.register_buffer("t", t)

    def forward(self, L):
        return self.z[:, :L], self.t[:, :L]


class ExponentialModulation(nn.Module):
    def __init__(self, d_model, fast=0.3, slow=1.5, target=1e-2, shift=0.05):
        super().__init__()
        self.shift = shift
        deltas = torch.linspace(math.log(target) / slow, math.log(target) / fast, d_model)[None, None]
        self.register_buffer("deltas", deltas)

    def forward(self, t, x):
        decay = torch.exp(-t * self.deltas.abs())
        return x * (decay + self.shift)


class HyenaFilter(nn.Module):
    def __init__(self, d_model, emb_dim=5, order=10):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(d_model))
        self.pos_emb = PositionalEmbedding(emb_dim, SEQ)
        act = Sin(order)
        self.implicit_filter = nn.Sequential(nn.Linear(emb_dim, order), act, nn.Linear(order, order), act,
                                             nn.Linear(order, d_model, bias=False))
        self.modulation = ExponentialModulation(d_model)

    def filter(self, L):
        z, t = self.pos_emb(L)
        h = self.implicit_filter(z)
        return self.modulation(t, h)


class HyenaOperator(nn.Module):
    def __init__(self, d_model, order):
        super().__init__()
        self.order, self.d_model = order, d_model
        self.in_proj = nn.Linear(d_model, (order + 1) * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        w = d_model * (order + 1)
        self.short_filter = nn.Conv1d(w, w, 3, padding=2, groups=w)
        self.filter_fn = HyenaFilter(d_model * (order - 1))

    def forward(self, u):
        l = u.shape[-2]
        u = self.in_proj(u).transpose(1, 2)
        uc = self.short_filter(u)[..., :l]
        *x, v = uc.split(self.d_model, dim=1)
        k = self.filter_fn.filter(l)[0].transpose(0, 1).reshape(self.d_model, self.order - 1, l)
        bias = self.filter_fn.bias.reshape(self.d_model, self.order - 1)
        for o, x_i in enumerate(reversed(x[1:])):
            v = v * x_i
            v = fftconv(v, k[:, o], bias[:, o])
        return self.out_proj((v * x[0]).transpose(1, 2))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.mixer = HyenaOperator(d, ORDER)
        self.norm2 = nn.LayerNorm(d)
        self.fc1 = nn.Linear(d, 2 * d)
        self.fc2 = nn.Linear(2 * d, d)

    def forward(self, x):
        x = x + self.mixer(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class HyenaLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(D) for _ in range(2)])
        self.norm = nn.LayerNorm(D)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def make():
    torch.manual_seed(17)
    m = HyenaLM()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if "freq" in n:
                p.uniform_(1.0, 2.0)
            elif "norm" in n and "weight" in n:
                p.uniform_(0.7, 1.3)
            else:
                p.normal_(0, 0.45 if p.dim() > 1 else 0.25)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, SEQ, D).astype("float32"),)
