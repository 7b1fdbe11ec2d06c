"""Batched Kalman filter and RTS smoother as a torch module."""
import math

import torch
from torch import nn

FRAMEWORK = "torch"


class KalmanSmoother(nn.Module):
    def __init__(self, n=4, m=2, k=1, clip=2.0):
        super().__init__()
        self.n, self.m, self.clip = n, m, clip
        self.F = nn.Parameter(torch.eye(n))
        self.B = nn.Parameter(torch.zeros(n, k))
        self.H = nn.Parameter(torch.zeros(m, n))
        for name, size in (("Q", (n, n)), ("R", (m, m)), ("x0", (n,)), ("P0", (n, n))):
            self.register_buffer(name, torch.zeros(size))

    def predict(self, x, P, u):
        x = x @ self.F.T + u @ self.B.T
        P = self.F @ P @ self.F.T + self.Q
        return x, P

    def update(self, x, P, y):
        S = self.H @ P @ self.H.T + self.R
        L = torch.linalg.cholesky(S)
        bound = self.clip * S.diagonal(dim1=-2, dim2=-1).sqrt()
        v = y - x @ self.H.T
        v = torch.minimum(torch.maximum(v, -bound), bound)
        K = torch.cholesky_solve(self.H @ P, L).transpose(-1, -2)
        x = x + torch.einsum("bnm,bm->bn", K, v)
        A = torch.eye(self.n) - K @ self.H
        P = A @ P @ A.transpose(-1, -2) + K @ self.R @ K.transpose(-1, -2)
        white = torch.linalg.solve_triangular(L, v.unsqueeze(-1), upper=False).squeeze(-1)
        logdet = 2.0 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        ll = -0.5 * (white.square().sum(-1) + logdet + self.m * math.log(2 * math.pi))
        return x, P, ll

    def forward(self, y, u, observed):
        batch, steps = observed.shape
        x = self.x0.expand(batch, -1)
        P = self.P0.expand(batch, -1, -1)
        total = torch.zeros(batch)
        pred, filt = [], []
        for t in range(steps):
            if t > 0:
                x, P = self.predict(x, P, u[:, t - 1])
            pred.append((x, P))
            seen = observed[:, t]
            x_new, P_new, ll = self.update(x, P, y[:, t])
            x = torch.where(seen.unsqueeze(-1), x_new, x)
            P = torch.where(seen[:, None, None], P_new, P)
            total = total + torch.where(seen, ll, torch.zeros_like(ll))
            filt.append((x, P))

        smooth = list(filt)
        for t in reversed(range(0, steps - 1)):
            xf, Pf = filt[t]
            xp, Pp = pred[t + 1]
            xs, Ps = smooth[t + 1]
            G = torch.linalg.solve(Pp, self.F @ Pf).transpose(-1, -2)
            smooth[t] = (xf + torch.einsum("bij,bj->bi", G, xs - xp),
                         Pf + G @ (Ps - Pp) @ G.transpose(-1, -2))
        return {
            "filtered": torch.stack([s[0] for s in filt], 1),
            "smoothed": torch.stack([s[0] for s in smooth], 1),
            "cov": torch.stack([s[1] for s in smooth], 1),
            "loglik": total,
        }


def make():
    return KalmanSmoother().eval()


def load(port_model, ref_model):
    with torch.no_grad():
        for name in ("F", "B", "H", "Q", "R", "x0", "P0"):
            getattr(port_model, name).copy_(torch.from_numpy(getattr(ref_model, name)))
    port_model.clip = float(ref_model.clip)
    return port_model
