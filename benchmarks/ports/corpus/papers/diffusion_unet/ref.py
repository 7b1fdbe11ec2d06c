"""Diffusion Policy (Chi et al. 2023): ConditionalUnet1D, small."""
import math

import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Conv1dBlock(nn.Module):
    def __init__(self, inp, out, kernel_size, n_groups=4):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(inp, out, kernel_size, padding=kernel_size // 2),
            nn.GroupNorm(n_groups, out),
            nn.Mish(),
        )

    def forward(self, x):
        return self.block(x)


class ConditionalResidualBlock1D(nn.Module):
    def __init__(self, inp, out, cond_dim, kernel_size=5):
        super().__init__()
        self.blocks = nn.ModuleList([
            Conv1dBlock(inp, out, kernel_size),
            Conv1dBlock(out, out, kernel_size),
        ])
        self.out_channels = out
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond_dim, out * 2), nn.Unflatten(-1, (-1, 1)))
        self.residual_conv = nn.Conv1d(inp, out, 1) if inp != out else nn.Identity()

    def forward(self, x, cond):
        out = self.blocks[0](x)
        embed = self.cond_encoder(cond)
        embed = embed.reshape(embed.shape[0], 2, self.out_channels, 1)
        scale = embed[:, 0, ...]
        bias = embed[:, 1, ...]
        out = scale * out + bias
        out = self.blocks[1](out)
        return out + self.residual_conv(x)


class ConditionalUnet1D(nn.Module):
    def __init__(self, action_dim=4, obs_dim=7, step_dim=12, dims=(16, 32)):
        super().__init__()
        self.diffusion_step_encoder = nn.Sequential(
            SinusoidalPosEmb(step_dim),
            nn.Linear(step_dim, step_dim * 4),
            nn.Mish(),
            nn.Linear(step_dim * 4, step_dim),
        )
        cond = step_dim + obs_dim
        low, high = dims
        self.down_modules = nn.ModuleList([
            nn.ModuleList([
                ConditionalResidualBlock1D(action_dim, low, cond),
                ConditionalResidualBlock1D(low, low, cond),
                nn.Conv1d(low, low, 3, 2, 1),
            ]),
            nn.ModuleList([
                ConditionalResidualBlock1D(low, high, cond),
                ConditionalResidualBlock1D(high, high, cond),
                nn.Identity(),
            ]),
        ])
        self.mid_modules = nn.ModuleList([ConditionalResidualBlock1D(high, high, cond)])
        self.up_modules = nn.ModuleList([
            nn.ModuleList([
                ConditionalResidualBlock1D(high * 2, low, cond),
                ConditionalResidualBlock1D(low, low, cond),
                nn.ConvTranspose1d(low, low, 4, 2, 1),
            ]),
        ])
        self.final_conv = nn.Sequential(Conv1dBlock(low, low, 5), nn.Conv1d(low, action_dim, 1))

    def forward(self, sample, timestep, global_cond):
        sample = torch.moveaxis(sample, -1, -2)
        feature = self.diffusion_step_encoder(timestep)
        feature = torch.cat([feature, global_cond], dim=-1)
        x = sample
        h = []
        for resnet, resnet2, downsample in self.down_modules:
            x = resnet(x, feature)
            x = resnet2(x, feature)
            h.append(x)
            x = downsample(x)
        for mid in self.mid_modules:
            x = mid(x, feature)
        for resnet, resnet2, upsample in self.up_modules:
            x = torch.cat((x, h.pop()), dim=1)
            x = resnet(x, feature)
            x = resnet2(x, feature)
            x = upsample(x)
        x = self.final_conv(x)
        return torch.moveaxis(x, -1, -2)


def make():
    torch.manual_seed(31)
    model = ConditionalUnet1D()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.GroupNorm):
                module.weight.uniform_(0.6, 1.4)
                module.bias.normal_(0, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    noisy = rng.normal(size=(4, 16, 4)).astype(np.float32)
    step = rng.integers(0, 100, size=(4,)).astype(np.int64)
    obs = rng.normal(size=(4, 7)).astype(np.float32)
    return noisy, step, obs
