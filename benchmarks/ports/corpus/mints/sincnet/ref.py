"""SincNet (Ravanelli and Bengio 2018): speaker network on raw waveforms."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.gamma * (x - mean) / (std + self.eps) + self.beta


class SincConv(nn.Module):
    def __init__(self, out_channels, kernel_size, sample_rate=8000, min_low_hz=50, min_band_hz=50):
        super().__init__()
        self.kernel_size, self.sample_rate = kernel_size, sample_rate
        self.min_low_hz, self.min_band_hz = min_low_hz, min_band_hz
        to_mel = lambda hz: 2595 * np.log10(1 + hz / 700)
        to_hz = lambda mel: 700 * (10 ** (mel / 2595) - 1)
        high = sample_rate / 2 - (min_low_hz + min_band_hz)
        hz = to_hz(np.linspace(to_mel(30.0), to_mel(high), out_channels + 1))
        self.low_hz_ = nn.Parameter(torch.Tensor(hz[:-1]).view(-1, 1))
        self.band_hz_ = nn.Parameter(torch.Tensor(np.diff(hz)).view(-1, 1))
        n_lin = torch.linspace(0, kernel_size / 2 - 1, steps=kernel_size // 2)
        self.register_buffer("window_", 0.54 - 0.46 * torch.cos(2 * math.pi * n_lin / kernel_size))
        n = (kernel_size - 1) / 2.0
        self.register_buffer("n_", 2 * math.pi * torch.arange(-n, 0).view(1, -1) / sample_rate)

    def forward(self, waveforms):
        low = self.min_low_hz + torch.abs(self.low_hz_)
        high = torch.clamp(low + self.min_band_hz + torch.abs(self.band_hz_), self.min_low_hz, self.sample_rate / 2)
        band = (high - low)[:, 0]
        f_times_t_low = torch.matmul(low, self.n_)
        f_times_t_high = torch.matmul(high, self.n_)
        band_pass_left = ((torch.sin(f_times_t_high) - torch.sin(f_times_t_low)) / (self.n_ / 2)) * self.window_
        band_pass_center = 2 * band.view(-1, 1)
        band_pass_right = torch.flip(band_pass_left, dims=[1])
        band_pass = torch.cat([band_pass_left, band_pass_center, band_pass_right], dim=1)
        band_pass = band_pass / (2 * band[:, None])
        filters = band_pass.view(-1, 1, self.kernel_size)
        return F.conv1d(waveforms, filters)


class SincNet(nn.Module):
    def __init__(self, speakers=5):
        super().__init__()
        self.ln0 = LayerNorm(120)
        self.sinc = SincConv(6, 31)
        self.ln1 = LayerNorm(30)
        self.conv = nn.Conv1d(6, 5, 5)
        self.ln2 = LayerNorm(13)
        self.fc = nn.Linear(65, 12)
        self.bn = nn.BatchNorm1d(12, momentum=0.05)
        self.out = nn.Linear(12, speakers)

    def forward(self, x):
        x = self.ln0(x).unsqueeze(1)
        x = F.leaky_relu(self.ln1(F.max_pool1d(torch.abs(self.sinc(x)), 3)), 0.2)
        x = F.leaky_relu(self.ln2(F.max_pool1d(self.conv(x), 2)), 0.2)
        x = x.view(x.shape[0], -1)
        x = F.leaky_relu(self.bn(self.fc(x)), 0.2)
        return F.log_softmax(self.out(x), dim=1)


def make():
    net = SincNet()
    g = torch.Generator().manual_seed(2)
    rand = lambda t: torch.randn(t.shape, generator=g)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "hz_" in name:
                p.mul_(1 + 0.1 * rand(p))
            elif "gamma" in name or name == "bn.weight":
                p.add_(0.2 * rand(p))
            else:
                p.copy_(0.25 * rand(p))
        net.bn.running_mean.copy_(0.2 * rand(net.bn.running_mean))
        net.bn.running_var.copy_(0.5 + rand(net.bn.running_var) ** 2)
    return net.eval()


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(4, 120)).astype("float32"),)
