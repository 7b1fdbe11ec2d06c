"""DDPM noise predictor (Ho et al. 2020), a two-level U-Net, PyTorch."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
BASE, TEMB, GROUPS = 8, 24, 4


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float32) / half)
    arg = t.float()[:, None] * freqs[None]
    return torch.cat([torch.sin(arg), torch.cos(arg)], dim=1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.temb = nn.Linear(TEMB, cout)
        self.norm2 = nn.GroupNorm(GROUPS, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.temb(F.silu(emb))[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, c)
        self.q = nn.Conv2d(c, c, 1)
        self.k = nn.Conv2d(c, c, 1)
        self.v = nn.Conv2d(c, c, 1)
        self.out = nn.Conv2d(c, c, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        y = self.norm(x)
        q = self.q(y).flatten(2)
        k = self.k(y).flatten(2)
        v = self.v(y).flatten(2)
        att = torch.softmax(torch.bmm(q.transpose(1, 2), k) * c ** -0.5, dim=2)
        y = torch.bmm(v, att.transpose(1, 2)).reshape(b, c, h, w)
        return x + self.out(y)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(BASE * 2, TEMB), nn.SiLU(), nn.Linear(TEMB, TEMB))
        self.stem = nn.Conv2d(3, BASE, 3, padding=1)
        self.down1 = ResBlock(BASE, BASE)
        self.pool = nn.Conv2d(BASE, BASE, 3, stride=2, padding=1)
        self.down2 = ResBlock(BASE, 2 * BASE)
        self.mid = ResBlock(2 * BASE, 2 * BASE)
        self.attn = Attention(2 * BASE)
        self.up2 = ResBlock(4 * BASE, 2 * BASE)
        self.upconv = nn.Conv2d(2 * BASE, BASE, 3, padding=1)
        self.up1 = ResBlock(2 * BASE, BASE)
        self.up0 = ResBlock(2 * BASE, BASE)
        self.norm = nn.GroupNorm(GROUPS, BASE)
        self.head = nn.Conv2d(BASE, 3, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, BASE * 2))
        skips = [self.stem(x)]
        skips.append(self.down1(skips[-1], emb))
        h = self.down2(self.pool(skips[-1]), emb)
        m = self.attn(self.mid(h, emb))
        h = self.up2(torch.cat([m, h], dim=1), emb)
        h = self.upconv(F.interpolate(h, scale_factor=2, mode="nearest"))
        h = self.up1(torch.cat([h, skips.pop()], dim=1), emb)
        h = self.up0(torch.cat([h, skips.pop()], dim=1), emb)
        return self.head(F.silu(self.norm(h)))


def make(seed=6):
    torch.manual_seed(seed)
    net = UNet()
    for m in net.modules():
        if isinstance(m, nn.GroupNorm):
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.2)
        elif isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(m.weight)
            nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    return r.normal(size=(4, 3, 16, 16)).astype("float32"), r.integers(1, 1000, 4)
