"""A small vision transformer in the style of timm: patches, class token, pre-norm blocks, head."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass
class ViTConfig:
    image: int = 16
    patch: int = 4
    channels: int = 3
    dim: int = 32
    depth: int = 3
    heads: int = 4
    mlp_ratio: int = 2
    classes: int = 10
    eps: float = 1e-6
    layer_scale: float = 0.5


class PatchEmbed(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.proj = nn.Conv2d(cfg.channels, cfg.dim, cfg.patch, stride=cfg.patch)
        self.count = (cfg.image // cfg.patch) ** 2

    def forward(self, images):
        x = self.proj(images)
        return x.flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.scale = (cfg.dim // cfg.heads) ** -0.5
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.proj = nn.Linear(cfg.dim, cfg.dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1)
        x = (weights @ v).transpose(1, 2).reshape(b, n, c)
        return self.proj(x)


class Mlp(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(cfg.dim, cfg.mlp_ratio * cfg.dim)
        self.fc2 = nn.Linear(cfg.mlp_ratio * cfg.dim, cfg.dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1 = nn.LayerNorm(cfg.dim, eps=cfg.eps)
        self.attn = Attention(cfg)
        self.ls1 = nn.Parameter(torch.full((cfg.dim,), cfg.layer_scale))
        self.norm2 = nn.LayerNorm(cfg.dim, eps=cfg.eps)
        self.mlp = Mlp(cfg)
        self.ls2 = nn.Parameter(torch.full((cfg.dim,), cfg.layer_scale))

    def forward(self, x):
        x = x + self.ls1 * self.attn(self.norm1(x))
        x = x + self.ls2 * self.mlp(self.norm2(x))
        return x


class ViT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.patch_embed = PatchEmbed(cfg)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.count + 1, cfg.dim))
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.depth)])
        self.norm = nn.LayerNorm(cfg.dim, eps=cfg.eps)
        self.head = nn.Linear(cfg.dim, cfg.classes)
        self.apply(self._init)
        nn.init.normal_(self.cls_token, std=0.5)
        nn.init.normal_(self.pos_embed, std=0.5)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.normal_(module.bias, std=0.1)
        elif isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.normal_(module.bias, std=0.1)

    def forward(self, images):
        x = self.patch_embed(images)
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        x = torch.cat([cls, x], dim=1)
        x = x + self.pos_embed
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x[:, 0])


def make(seed=0):
    torch.manual_seed(seed)
    return ViT(ViTConfig()).eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(6, 3, 16, 16)).astype(np.float32),)
