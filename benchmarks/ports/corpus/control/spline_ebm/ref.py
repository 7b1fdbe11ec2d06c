"""Implicit BC: spatial-softmax image encoder, energies of B-spline trajectory candidates with FiLM conditioning."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
P, DEG, T = 6, 3, 9


def bspline_basis(p, deg, t):
    """Cox - de Boor recursion, clamped uniform knots."""
    knots = np.concatenate([np.zeros(deg), np.linspace(0, 1, p - deg + 1), np.ones(deg)])
    u = np.linspace(0, 1, t)
    n = [((knots[i] <= u) & (u < knots[i + 1])).astype(float) for i in range(len(knots) - 1)]
    n[p - 1][u == 1.0] = 1.0
    for d in range(1, deg + 1):
        new = []
        for i in range(len(n) - 1):
            l, r = knots[i + d] - knots[i], knots[i + d + 1] - knots[i + 1]
            left = (u - knots[i]) / l * n[i] if l > 0 else 0.0
            right = (knots[i + d + 1] - u) / r * n[i + 1] if r > 0 else 0.0
            new.append(left + right)
        n = new
    return torch.tensor(np.stack(n, 1), dtype=torch.float32)


class SpatialSoftmax(nn.Module):
    def __init__(self, h, w):
        super().__init__()
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        self.register_buffer("xs", xs.reshape(-1))
        self.register_buffer("ys", ys.reshape(-1))
        self.log_temp = nn.Parameter(torch.tensor(-0.4))

    def forward(self, f):
        b, c, h, w = f.shape
        p = torch.softmax(f.view(b, c, -1) / self.log_temp.exp(), dim=-1)
        return torch.stack([(p * self.xs).sum(-1), (p * self.ys).sum(-1)], dim=-1)     # (B, C, 2)


class ImplicitPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.GroupNorm(2, 8), nn.ELU(),
                                  nn.Conv2d(8, 8, 3, 1, 1), nn.GroupNorm(4, 8), nn.ELU(), nn.Conv2d(8, 6, 1))
        self.points = SpatialSoftmax(8, 6)
        self.register_buffer("basis", bspline_basis(P, DEG, T))
        self.film = nn.Linear(12, 2 * 32)
        self.e1, self.e2, self.e3 = nn.Linear(2 * T + 2, 32), nn.Linear(32, 32), nn.Linear(32, 1)
        self.lam = nn.Parameter(torch.tensor(0.05))

    def forward(self, img, cands):
        b, n = cands.shape[:2]
        kp = self.points(self.conv(img))
        traj = torch.einsum("tp,bnpd->bntd", self.basis, cands)
        dt = 1.0 / (T - 1)
        acc = (traj[:, :, 2:] - 2 * traj[:, :, 1:-1] + traj[:, :, :-2]) / dt ** 2
        rough = acc.pow(2).sum(-1).mean(-1)
        goal = traj[:, :, -1] - traj[:, :, 0]
        scale, shift = self.film(kp.flatten(1)).chunk(2, dim=-1)
        h = self.e1(torch.cat([traj.flatten(2), goal], -1))
        h = F.silu((1 + scale[:, None]) * h + shift[:, None])
        h = h + F.silu(self.e2(h))
        energy = self.e3(h).squeeze(-1) + self.lam * torch.log1p(rough)
        logp = F.log_softmax(-energy, dim=1)
        mean = (logp.exp()[:, :, None, None] * traj).sum(1)
        var = (logp.exp()[:, :, None, None] * (traj - mean[:, None]) ** 2).sum(1)
        return {"energy": energy, "logp": logp, "mean": mean, "std": var.sqrt(), "keypoints": kp}


def make():
    torch.manual_seed(61)
    m = ImplicitPolicy()
    with torch.no_grad():
        for i in (1, 4):
            m.conv[i].weight.uniform_(0.6, 1.5)
            m.conv[i].bias.normal_(0, 0.3)
        m.conv[6].weight.mul_(3.0)
        m.film.weight.mul_(2.0)
        m.e3.weight.mul_(6.0)
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed + 70)
    return g.random((3, 1, 16, 12)).astype(np.float32), np.cumsum(g.normal(0, 0.4, (3, 8, P, 2)), 2).astype(np.float32)
