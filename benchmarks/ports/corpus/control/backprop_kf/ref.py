"""Backprop-KF (Haarnoja et al. 2016): a learned sensor model feeding a differentiable Kalman filter."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NX, NZ, NU, NOBS = 4, 3, 2, 8


class SensorNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(NOBS, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.z = nn.Linear(hidden, NZ)
        self.r = nn.Linear(hidden, NZ)

    def forward(self, o):
        h = F.relu(self.norm(self.fc1(o)))
        h = h + torch.tanh(self.fc2(h))
        return self.z(h), F.softplus(self.r(h)) + 1e-2


class BackpropKF(nn.Module):
    def __init__(self, dt=0.1):
        super().__init__()
        self.dt = dt
        self.sensor = SensorNet()
        self.F_ = nn.Parameter(torch.randn(NX, NX))
        self.B = nn.Parameter(torch.randn(NX, NU) * 0.5)
        self.H = nn.Parameter(torch.randn(NZ, NX) * 0.7)
        self.log_q = nn.Parameter(torch.randn(NX) * 0.3 - 2.0)
        self.mu0 = nn.Parameter(torch.randn(NX) * 0.5)
        self.log_p0 = nn.Parameter(torch.randn(NX) * 0.3)

    def forward(self, obs, u, valid):
        b, t, _ = obs.shape
        z, r = self.sensor(obs)
        A = torch.eye(NX) + self.dt * self.F_
        Q = torch.diag(self.log_q.exp())
        I = torch.eye(NX).expand(b, NX, NX)
        mu = self.mu0.expand(b, NX)
        P = torch.diag(self.log_p0.exp()).expand(b, NX, NX)
        means, variances, nll = [], [], torch.zeros(b)
        for k in range(t):
            # predict
            mu = mu @ A.T + self.dt * u[:, k] @ self.B.T
            P = A @ P @ A.T + Q
            # update
            y = z[:, k] - mu @ self.H.T
            S = self.H @ P @ self.H.T + torch.diag_embed(r[:, k])
            K = torch.linalg.solve(S, self.H @ P).transpose(1, 2)
            mu_new = mu + (K @ y.unsqueeze(-1)).squeeze(-1)
            P_new = (I - K @ self.H) @ P
            maha = (y.unsqueeze(1) @ torch.linalg.solve(S, y.unsqueeze(-1))).flatten()
            step = 0.5 * (maha + torch.logdet(S) + NZ * np.log(2 * np.pi))
            v = valid[:, k] > 0.5
            mu = torch.where(v[:, None], mu_new, mu)
            P = torch.where(v[:, None, None], P_new, P)
            nll = nll + torch.where(v, step, torch.zeros_like(step))
            means.append(mu)
            variances.append(torch.diagonal(P, dim1=1, dim2=2))
        nll = nll / valid.sum(1).clamp(min=1.0)
        return {"mean": torch.stack(means, 1), "var": torch.stack(variances, 1), "nll": nll}


def make():
    torch.manual_seed(3)
    m = BackpropKF()
    with torch.no_grad():
        m.sensor.norm.weight.uniform_(0.6, 1.4)
        m.sensor.norm.bias.normal_(0, 0.3)
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    valid = (g.random((5, 7)) > 0.35).astype(np.float32)
    valid[:, 0] = 1.0
    return (g.normal(0, 0.5, (5, 7, NOBS)).astype(np.float32), g.normal(size=(5, 7, NU)).astype(np.float32), valid)
