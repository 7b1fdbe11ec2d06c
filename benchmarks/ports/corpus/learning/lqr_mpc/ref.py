"""Differentiable MPC layer: a network gives local dynamics and costs, an LQR pass gives the plan."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"

STATE, CONTROL, CONTEXT, HIDDEN = 4, 2, 6, 16
HORIZON = 6
DT = 0.2
U_MAX = 0.6
REG = 1e-2


class DynamicsNet(nn.Module):
    """Time-invariant linear dynamics x' = A x + B u + c around the present context."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CONTEXT, HIDDEN), nn.Tanh())
        self.to_a = nn.Linear(HIDDEN, STATE * STATE)
        self.to_b = nn.Linear(HIDDEN, STATE * CONTROL)
        self.to_c = nn.Linear(HIDDEN, STATE)

    def forward(self, context):
        h = self.body(context)
        eye = torch.eye(STATE, dtype=h.dtype, device=h.device)
        A = eye + DT * self.to_a(h).view(-1, STATE, STATE)
        B = DT * self.to_b(h).view(-1, STATE, CONTROL)
        return A, B, DT * self.to_c(h)


class CostNet(nn.Module):
    """Quadratic cost 0.5 [x u] C [x u]' + c [x u]', C positive definite."""

    def __init__(self):
        super().__init__()
        n = STATE + CONTROL
        self.hidden = nn.Linear(CONTEXT, HIDDEN)
        self.factor = nn.Linear(HIDDEN, n * n)
        self.linear = nn.Linear(HIDDEN, n)
        self.log_terminal = nn.Parameter(torch.randn(STATE) * 0.3)

    def forward(self, context, goal):
        n = STATE + CONTROL
        h = F.relu(self.hidden(context))
        L = torch.tril(self.factor(h).view(-1, n, n))
        C = L @ L.transpose(1, 2) + 0.5 * torch.eye(n, dtype=h.dtype, device=h.device)
        c = self.linear(h)
        shift = torch.cat([goal, goal.new_zeros(goal.shape[0], CONTROL)], dim=1)
        c = c - torch.bmm(C, shift.unsqueeze(2)).squeeze(2)
        return C, c, torch.diag(self.log_terminal.exp())


def mv(m, v):
    return torch.bmm(m, v.unsqueeze(2)).squeeze(2)


def lqr_backward(A, B, f, C, c, V, v):
    """Riccati recursion; returns the gains in time order."""
    gains = []
    Fm = torch.cat([A, B], dim=2)
    Ft = Fm.transpose(1, 2)
    reg = REG * torch.eye(CONTROL, dtype=A.dtype, device=A.device)
    for _ in range(HORIZON):
        Q = C + Ft @ V @ Fm
        q = c + mv(Ft, mv(V, f) + v)
        Qxx, Qxu = Q[:, :STATE, :STATE], Q[:, :STATE, STATE:]
        Qux, Quu = Q[:, STATE:, :STATE], Q[:, STATE:, STATE:]
        qx, qu = q[:, :STATE], q[:, STATE:]
        K = -torch.linalg.solve(Quu + reg, Qux)
        k = -torch.linalg.solve(Quu + reg, qu.unsqueeze(2)).squeeze(2)
        Kt = K.transpose(1, 2)
        V = Qxx + Qxu @ K + Kt @ Qux + Kt @ Quu @ K
        V = 0.5 * (V + V.transpose(1, 2))
        v = qx + mv(Qxu, k) + mv(Kt, qu) + mv(Kt, mv(Quu, k))
        gains.insert(0, (K, k))
    return gains


class MPCPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.dynamics = DynamicsNet()
        self.cost = CostNet()

    def forward(self, context, x0, goal):
        A, B, f = self.dynamics(context)
        C, c, terminal = self.cost(context, goal)
        V = terminal.expand(x0.shape[0], -1, -1)
        v = -mv(V, goal)
        gains = lqr_backward(A, B, f, C, c, V, v)

        x, xs, us = x0, [x0], []
        total = x0.new_zeros(x0.shape[0])
        for K, k in gains:
            u = (mv(K, x) + k).clamp(-U_MAX, U_MAX)
            tau = torch.cat([x, u], dim=1)
            total = total + 0.5 * (tau * mv(C, tau)).sum(1) + (c * tau).sum(1)
            x = mv(A, x) + mv(B, u) + f
            xs.append(x)
            us.append(u)
        total = total + 0.5 * (x * mv(V, x)).sum(1) + (v * x).sum(1)
        return torch.stack(us, 1), torch.stack(xs, 1), total


def make(seed=0):
    torch.manual_seed(seed)
    return MPCPolicy().eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    context = rng.normal(size=(b, CONTEXT)).astype(np.float32)
    scale = np.array([0.1, 0.3, 1.5, 0.2, 2.0, 0.1])[:, None]
    x0 = (scale * rng.normal(size=(b, STATE))).astype(np.float32)
    goal = (0.5 * scale * rng.normal(size=(b, STATE))).astype(np.float32)
    return context, x0, goal
