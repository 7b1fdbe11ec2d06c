"""CPG-RL (Bellegarda & Ijspeert 2022): a policy modulates Hopf oscillators of a quadruped."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
OBS, LEGS, HID, STEPS, DT = 14, 4, 24, 3, 0.05
ALPHA, H_BODY, L_CLEAR, L_PEN, D_STEP = 12.0, 0.28, 0.09, 0.02, 0.12
L_THIGH, L_CALF = 0.213, 0.213


class RunningNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))

    def forward(self, x):
        return torch.clamp((x - self.mean) / torch.sqrt(self.var + 1e-5), -5.0, 5.0)


class Oscillators(nn.Module):
    def __init__(self):
        super().__init__()
        self.coupling = nn.Parameter(torch.ones(LEGS, LEGS))
        self.phase_bias = nn.Parameter(torch.zeros(LEGS, LEGS))

    def forward(self, state, mu, omega):
        r, r_dot, theta = state[:, 0], state[:, 1], state[:, 2]
        for _ in range(STEPS):
            diff = theta[:, None, :] - theta[:, :, None] - self.phase_bias
            pull = (r[:, None, :] * self.coupling * torch.sin(diff)).sum(dim=2)
            theta_dot = omega + pull
            r_ddot = ALPHA * (ALPHA / 4.0 * (mu - r) - r_dot)
            r = r + DT * r_dot
            r_dot = r_dot + DT * r_ddot
            theta = theta + DT * theta_dot
        return torch.stack([r, r_dot, theta], dim=1)


def foot_positions(state, psi):
    r, theta = state[:, 0], state[:, 2]
    x = -D_STEP * r * torch.cos(theta) * torch.cos(psi)
    y = -D_STEP * r * torch.cos(theta) * torch.sin(psi)
    s = torch.sin(theta)
    z = torch.where(s > 0, -H_BODY + L_CLEAR * s, -H_BODY + L_PEN * s)
    return x, y, z


def inverse_kinematics(x, y, z):
    hip = torch.atan2(y, -z)
    dist2 = x * x + y * y + z * z
    cos_knee = (dist2 - L_THIGH ** 2 - L_CALF ** 2) / (2 * L_THIGH * L_CALF)
    knee = -torch.acos(torch.clamp(cos_knee, -0.999, 0.999))
    thigh = torch.atan2(-x, -z) - torch.atan2(L_CALF * torch.sin(knee), L_THIGH + L_CALF * torch.cos(knee))
    return torch.stack([hip, thigh, knee], dim=-1)


class CPGPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RunningNorm(OBS)
        self.pi = nn.Sequential(nn.Linear(OBS, HID), nn.ELU(), nn.Linear(HID, HID), nn.ELU(), nn.Linear(HID, 3 * LEGS))
        self.vf = nn.Sequential(nn.Linear(OBS, HID), nn.ELU(), nn.Linear(HID, 1))
        self.cpg = Oscillators()

    def forward(self, obs, state):
        o = self.norm(obs)
        act = torch.tanh(self.pi(o)).view(-1, 3, LEGS)
        mu = 1.0 + 0.5 * (act[:, 0] + 1.0)
        omega = 2 * np.pi * 2.25 * (act[:, 1] + 1.0)
        psi = 1.5 * act[:, 2]
        state = self.cpg(state, mu, omega)
        joints = inverse_kinematics(*foot_positions(state, psi))
        return joints, state, self.vf(o)


def make():
    m = CPGPolicy()
    g = torch.Generator().manual_seed(21)
    with torch.no_grad():
        for p in m.parameters():
            k = p.shape[1] ** -0.5 if p.dim() > 1 else 0.2
            p.copy_(torch.randn(p.shape, generator=g) * k)
        m.norm.mean.copy_(0.3 * torch.randn(OBS, generator=g))
        m.norm.var.copy_(0.3 + torch.rand(OBS, generator=g) * 2)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(6, OBS).astype("float32")
    state = np.stack([1 + r.rand(6, LEGS), 0.3 * r.randn(6, LEGS), 2 * np.pi * r.rand(6, LEGS)], 1).astype("float32")
    return obs, state
