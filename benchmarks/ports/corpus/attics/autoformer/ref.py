"""A small Autoformer encoder-decoder (Wu et al., 2021): decomposition and auto-correlation."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class SeriesDecomp(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.kernel = kernel
        self.avg = nn.AvgPool1d(kernel, stride=1)

    def forward(self, x):
        half = (self.kernel - 1) // 2
        padded = torch.cat([x[:, :1].repeat(1, half, 1), x, x[:, -1:].repeat(1, half, 1)], 1)
        trend = self.avg(padded.transpose(1, 2)).transpose(1, 2)
        return x - trend, trend


class SeasonalNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        y = self.norm(x)
        return y - y.mean(1, keepdim=True)


class AutoCorrelation(nn.Module):
    def __init__(self, d, heads, factor=2):
        super().__init__()
        self.heads, self.factor = heads, factor
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, queries, keys):
        b, length, d = queries.shape
        s = keys.shape[1]
        q = self.q(queries).view(b, length, self.heads, -1)
        k = self.k(keys).view(b, s, self.heads, -1)
        v = self.v(keys).view(b, s, self.heads, -1)
        if length > s:
            pad = torch.zeros(b, length - s, *k.shape[2:])
            k, v = torch.cat([k, pad], 1), torch.cat([v, pad], 1)
        else:
            k, v = k[:, :length], v[:, :length]
        corr = torch.fft.irfft(torch.fft.rfft(q, dim=1) * torch.conj(torch.fft.rfft(k, dim=1)), n=length, dim=1)
        mean = corr.mean(dim=(2, 3))                                   # B L
        top = int(self.factor * math.log(length))
        weights, delays = torch.topk(mean, top, dim=1)
        weights = torch.softmax(weights, dim=1)
        index = torch.arange(length).view(1, length, 1, 1)
        out = torch.zeros_like(v)
        for i in range(top):
            where = (index + delays[:, i].view(b, 1, 1, 1)) % length
            out = out + torch.gather(v, 1, where.expand_as(v)) * weights[:, i].view(b, 1, 1, 1)
        return self.o(out.reshape(b, length, d))


class EncoderLayer(nn.Module):
    def __init__(self, d, heads, ff, kernel):
        super().__init__()
        self.attn = AutoCorrelation(d, heads)
        self.fc1, self.fc2 = nn.Linear(d, ff, bias=False), nn.Linear(ff, d, bias=False)
        self.decomp1, self.decomp2 = SeriesDecomp(kernel), SeriesDecomp(kernel)

    def forward(self, x):
        x, _ = self.decomp1(x + self.attn(x, x))
        x, _ = self.decomp2(x + self.fc2(F.gelu(self.fc1(x))))
        return x


class DecoderLayer(nn.Module):
    def __init__(self, d, heads, ff, kernel, c_out):
        super().__init__()
        self.self_attn, self.cross_attn = AutoCorrelation(d, heads), AutoCorrelation(d, heads)
        self.fc1, self.fc2 = nn.Linear(d, ff, bias=False), nn.Linear(ff, d, bias=False)
        self.decomp = nn.ModuleList(SeriesDecomp(kernel) for _ in range(3))
        self.trend = nn.Conv1d(d, c_out, 3, padding=1, padding_mode="circular", bias=False)

    def forward(self, x, memory):
        x, t1 = self.decomp[0](x + self.self_attn(x, x))
        x, t2 = self.decomp[1](x + self.cross_attn(x, memory))
        x, t3 = self.decomp[2](x + self.fc2(F.gelu(self.fc1(x))))
        return x, self.trend((t1 + t2 + t3).transpose(1, 2)).transpose(1, 2)


class Autoformer(nn.Module):
    def __init__(self, c=3, marks=2, d=16, heads=4, ff=24, kernel=5, label=12, pred=12):
        super().__init__()
        self.label, self.pred = label, pred
        self.decomp = SeriesDecomp(kernel)
        conv = lambda: nn.Conv1d(c, d, 3, padding=1, padding_mode="circular", bias=False)
        self.enc_value, self.enc_mark = conv(), nn.Linear(marks, d, bias=False)
        self.dec_value, self.dec_mark = conv(), nn.Linear(marks, d, bias=False)
        self.encoder = nn.ModuleList(EncoderLayer(d, heads, ff, kernel) for _ in range(2))
        self.enc_norm, self.dec_norm = SeasonalNorm(d), SeasonalNorm(d)
        self.decoder = DecoderLayer(d, heads, ff, kernel, c)
        self.proj = nn.Linear(d, c)

    def forward(self, x, x_mark, y_mark):
        seasonal, trend = self.decomp(x)
        mean = x.mean(1, keepdim=True).repeat(1, self.pred, 1)
        trend = torch.cat([trend[:, -self.label:], mean], 1)
        zeros = torch.zeros_like(mean)
        seasonal = torch.cat([seasonal[:, -self.label:], zeros], 1)
        h = self.enc_value(x.transpose(1, 2)).transpose(1, 2) + self.enc_mark(x_mark)
        for layer in self.encoder:
            h = layer(h)
        h = self.enc_norm(h)
        z = self.dec_value(seasonal.transpose(1, 2)).transpose(1, 2) + self.dec_mark(y_mark)
        z, extra = self.decoder(z, h)
        out = self.proj(self.dec_norm(z)) + trend + extra
        return out[:, -self.pred:]


def make(seed=4):
    net = Autoformer()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for n, p in net.named_parameters():
            z = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * z if n.endswith("norm.weight") else 0.15 * z if p.dim() == 1 else z / p[0].numel() ** 0.5)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    t = np.arange(24 + 12)
    b = 4
    phase = r.uniform(0, 6.28, (b, 1, 3))
    x = np.sin(2 * np.pi * t[None, :24, None] / r.uniform(5, 9, (b, 1, 3)) + phase) + 0.04 * t[None, :24, None]
    x = x + 0.3 * r.standard_normal(x.shape) + r.uniform(-1, 1, (b, 1, 3))
    start = r.integers(0, 24, (b, 1))
    hour = ((start + t) % 24) / 23.0 - 0.5
    day = (((start + t) // 24) % 7) / 6.0 - 0.5
    mark = np.stack([hour, day], -1)
    return tuple(a.astype("float32") for a in (x, mark[:, :24], mark[:, 12:]))
