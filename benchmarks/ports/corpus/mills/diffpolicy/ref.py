"""Diffusion policy: FiLM-conditioned temporal U-Net and one DDPM denoising step (torch)."""
import math
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freq = torch.exp(-math.log(10000.0) / (half - 1) * torch.arange(half))
        ang = t.float()[:, None] * freq[None]
        return torch.cat([ang.sin(), ang.cos()], dim=-1)


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv1d(cin, cout, 5, padding=2), nn.GroupNorm(4, cout), nn.Mish())


class FiLMRes(nn.Module):
    def __init__(self, cin, cout, cond):
        super().__init__()
        self.first, self.second = conv_block(cin, cout), conv_block(cout, cout)
        self.film = nn.Sequential(nn.Mish(), nn.Linear(cond, 2 * cout))
        self.skip = nn.Conv1d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, c):
        scale, shift = self.film(c).unsqueeze(-1).chunk(2, dim=1)
        h = self.first(x)
        h = scale * h + shift
        return self.second(h) + self.skip(x)


class DiffusionPolicy(nn.Module):
    def __init__(self, act=3, obs=6, n_obs=2, steps=20):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(16), nn.Linear(16, 32), nn.Mish(), nn.Linear(32, 16))
        cond = 16 + obs * n_obs
        self.in1 = FiLMRes(act, 16, cond)
        self.down = nn.Conv1d(16, 16, 3, stride=2, padding=1)
        self.mid = FiLMRes(16, 32, cond)
        self.up = nn.ConvTranspose1d(32, 16, 4, stride=2, padding=1)
        self.out1 = FiLMRes(32, 16, cond)
        self.final = nn.Sequential(conv_block(16, 16), nn.Conv1d(16, act, 1))
        f = torch.cos((torch.arange(steps + 1) / steps + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
        self.register_buffer('betas', betas)
        self.register_buffer('abar', torch.cumprod(1 - betas, 0))

    def eps(self, x, t, obs):
        c = torch.cat([self.time(t), obs.flatten(1)], dim=1)
        a = self.in1(x.transpose(1, 2), c)
        m = self.mid(self.down(a), c)
        u = self.up(m)
        y = self.out1(torch.cat([u, a], dim=1), c)
        return self.final(y).transpose(1, 2)

    def forward(self, x, t, obs, noise):
        e = self.eps(x, t, obs)
        pick = lambda v: v[t.long()][:, None, None]
        abar, beta = pick(self.abar), pick(self.betas)
        prev = pick(torch.cat([self.abar.new_ones(1), self.abar[:-1]]))
        x0 = ((x - (1 - abar).sqrt() * e) / abar.sqrt()).clamp(-1, 1)
        mean = prev.sqrt() * beta / (1 - abar) * x0 + (1 - beta).sqrt() * (1 - prev) / (1 - abar) * x
        var = beta * (1 - prev) / (1 - abar)
        live = (t > 0).float()[:, None, None]
        return e, mean + live * var.clamp(min=1e-20).sqrt() * noise


def make(seed=0):
    torch.manual_seed(seed)
    net = DiffusionPolicy()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.GroupNorm):
                nn.init.uniform_(m.weight, 0.7, 1.3)
                nn.init.normal_(m.bias, std=0.2)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    b = 5
    x = r.normal(size=(b, 12, 3)).astype(np.float32)
    t = np.array([0, 3, 8, 13, 17], np.int32)
    return x, t, r.normal(size=(b, 2, 6)).astype(np.float32), r.normal(size=(b, 12, 3)).astype(np.float32)
