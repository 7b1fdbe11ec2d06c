"""ConvLSTM encoder/forecaster for precipitation nowcasting (Shi et al., 2015), with peepholes."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class PeepholeConvLSTMCell(nn.Module):
    def __init__(self, cin, hid, k, size):
        super().__init__()
        self.hid = hid
        self.conv_x = nn.Conv2d(cin, 4 * hid, k, padding=k // 2)
        self.conv_h = nn.Conv2d(hid, 4 * hid, k, padding=k // 2, bias=False)
        self.w_ci = nn.Parameter(torch.zeros(hid, size, size))
        self.w_cf = nn.Parameter(torch.zeros(hid, size, size))
        self.w_co = nn.Parameter(torch.zeros(hid, size, size))

    def zero_state(self, x):
        shape = (x.shape[0], self.hid) + tuple(x.shape[-2:])
        return x.new_zeros(shape), x.new_zeros(shape)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = torch.chunk(self.conv_x(x) + self.conv_h(h), 4, dim=1)
        i = torch.sigmoid(i + self.w_ci * c)
        f = torch.sigmoid(f + self.w_cf * c)
        c = f * c + i * torch.tanh(g)
        o = torch.sigmoid(o + self.w_co * c)
        h = o * torch.tanh(c)
        return h, c


class Nowcaster(nn.Module):
    def __init__(self, hid=(6, 8), size=16, horizon=2):
        super().__init__()
        self.horizon = horizon
        half = size // 2
        self.stem = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.stem_norm = nn.GroupNorm(2, 4)
        self.enc1 = PeepholeConvLSTMCell(4, hid[0], 3, half)
        self.enc2 = PeepholeConvLSTMCell(hid[0], hid[1], 3, half)
        self.dec1 = PeepholeConvLSTMCell(4, hid[0], 3, half)
        self.dec2 = PeepholeConvLSTMCell(hid[0], hid[1], 3, half)
        self.up = nn.ConvTranspose2d(hid[0] + hid[1], 6, 4, stride=2, padding=1)
        self.head = nn.Conv2d(6, 1, 1)

    def embed(self, frame):
        return nn.functional.leaky_relu(self.stem_norm(self.stem(frame)), 0.2)

    def forward(self, frames):                      # B T 1 H W
        x = self.embed(frames[:, 0])
        s1, s2 = self.enc1.zero_state(x), self.enc2.zero_state(x)
        for t in range(frames.shape[1]):
            x = self.embed(frames[:, t])
            s1 = self.enc1(x, s1)
            s2 = self.enc2(s1[0], s2)
        frame, out = frames[:, -1], []
        for _ in range(self.horizon):
            s1 = self.dec1(self.embed(frame), s1)
            s2 = self.dec2(s1[0], s2)
            y = self.up(torch.cat([s1[0], s2[0]], 1))
            y = self.head(nn.functional.leaky_relu(y, 0.2))
            frame = torch.sigmoid(y + torch.logit(frame.clamp(0.02, 0.98)))
            out.append(frame)
        return torch.stack(out, 1)


def make(seed=11):
    net = Nowcaster()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in net.named_parameters():
            z = torch.randn(p.shape, generator=g)
            if "norm.weight" in name:
                p.copy_(1 + 0.3 * z)
            elif p.dim() == 1:
                p.copy_(0.2 * z)
            elif "w_c" in name:
                p.copy_(0.5 * z)
            else:
                p.copy_(z * 1.3 / math.sqrt(p[0].numel()))
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    yy, xx = np.mgrid[:16, :16]
    out = np.zeros((4, 4, 1, 16, 16), "float32")
    for b in range(4):
        p, v = r.uniform(3, 12, 2), r.uniform(-1.5, 1.5, 2)
        for t in range(4):
            out[b, t, 0] = np.exp(-((yy - p[0] - t * v[0]) ** 2 + (xx - p[1] - t * v[1]) ** 2) / 8)
    return (np.clip(out + 0.05 * r.random(out.shape), 0, 1).astype("float32"),)
