"""SegFormer (Xie et al., 2021): two-stage Mix Transformer encoder with an all-MLP head. PyTorch, NCHW."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
DIMS, HEADS, SR, PATCH, STRIDE = (8, 16), (1, 2), (2, 1), (7, 3), (2, 2)
EMBED, CLASSES = 12, 5


class OverlapPatchEmbed(nn.Module):
    def __init__(self, in_ch, dim, patch, stride):
        super().__init__()
        self.proj = nn.Conv2d(in_ch, dim, patch, stride=stride, padding=patch // 2)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.proj(x)
        _, _, H, W = x.shape
        x = x.flatten(2).transpose(1, 2)
        return self.norm(x), H, W


class EfficientAttention(nn.Module):
    def __init__(self, dim, heads, sr):
        super().__init__()
        self.heads, self.scale, self.sr_ratio = heads, (dim // heads) ** -0.5, sr
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)
        if sr > 1:
            self.sr = nn.Conv2d(dim, dim, sr, stride=sr)
            self.norm = nn.LayerNorm(dim)

    def forward(self, x, H, W):
        B, N, C = x.shape
        q = self.q(x).reshape(B, N, self.heads, C // self.heads).permute(0, 2, 1, 3)
        if self.sr_ratio > 1:
            x_ = x.permute(0, 2, 1).reshape(B, C, H, W)
            x_ = self.sr(x_).reshape(B, C, -1).permute(0, 2, 1)
            x = self.norm(x_)
        kv = self.kv(x).reshape(B, -1, 2, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        k, v = kv[0], kv[1]
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


class MixFFN(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.dwconv = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x, H, W):
        x = self.fc1(x)
        B, N, C = x.shape
        x = x.transpose(1, 2).view(B, C, H, W)
        x = self.dwconv(x)
        x = x.flatten(2).transpose(1, 2)
        x = F.gelu(x)
        return self.fc2(x)


class Block(nn.Module):
    def __init__(self, dim, heads, sr):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = EfficientAttention(dim, heads, sr)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = MixFFN(dim, 2 * dim)

    def forward(self, x, H, W):
        x = x + self.attn(self.norm1(x), H, W)
        x = x + self.mlp(self.norm2(x), H, W)
        return x


class SegFormer(nn.Module):
    def __init__(self):
        super().__init__()
        chans = (3,) + DIMS
        self.embeds = nn.ModuleList([OverlapPatchEmbed(chans[i], DIMS[i], PATCH[i], STRIDE[i]) for i in range(2)])
        self.blocks = nn.ModuleList([Block(DIMS[i], HEADS[i], SR[i]) for i in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(d, eps=1e-6) for d in DIMS])
        self.linear_c = nn.ModuleList([nn.Linear(d, EMBED) for d in DIMS])
        self.fuse = nn.Conv2d(2 * EMBED, EMBED, 1, bias=False)
        self.bn = nn.BatchNorm2d(EMBED)
        self.pred = nn.Conv2d(EMBED, CLASSES, 1)

    def forward(self, x):
        feats = []
        for embed, block, norm in zip(self.embeds, self.blocks, self.norms):
            x, H, W = embed(x)
            x = norm(block(x, H, W))
            x = x.reshape(x.shape[0], H, W, -1).permute(0, 3, 1, 2)
            feats.append(x)
        size = feats[0].shape[2:]
        ups = []
        for f, lin in zip(feats, self.linear_c):
            y = lin(f.flatten(2).transpose(1, 2)).permute(0, 2, 1).reshape(f.shape[0], -1, *f.shape[2:])
            if y.shape[2:] != size:
                y = F.interpolate(y, size=size, mode="bilinear", align_corners=False)
            ups.append(y)
        y = self.fuse(torch.cat(ups[::-1], dim=1))
        y = F.relu(self.bn(y))
        return self.pred(y)


def make():
    model = SegFormer()
    rs = np.random.RandomState(1)
    norms = [m for m in model.modules() if isinstance(m, (nn.LayerNorm, nn.BatchNorm2d))]
    with torch.no_grad():
        for p in model.parameters():
            fan = p[0].numel() if p.dim() > 1 else 16
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 1.2 / fan ** 0.5))
        for m in norms:
            m.weight.copy_(torch.from_numpy(1 + 0.3 * rs.randn(*m.weight.shape)))
        model.bn.running_mean.copy_(torch.from_numpy(0.3 * rs.randn(EMBED)))
        model.bn.running_var.copy_(torch.from_numpy(0.5 + rs.rand(EMBED)))
    return model.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 16, 16).astype("float32"),)
