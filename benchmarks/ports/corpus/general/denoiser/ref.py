"""Diffusion denoiser on 1-D signals with timestep embedding, FiLM and one DDIM step."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass
class DenoiserConfig:
    channels: int = 3
    width: int = 24
    embed: int = 16
    groups: int = 6
    blocks: int = 3
    steps: int = 50
    beta_start: float = 1e-3
    beta_end: float = 0.05


def timestep_embedding(t, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half).float() / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    """GroupNorm, SiLU and convolution twice, with scale and shift from the timestep between."""

    def __init__(self, cfg):
        super().__init__()
        self.in_norm = nn.GroupNorm(cfg.groups, cfg.width, eps=1e-5)
        self.in_conv = nn.Conv1d(cfg.width, cfg.width, 3, padding=1)
        self.emb = nn.Linear(4 * cfg.embed, 2 * cfg.width)
        self.out_norm = nn.GroupNorm(cfg.groups, cfg.width, eps=1e-5)
        self.out_conv = nn.Conv1d(cfg.width, cfg.width, 3, padding=1)

    def forward(self, x, emb):
        h = self.in_conv(F.silu(self.in_norm(x)))
        scale, shift = self.emb(F.silu(emb))[:, :, None].chunk(2, dim=1)
        h = self.out_norm(h) * (1 + scale) + shift
        return x + self.out_conv(F.silu(h))


class Denoiser(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.time_mlp = nn.Sequential(
            nn.Linear(cfg.embed, 4 * cfg.embed), nn.SiLU(), nn.Linear(4 * cfg.embed, 4 * cfg.embed)
        )
        self.inp = nn.Conv1d(cfg.channels, cfg.width, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(cfg) for _ in range(cfg.blocks)])
        self.norm = nn.GroupNorm(cfg.groups, cfg.width, eps=1e-5)
        self.out = nn.Conv1d(cfg.width, cfg.channels, 3, padding=1)
        betas = torch.linspace(cfg.beta_start, cfg.beta_end, cfg.steps, dtype=torch.float64)
        self.register_buffer("alpha_bar", torch.cumprod(1 - betas, dim=0).float())

    def predict_noise(self, x, t):
        emb = self.time_mlp(timestep_embedding(t, self.cfg.embed))
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(F.silu(self.norm(h)))

    def forward(self, x, t):
        noise = self.predict_noise(x, t)
        now = self.alpha_bar[t].view(-1, 1, 1)
        before = torch.where(t > 0, self.alpha_bar[(t - 1).clamp(min=0)], torch.ones(()))
        before = before.view(-1, 1, 1)
        start = (x - (1 - now).sqrt() * noise) / now.sqrt()
        previous = before.sqrt() * start + (1 - before).sqrt() * noise
        return noise, previous


def make(seed=0):
    torch.manual_seed(seed)
    model = Denoiser(DenoiserConfig()).eval()
    for module in model.modules():
        if isinstance(module, nn.GroupNorm):
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.normal_(module.bias, std=0.1)
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 3)
    t = np.array([0, 7, 49, 23, 0, 31], dtype=np.int64)
    return rng.normal(size=(6, 3, 16)).astype(np.float32), t
