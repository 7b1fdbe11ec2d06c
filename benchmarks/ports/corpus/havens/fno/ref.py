"""Fourier neural operator (Li et al. 2021) for a 2-D Darcy flow: coefficient in, pressure out."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
SIZE, WIDTH, MODES, DEPTH = 16, 8, 4, 3


class SpectralConv2d(nn.Module):
    def __init__(self, cin, cout, modes):
        super().__init__()
        self.modes, self.cout = modes, cout
        scale = 1 / (cin * cout)
        self.weights1 = nn.Parameter(scale * torch.randn(cin, cout, modes, modes, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(scale * torch.randn(cin, cout, modes, modes, dtype=torch.cfloat))

    def forward(self, x):
        b, _, h, w = x.shape
        m = self.modes
        ft = torch.fft.rfft2(x)
        out = torch.zeros(b, self.cout, h, w // 2 + 1, dtype=ft.dtype)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", ft[:, :, :m, :m], self.weights1)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", ft[:, :, -m:, :m], self.weights2)
        return torch.fft.irfft2(out, s=(h, w))


class FNO2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, WIDTH)
        self.spectral = nn.ModuleList(SpectralConv2d(WIDTH, WIDTH, MODES) for _ in range(DEPTH))
        self.skip = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 1) for _ in range(DEPTH))
        self.project1 = nn.Linear(WIDTH, 24)
        self.project2 = nn.Linear(24, 1)

    def grid(self, x):
        b, h, w = x.shape[:3]
        gy = torch.linspace(0, 1, h).reshape(1, h, 1, 1).expand(b, h, w, 1)
        gx = torch.linspace(0, 1, w).reshape(1, 1, w, 1).expand(b, h, w, 1)
        return torch.cat([gy, gx], dim=-1)

    def forward(self, a):
        x = a.unsqueeze(-1)
        x = torch.cat([x, self.grid(x)], dim=-1)
        x = self.lift(x).permute(0, 3, 1, 2)
        for i in range(DEPTH):
            x = self.spectral[i](x) + self.skip[i](x)
            if i < DEPTH - 1:
                x = F.gelu(x)
        x = x.permute(0, 2, 3, 1)
        x = F.gelu(self.project1(x))
        return self.project2(x).squeeze(-1)


def make():
    torch.manual_seed(31)
    net = FNO2d()
    for name, p in net.named_parameters():
        if p.is_complex():
            p.data.copy_(0.15 * torch.randn_like(p))
        else:
            nn.init.normal_(p, std=0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.normal(size=(4, 8, 8)).repeat(2, 1).repeat(2, 2)
    return (np.where(coarse > 0, 1.2, 0.3) + 0.05 * rng.normal(size=(4, SIZE, SIZE))).astype("float32")
