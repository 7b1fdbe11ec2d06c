"""Neural dynamic policies (Bahl et al. 2020): the network emits the parameters of a DMP that is integrated."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
STATE, DOF, NB, STEPS, HID = 6, 2, 5, 7, 16


class DMPIntegrator:
    def __init__(self, n_basis, tau=1.0, dt=0.12, a_x=1.5, a_z=10.0):
        self.n, self.tau, self.dt, self.a_x, self.a_z = n_basis, tau, dt, a_x, a_z
        self.b_z = a_z / 4.0
        self.c = torch.exp(-a_x * torch.linspace(0, 1, n_basis))
        self.sigma2 = torch.ones(n_basis) * n_basis ** 1.5 / self.c / a_x

    def forward(self, w, goal, y0, yd0):
        x = 1.0
        y, z = y0, yd0 * self.tau
        ys, zs = [y], [z]
        for _ in range(STEPS):
            x = x - self.a_x * x * self.dt / self.tau
            psi = torch.exp(-self.sigma2 * (x - self.c) ** 2)
            fx = (w * psi).sum(dim=2) * x / psi.sum()
            fx = fx * (goal - y0)
            dz = self.a_z * (self.b_z * (goal - y) - z) + fx
            y = y + z / self.tau * self.dt
            z = z + dz / self.tau * self.dt
            ys.append(y)
            zs.append(z)
        return torch.stack(ys, dim=1), torch.stack(zs, dim=1)


class NDPPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(STATE + 2 * DOF, HID)
        self.ln1 = nn.LayerNorm(HID)
        self.fc2 = nn.Linear(HID, HID)
        self.ln2 = nn.LayerNorm(HID)
        self.dmp_head = nn.Linear(HID, NB * DOF + DOF)
        self.value_head = nn.Linear(HID, STEPS)
        self.log_std = nn.Parameter(torch.zeros(DOF))
        self.integrator = DMPIntegrator(NB)

    def forward(self, state, pos, vel):
        h = torch.cat([state, pos, vel], dim=1)
        h = torch.tanh(self.ln1(self.fc1(h)))
        h = h + torch.tanh(self.ln2(self.fc2(h)))
        params = self.dmp_head(h)
        goal = params[:, :DOF]
        w = params[:, DOF:].reshape(-1, DOF, NB) * 20.0
        y, z = self.integrator.forward(w, goal, pos, vel)
        actions = y[:, 1:] - y[:, :-1]
        mean = actions / self.integrator.dt
        var = torch.exp(2 * self.log_std)
        logp = -0.5 * ((z[:, 1:] - mean) ** 2 / var + 2 * self.log_std + math.log(2 * math.pi))
        return y, mean, logp.sum(dim=-1), self.value_head(h)


def make():
    g = torch.Generator().manual_seed(77)
    m = NDPPolicy()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.3 if p.dim() == 1 else 1.2 / p.shape[1] ** 0.5))
            if n.startswith("ln") and n.endswith("weight"):
                p.add_(1.0)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    return (r.randn(B, STATE).astype("float32"), r.randn(B, DOF).astype("float32"),
            (0.5 * r.randn(B, DOF)).astype("float32"))
