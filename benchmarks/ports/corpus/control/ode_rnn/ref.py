"""Latent ODE with an ODE-RNN encoder (Rubanova et al. 2019), RK4 with a fixed number of substeps."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
D, LAT, HID = 3, 6, 20


class ODEFunc(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Softplus(),
                                 nn.Linear(hidden, dim))

    def forward(self, y):
        return self.net(y)


def rk4(f, y, dt, n=3):
    h = dt / n
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.5 * h * k2)
        k4 = f(y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y


class LatentODE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc_ode = ODEFunc(HID, 24)
        self.cell = nn.GRUCell(2 * D, HID)
        self.to_q0 = nn.Linear(HID, 2 * LAT)
        self.dec_ode = ODEFunc(LAT, 24)
        self.readout = nn.Sequential(nn.Linear(LAT, 16), nn.ReLU(), nn.Linear(16, D))
        self.log_noise = nn.Parameter(torch.randn(D) * 0.2 - 1.0)

    def forward(self, x, mask, times):
        b, t, _ = x.shape
        h = torch.zeros(b, HID)
        prev = times[:, -1]
        for k in range(t - 1, -1, -1):
            h = rk4(self.enc_ode, h, (times[:, k] - prev).unsqueeze(1))
            h_new = self.cell(torch.cat([x[:, k] * mask[:, k], mask[:, k]], 1), h)
            seen = mask[:, k].any(dim=1, keepdim=True)
            h = torch.where(seen, h_new, h)
            prev = times[:, k]
        mu, raw = self.to_q0(h).chunk(2, dim=1)
        std = F.softplus(raw) + 1e-3
        z, zs = mu, []
        prev = times[:, 0]
        for k in range(t):
            z = rk4(self.dec_ode, z, (times[:, k] - prev).unsqueeze(1))
            prev = times[:, k]
            zs.append(z)
        pred = self.readout(torch.stack(zs, 1))
        ll = -0.5 * ((x - pred) / self.log_noise.exp()) ** 2 - self.log_noise - 0.5 * np.log(2 * np.pi)
        ll = (ll * mask).sum((1, 2)) / mask.sum((1, 2))
        kl = (0.5 * (mu ** 2 + std ** 2 - 1.0) - std.log()).sum(1)
        return pred, mu, std, ll - kl


def make():
    torch.manual_seed(17)
    return LatentODE().eval()


def inputs(seed):
    g = np.random.default_rng(seed + 40)
    x = g.normal(size=(4, 6, D)).astype(np.float32)
    m = (g.random((4, 6, D)) > 0.45).astype(np.float32)
    m[:, 0] = 1
    m[1, 3] = 0
    times = np.cumsum(g.uniform(0.1, 0.8, (4, 6)), axis=1).astype(np.float32)
    return x, m, times
