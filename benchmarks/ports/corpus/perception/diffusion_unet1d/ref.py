"""The noise predictor of Diffusion Policy: a conditional U-Net over action sequences."""

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
    def __init__(self, inp, out, kernel_size=5, n_groups=4):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(inp, out, kernel_size, padding=kernel_size // 2),
            nn.GroupNorm(n_groups, out),
            nn.Mish(),
        )

    def forward(self, x):
        return self.block(x)


class ConditionalResidualBlock1D(nn.Module):
    def __init__(self, inp, out, cond_dim):
        super().__init__()
        self.blocks = nn.ModuleList([Conv1dBlock(inp, out), Conv1dBlock(out, out)])
        self.out_channels = out
        self.cond_encoder = nn.Sequential(nn.Mish(), nn.Linear(cond_dim, 2 * out), nn.Unflatten(-1, (-1, 1)))
        self.residual_conv = nn.Conv1d(inp, out, 1) if inp != out else nn.Identity()

    def forward(self, x, cond):
        out = self.blocks[0](x)
        embed = self.cond_encoder(cond)
        embed = embed.reshape(embed.shape[0], 2, self.out_channels, 1)
        scale, bias = embed[:, 0], embed[:, 1]
        out = (1 + scale) * out + bias
        out = self.blocks[1](out)
        return out + self.residual_conv(x)


class ConditionalUnet1D(nn.Module):
    def __init__(self, input_dim=5, global_cond_dim=7, step_dim=12, dims=(16, 24)):
        super().__init__()
        self.diffusion_step_encoder = nn.Sequential(
            SinusoidalPosEmb(step_dim),
            nn.Linear(step_dim, step_dim * 4),
            nn.Mish(),
            nn.Linear(step_dim * 4, step_dim),
        )
        cond = step_dim + global_cond_dim
        a, b = dims
        self.down1 = ConditionalResidualBlock1D(input_dim, a, cond)
        self.downsample = nn.Conv1d(a, a, 3, 2, 1)
        self.down2 = ConditionalResidualBlock1D(a, b, cond)
        self.mid = ConditionalResidualBlock1D(b, b, cond)
        self.up1 = ConditionalResidualBlock1D(b * 2, a, cond)
        self.upsample = nn.ConvTranspose1d(a, a, 4, 2, 1)
        self.up2 = ConditionalResidualBlock1D(a * 2, a, cond)
        self.final_conv = nn.Sequential(Conv1dBlock(a, a), nn.Conv1d(a, input_dim, 1))

    def forward(self, sample, timestep, global_cond):
        x = sample.moveaxis(-1, -2)
        feature = torch.cat([self.diffusion_step_encoder(timestep), global_cond], dim=-1)
        skip1 = self.down1(x, feature)
        x = self.downsample(skip1)
        skip2 = self.down2(x, feature)
        x = self.mid(skip2, feature)
        x = self.up1(torch.cat((x, skip2), dim=1), feature)
        x = self.upsample(x)
        x = self.up2(torch.cat((x, skip1), dim=1), feature)
        x = self.final_conv(x)
        return x.moveaxis(-1, -2)


def make():
    torch.manual_seed(4)
    net = ConditionalUnet1D()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.GroupNorm):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0, 0.2)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "sample": rng.normal(size=(3, 16, 5)).astype("float32"),
        "timestep": np.array([3.0, 57.0, 91.0], "float32"),
        "global_cond": rng.normal(size=(3, 7)).astype("float32"),
    }
