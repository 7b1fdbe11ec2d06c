"""S4D (Gu et al. 2022), minimal version: diagonal state space layers with FFT convolution."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, L, DIN, H, NST, LAYERS, NC = 4, 16, 3, 8, 8, 2, 5


class S4DKernel(nn.Module):
    def __init__(self, h, n):
        super().__init__()
        self.C = nn.Parameter(torch.zeros(h, n // 2, 2))
        self.log_dt = nn.Parameter(torch.zeros(h))
        self.log_A_real = nn.Parameter(torch.zeros(h, n // 2))
        self.A_imag = nn.Parameter(torch.zeros(h, n // 2))

    def forward(self, length):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(length)
        C = C * (torch.exp(dtA) - 1.0) / A
        return 2 * torch.einsum("hn,hnl->hl", C, torch.exp(K)).real


class S4D(nn.Module):
    def __init__(self, h, n):
        super().__init__()
        self.D = nn.Parameter(torch.zeros(h))
        self.kernel = S4DKernel(h, n)
        self.output_linear = nn.Sequential(nn.Conv1d(h, 2 * h, 1), nn.GLU(dim=-2))

    def forward(self, u):
        length = u.shape[-1]
        k = self.kernel(length)
        k_f = torch.fft.rfft(k, n=2 * length)
        u_f = torch.fft.rfft(u, n=2 * length)
        y = torch.fft.irfft(u_f * k_f, n=2 * length)[..., :length]
        y = y + u * self.D.unsqueeze(-1)
        return self.output_linear(F.gelu(y))


class S4Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(DIN, H)
        self.s4_layers = nn.ModuleList([S4D(H, NST) for _ in range(LAYERS)])
        self.norms = nn.ModuleList([nn.LayerNorm(H) for _ in range(LAYERS)])
        self.decoder = nn.Linear(H, NC)

    def forward(self, x):
        x = self.encoder(x).transpose(-1, -2)
        for layer, norm in zip(self.s4_layers, self.norms):
            z = layer(x)
            x = z + x
            x = norm(x.transpose(-1, -2)).transpose(-1, -2)
        x = x.transpose(-1, -2).mean(dim=1)
        return self.decoder(x)


def make():
    m = S4Model()
    g = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for name, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if "norms" in name and name.endswith("weight"):
                r = 1 + 0.2 * r
            elif name.endswith("log_dt"):
                r = -1.5 + 0.4 * r
            elif name.endswith("log_A_real"):
                r = -0.7 + 0.2 * r
            elif name.endswith("A_imag"):
                r = np.pi * torch.arange(NST // 2) + 0.2 * r
            elif name.endswith(".C") or name.endswith(".D"):
                r = 0.7 * r
            else:
                r = 0.4 * r
            p.copy_(r)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(B, L, DIN).astype("float32"),)
