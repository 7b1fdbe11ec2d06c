"""Phase-functioned neural network for character control, rolled out two frames."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, W, H = 10, 6, 12


def cubic(y0, y1, y2, y3, mu):
    return ((-0.5 * y0 + 1.5 * y1 - 1.5 * y2 + 0.5 * y3) * mu * mu * mu
            + (y0 - 2.5 * y1 + 2.0 * y2 - 0.5 * y3) * mu * mu
            + (-0.5 * y0 + 0.5 * y2) * mu
            + y1)


class PhaseLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4, n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(4, n_out))

    def forward(self, x, k, mu):
        k1 = k
        k0 = (k1 + 3) % 4
        k2 = (k1 + 1) % 4
        k3 = (k1 + 2) % 4
        w, b = self.weight, self.bias
        wp = cubic(w[k0], w[k1], w[k2], w[k3], mu[:, None, None])
        bp = cubic(b[k0], b[k1], b[k2], b[k3], mu[:, None])
        return torch.bmm(wp, x.unsqueeze(2)).squeeze(2) + bp


class PFNN(nn.Module):
    def __init__(self):
        super().__init__()
        n_in, n_out = S + 2 * W, S + 2 * W + 1
        self.l0 = PhaseLayer(n_in, H)
        self.l1 = PhaseLayer(H, H)
        self.l2 = PhaseLayer(H, n_out)
        self.register_buffer("xmean", torch.zeros(n_in))
        self.register_buffer("xstd", torch.ones(n_in))
        self.register_buffer("ymean", torch.zeros(n_out))
        self.register_buffer("ystd", torch.ones(n_out))

    def step(self, x, phase):
        pscale = 4.0 * phase / (2.0 * math.pi)
        mu = pscale % 1.0
        k = pscale.long() % 4
        x = (x - self.xmean) / self.xstd
        x = F.elu(self.l0(x, k, mu))
        x = F.elu(self.l1(x, k, mu))
        y = self.l2(x, k, mu)
        return y * self.ystd + self.ymean

    def forward(self, state, traj, phase_in):
        B = state.shape[0]
        phase, speed = phase_in[:, 0], phase_in[:, 1]
        blend = (torch.arange(W, dtype=torch.float32) / W) ** 0.75
        for _ in range(2):
            phase = (phase + speed * 2.0 * math.pi / 60.0) % (2.0 * math.pi)
            y = self.step(torch.cat([state, traj.reshape(B, -1)], 1), phase)
            state = y[:, :S]
            pred = y[:, S:S + 2 * W].reshape(B, W, 2)
            traj = (1.0 - blend)[None, :, None] * pred + blend[None, :, None] * traj
            speed = 1.0 + 6.0 * torch.sigmoid(y[:, -1])
        return state, traj, torch.stack([torch.cos(phase), torch.sin(phase)], 1)


def make():
    m = PFNN()
    r = np.random.RandomState(1)
    for n, p in m.named_parameters():
        p.data = torch.tensor(r.randn(*p.shape) * (0.35 if p.dim() == 3 else 0.2), dtype=torch.float32)
    for n, b in m.named_buffers():
        v = r.randn(*b.shape) * 0.3 if "mean" in n else r.uniform(0.6, 1.5, b.shape)
        b.copy_(torch.tensor(v, dtype=torch.float32))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(5, S).astype("f"), r.randn(5, W, 2).astype("f"),
            np.stack([r.uniform(0, 6.28, 5), r.uniform(1, 8, 5)], 1).astype("f"))
