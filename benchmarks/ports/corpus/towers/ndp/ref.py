"""Neural dynamic policies (Bahl et al. 2020): a network gives goal and forcing weights, a DMP is integrated."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
OBS, DOF, BASIS, HID, STEPS = 9, 3, 6, 20, 5
AX, AZ, DT = 1.0, 25.0, 0.1
BZ = AZ / 4.0


class DMP(nn.Module):
    def __init__(self):
        super().__init__()
        c = torch.exp(-AX * torch.linspace(0, 1, BASIS))
        self.register_buffer("c", c)
        self.register_buffer("h", BASIS ** 1.5 / c / AX)

    def forcing(self, x, w, scale):
        psi = torch.exp(-self.h * (x - self.c) ** 2)
        fx = (w * psi).sum(dim=-1) / psi.sum() * x
        return fx * scale

    def forward(self, goal, w, y0, dy0):
        x = torch.ones(())
        y, dy = y0, dy0
        traj, vels = [], []
        for _ in range(STEPS):
            x = x - AX * x * DT
            f = self.forcing(x, w, goal - y0)
            ddy = AZ * (BZ * (goal - y) - dy) + f
            dy = dy + ddy * DT
            y = y + dy * DT
            traj.append(y)
            vels.append(dy)
        return torch.stack(traj, dim=1), torch.stack(vels, dim=1)


class NDPPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + DOF, HID)
        self.ln = nn.LayerNorm(HID)
        self.fc2 = nn.Linear(HID, HID)
        self.goal = nn.Linear(HID, DOF)
        self.weights = nn.Linear(HID, DOF * BASIS)
        self.dmp = DMP()
        self.log_std = nn.Parameter(torch.zeros(DOF))
        self.gain = nn.Parameter(torch.ones(2, DOF))
        self.vf = nn.Linear(HID + DOF, 1)

    def forward(self, obs, y0, dy0):
        z = torch.tanh(self.ln(self.fc1(torch.cat([obs, y0], dim=-1))))
        z = z + torch.relu(self.fc2(z))
        goal = y0 + self.goal(z)
        w = self.weights(z).view(-1, DOF, BASIS) * 20.0
        traj, vel = self.dmp(goal, w, y0, dy0)
        kp, kd = torch.nn.functional.softplus(self.gain)
        torque = kp * (traj - y0[:, None]) + kd * (vel - dy0[:, None])
        std = torch.exp(self.log_std.clamp(-3.0, 0.5)).expand_as(torque)
        step = torch.cat([z[:, None].expand(-1, STEPS, -1), traj], dim=-1)
        return torque, std, self.vf(step), traj


def make():
    m = NDPPolicy()
    g = torch.Generator().manual_seed(29)
    with torch.no_grad():
        for n, p in m.named_parameters():
            v = torch.randn(p.shape, generator=g) * (p.shape[1] ** -0.5 if p.dim() > 1 else 0.2)
            p.copy_(v + 1 if n == "ln.weight" else v)
        m.log_std.sub_(0.7)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(6, OBS).astype("float32"), r.randn(6, DOF).astype("float32"),
            (0.4 * r.randn(6, DOF)).astype("float32"))
