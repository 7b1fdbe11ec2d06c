"""One denoising step of a diffusion policy: conditional 1d U-Net and the DDPM update."""
import math

import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
ACT, HORIZON, OBS, STEPS = 3, 8, 10, 20


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = math.log(10000) / (half - 1)
        emb = torch.exp(torch.arange(half, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Conv1dBlock(nn.Module):
    def __init__(self, inp, out, kernel=3, groups=4):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(inp, out, kernel, padding=kernel // 2), nn.GroupNorm(groups, out), nn.Mish()
        )

    def forward(self, x):
        return self.block(x)


class ResidualBlock(nn.Module):
    def __init__(self, inp, out, cond):
        super().__init__()
        self.first, self.second = Conv1dBlock(inp, out), Conv1dBlock(out, out)
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond, out * 2))
        self.residual = nn.Conv1d(inp, out, 1) if inp != out else nn.Identity()
        self.out = out

    def forward(self, x, cond):
        h = self.first(x)
        scale, bias = self.cond_encoder(cond).reshape(-1, 2, self.out, 1).unbind(1)
        h = self.second(scale * h + bias)
        return h + self.residual(x)


class DiffusionPolicy(nn.Module):
    def __init__(self, emb=16):
        super().__init__()
        self.time = nn.Sequential(
            SinusoidalPosEmb(emb), nn.Linear(emb, emb * 4), nn.Mish(), nn.Linear(emb * 4, emb)
        )
        cond = emb + OBS
        self.down1 = ResidualBlock(ACT, 16, cond)
        self.downsample = nn.Conv1d(16, 16, 3, 2, 1)
        self.mid = ResidualBlock(16, 24, cond)
        self.upsample = nn.ConvTranspose1d(24, 16, 4, 2, 1)
        self.up1 = ResidualBlock(32, 16, cond)
        self.final = nn.Conv1d(16, ACT, 1)
        t = np.arange(STEPS + 1) / STEPS
        bar = np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
        betas = np.minimum(1 - bar[1:] / bar[:-1], 0.999)
        self.register_buffer("betas", torch.tensor(betas, dtype=torch.float32))
        self.register_buffer("alphas_bar", torch.cumprod(1 - self.betas, 0))

    def noise_pred(self, sample, t, obs):
        cond = torch.cat([self.time(t.float()), obs], dim=-1)
        x = sample.transpose(1, 2)
        skip = self.down1(x, cond)
        x = self.mid(self.downsample(skip), cond)
        x = torch.cat((self.upsample(x), skip), dim=1)
        return self.final(self.up1(x, cond)).transpose(1, 2)

    def forward(self, sample, t, obs):
        eps = self.noise_pred(sample, t, obs)
        shape = (-1, 1, 1)
        a_bar = self.alphas_bar[t].view(shape)
        a_prev = torch.where(t > 0, self.alphas_bar[(t - 1).clamp(min=0)], torch.ones(())).view(shape)
        beta = self.betas[t].view(shape)
        x0 = (sample - (1 - a_bar).sqrt() * eps) / a_bar.sqrt()
        x0 = x0.clamp(-1, 1)
        mean = (a_prev.sqrt() * beta * x0 + (1 - beta).sqrt() * (1 - a_prev) * sample) / (1 - a_bar)
        var = ((1 - a_prev) / (1 - a_bar) * beta).clamp(min=1e-20)
        noise = torch.randn_like(sample)
        keep = (t > 0).float().view(shape)
        return {"eps": eps, "x0": x0, "prev": mean + keep * var.sqrt() * noise}


def make():
    torch.manual_seed(21)
    net = DiffusionPolicy()
    for module in net.modules():
        if isinstance(module, nn.GroupNorm):
            module.weight.data.uniform_(0.6, 1.4)
            module.bias.data.normal_(0, 0.3)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(5, HORIZON, ACT)).astype("float32"),
        np.array([0, 3, 8, 13, 19], dtype="int64"),
        rng.normal(size=(5, OBS)).astype("float32"),
    )
