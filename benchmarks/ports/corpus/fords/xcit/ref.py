"""XCiT (El-Nouby et al. 2021): cross-covariance attention, local patch interaction, class attention."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
HI, WI, D, HEADS, DEPTH, CLASSES = 16, 12, 16, 4, 2, 5


class PositionalEncodingFourier(nn.Module):
    def __init__(self, hidden_dim=8, dim=D):
        super().__init__()
        self.token_projection = nn.Conv2d(hidden_dim * 2, dim, kernel_size=1)
        self.scale = 2 * math.pi
        self.temperature = 10000
        self.hidden_dim = hidden_dim

    def forward(self, H, W):
        y = torch.arange(1, H + 1, dtype=torch.float32).unsqueeze(1).repeat(1, W)
        x = torch.arange(1, W + 1, dtype=torch.float32).repeat(H, 1)
        y = y / (H + 1e-6) * self.scale
        x = x / (W + 1e-6) * self.scale
        dim_t = torch.arange(self.hidden_dim, dtype=torch.float32)
        dim_t = self.temperature ** (2 * torch.div(dim_t, 2, rounding_mode="floor") / self.hidden_dim)
        px, py = x[:, :, None] / dim_t, y[:, :, None] / dim_t
        px = torch.stack([px[:, :, 0::2].sin(), px[:, :, 1::2].cos()], dim=3).flatten(2)
        py = torch.stack([py[:, :, 0::2].sin(), py[:, :, 1::2].cos()], dim=3).flatten(2)
        pos = torch.cat((py, px), dim=2).permute(2, 0, 1).unsqueeze(0)
        return self.token_projection(pos)


class ConvPatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Sequential(
            nn.Conv2d(3, D // 2, 3, 2, 1, bias=False), nn.BatchNorm2d(D // 2), nn.GELU(),
            nn.Conv2d(D // 2, D, 3, 2, 1, bias=False), nn.BatchNorm2d(D))

    def forward(self, x):
        x = self.proj(x)
        return x.flatten(2).transpose(1, 2), (x.shape[2], x.shape[3])


class LPI(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(D, D, 3, padding=1, groups=D)
        self.act = nn.GELU()
        self.bn = nn.BatchNorm2d(D)
        self.conv2 = nn.Conv2d(D, D, 3, padding=1, groups=D)

    def forward(self, x, H, W):
        B, N, C = x.shape
        x = x.permute(0, 2, 1).reshape(B, C, H, W)
        x = self.conv1(x)
        x = self.act(x)
        x = self.bn(x)
        x = self.conv2(x)
        return x.reshape(B, C, N).permute(0, 2, 1)


class XCA(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(HEADS, 1, 1))
        self.qkv = nn.Linear(D, D * 3)
        self.proj = nn.Linear(D, D)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, HEADS, C // HEADS).permute(2, 0, 3, 4, 1)
        q, k, v = qkv[0], qkv[1], qkv[2]                       # B, h, d, N
        q = F.normalize(q, dim=-1)
        k = F.normalize(k, dim=-1)
        attn = (q @ k.transpose(-2, -1)) * self.temperature
        attn = attn.softmax(dim=-1)
        x = (attn @ v).permute(0, 3, 1, 2).reshape(B, N, C)
        return self.proj(x)


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))


class XCABlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn, self.mlp, self.local_mp = XCA(), Mlp(), LPI()
        self.gamma1 = nn.Parameter(torch.ones(D))
        self.gamma2 = nn.Parameter(torch.ones(D))
        self.gamma3 = nn.Parameter(torch.ones(D))

    def forward(self, x, H, W):
        x = x + self.gamma1 * self.attn(self.norm1(x))
        x = x + self.gamma3 * self.local_mp(self.norm3(x), H, W)
        x = x + self.gamma2 * self.mlp(self.norm2(x))
        return x


class ClassAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.qkv = nn.Linear(D, D * 3)
        self.proj = nn.Linear(D, D)
        self.scale = (D // HEADS) ** -0.5

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(self.norm(x)).reshape(B, N, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        qc = q[:, :, 0:1]
        attn = (qc * k).sum(dim=-1) * self.scale
        attn = attn.softmax(dim=-1)
        cls = (attn.unsqueeze(2) @ v).transpose(1, 2).reshape(B, 1, C)
        return x[:, 0:1] + self.proj(cls)


class XCiT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = ConvPatchEmbed()
        self.pos_embeder = PositionalEncodingFourier()
        self.blocks = nn.ModuleList([XCABlock() for _ in range(DEPTH)])
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D))
        self.cls_attn = ClassAttention()
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, CLASSES)

    def forward(self, x):
        x, (Hp, Wp) = self.patch_embed(x)
        pos = self.pos_embeder(Hp, Wp).reshape(1, -1, x.shape[1]).permute(0, 2, 1)
        x = x + pos
        for blk in self.blocks:
            x = blk(x, Hp, Wp)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = self.cls_attn(x)
        return self.head(self.norm(x)[:, 0])


def make():
    g = torch.Generator().manual_seed(23)
    m = XCiT()
    with torch.no_grad():
        for n, p in list(m.named_parameters()) + list(m.named_buffers()):
            if p.ndim == 0:
                continue
            z = torch.randn(p.shape, generator=g)
            if n.endswith("running_var"):
                p.copy_(0.6 + torch.rand(p.shape, generator=g))
            elif n.endswith("temperature"):
                p.copy_(2 + 0.5 * z)
            elif p.ndim in (2, 4):
                p.copy_(z * 1.2 / math.sqrt(p[0].numel()))
            elif "gamma" in n:
                p.copy_(0.7 + 0.2 * z)
            else:
                p.copy_((1.0 if n.endswith("weight") else 0.0) + 0.2 * z)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, HI, WI).astype("float32"),)
