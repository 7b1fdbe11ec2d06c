"""Quadrotor: neural controller and differentiable rigid-body simulation (RK4, quaternions)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
STEPS, DT, MASS, GRAVITY = 2, 0.05, 0.8, 9.81
ARM, KAPPA = 0.17, 0.016


def quat_mul(a, b):
    aw, av = a[:, :1], a[:, 1:]
    bw, bv = b[:, :1], b[:, 1:]
    w = aw * bw - (av * bv).sum(-1, keepdim=True)
    v = aw * bv + bw * av + torch.cross(av, bv, dim=-1)
    return torch.cat([w, v], dim=-1)


def rotate(q, v):
    """Rotate body vector v into the world frame."""
    u = q[:, 1:]
    t = 2.0 * torch.cross(u, v, dim=-1)
    return v + q[:, :1] * t + torch.cross(u, t, dim=-1)


class Quadrotor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inertia = nn.Parameter(torch.rand(3) * 0.01 + 0.01)
        self.drag = nn.Parameter(torch.rand(3) * 0.3 + 0.1)
        d = ARM / np.sqrt(2.0)
        self.register_buffer("mixer", torch.tensor([[1, 1, 1, 1], [d, -d, -d, d], [-d, d, -d, d],
                                                    [KAPPA, KAPPA, -KAPPA, -KAPPA]], dtype=torch.float32))

    def derivative(self, v, q, w, thrust, torque):
        up = torch.zeros_like(v)
        up[:, 2] = thrust[:, 0] / MASS
        air = rotate(torch.cat([q[:, :1], -q[:, 1:]], -1), v)
        acc = rotate(q, up - self.drag * air)
        acc = acc - torch.tensor([0.0, 0.0, GRAVITY])
        qdot = 0.5 * quat_mul(q, torch.cat([torch.zeros_like(w[:, :1]), w], -1))
        wdot = (torque - torch.cross(w, self.inertia * w, dim=-1)) / self.inertia
        return v, acc, qdot, wdot

    def forward(self, state, rotors):
        wrench = rotors @ self.mixer.t()
        thrust, torque = wrench[:, :1], wrench[:, 1:] * 0.1
        x = state.split([3, 3, 4, 3], dim=-1)

        def f(y):
            return self.derivative(y[1], y[2], y[3], thrust, torque)

        def shift(k, s):
            return tuple(a + s * b for a, b in zip(x, k))
        k1 = f(x)
        k2 = f(shift(k1, DT / 2))
        k3 = f(shift(k2, DT / 2))
        k4 = f(shift(k3, DT))
        new = [a + DT / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(x, k1, k2, k3, k4)]
        new[2] = new[2] / new[2].norm(dim=-1, keepdim=True)
        return torch.cat(new, dim=-1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(13, 24), nn.Tanh(), nn.Linear(24, 16), nn.SiLU())
        self.rotors = nn.Linear(16, 4)
        self.value = nn.Linear(16, 1)
        self.sim = Quadrotor()

    def forward(self, state, goal):
        states, costs = [], []
        for i in range(STEPS):
            p, v, q, w = state.split([3, 3, 4, 3], dim=-1)
            q = torch.where(q[:, :1] < 0, -q, q)
            error = goal[:, i] - p
            f = self.body(torch.cat([error, v, q, w], dim=-1))
            rotors = 2.0 + 1.5 * torch.tanh(self.rotors(f))
            state = self.sim(state, rotors)
            tilt = 1.0 - rotate(q, torch.tensor([0.0, 0.0, 1.0]).expand(q.shape[0], 3))[:, 2]
            cost = (error ** 2).sum(-1) + 0.1 * (v ** 2).sum(-1) + 0.5 * tilt + 0.01 * ((rotors - 2.0) ** 2).sum(-1)
            states.append(state)
            costs.append(cost + 0.2 * self.value(f)[:, 0])
        return torch.stack(states, 1), torch.stack(costs, 1)


def make():
    torch.manual_seed(0)
    m = Agent().eval()
    g = torch.Generator().manual_seed(41)
    for n, p in m.named_parameters():
        if not n.startswith("sim"):
            r = torch.randn(p.shape, generator=g)
            p.data = r * (1.4 / p.shape[-1] ** 0.5) if p.dim() > 1 else 0.3 * r
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(6, 4))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    s = np.concatenate([rng.normal(size=(6, 6)), q, rng.normal(size=(6, 3)) * 2], -1)
    return s.astype("float32"), rng.normal(size=(6, STEPS, 3)).astype("float32")
