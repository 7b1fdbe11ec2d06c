"""CBF-filtered neural controller in PyTorch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBST, STEPS, ROUNDS, DT, UMAX = 3, 3, 2, 0.1, 3.0


class ObstacleEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 8)

    def forward(self, pos, obstacles):
        centre, radius = obstacles.split([2, 1], dim=-1)
        x = torch.cat([centre - pos.unsqueeze(1), radius], dim=-1)
        return F.relu(self.fc(x)).amax(dim=1)


class BarrierFilter(nn.Module):
    """Cyclic projection of the control onto the half-spaces A u >= b."""

    def forward(self, u, pos, vel, obstacles, rates):
        diff = pos.unsqueeze(1) - obstacles[..., :2]
        h = diff.pow(2).sum(-1) - obstacles[..., 2].pow(2)
        hdot = 2 * torch.einsum("bkd,bd->bk", diff, vel)
        total = rates.sum(-1, keepdim=True)
        prod = rates.prod(-1, keepdim=True)
        lie = 2 * vel.pow(2).sum(-1, keepdim=True)
        b = -(lie + total * hdot + prod * h)
        A = 2 * diff
        norm = A.pow(2).sum(-1) + 1e-2
        for _ in range(ROUNDS):
            for k in range(OBST):
                slack = b[:, k] - (A[:, k] * u).sum(-1)
                scale = F.relu(slack) / norm[:, k]
                u = u + scale.unsqueeze(-1) * A[:, k]
        return UMAX * torch.tanh(u / UMAX), h


class SafePolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = ObstacleEncoder()
        self.fc1 = nn.Linear(12, 16)
        self.norm = nn.LayerNorm(16, eps=1e-3)
        self.fc2 = nn.Linear(16, 16)
        self.control = nn.Linear(16, 2)
        self.rates = nn.Linear(16, 2)
        self.filter = BarrierFilter()

    def forward(self, state, goal, obstacles):
        pos, vel = state.chunk(2, dim=-1)
        us, hs = [], []
        for _ in range(STEPS):
            x = torch.cat([goal - pos, vel, self.encoder(pos, obstacles)], dim=-1)
            f = F.gelu(self.fc2(self.norm(torch.tanh(self.fc1(x)))))
            pd = 0.8 * (goal - pos) - 0.5 * vel
            u = self.control(f) + pd
            u, h = self.filter(u, pos, vel, obstacles, F.softplus(self.rates(f)))
            pos = pos + DT * vel + 0.5 * DT ** 2 * u
            vel = vel + DT * u
            us.append(u)
            hs.append(h)
        return torch.stack(us, 1), torch.stack(hs, 1), torch.cat([pos, vel], -1)


def make():
    torch.manual_seed(2)
    m = SafePolicy().eval()
    for n, p in m.named_parameters():
        p.data = torch.randn_like(p) * 0.3 + (1.0 if n == "norm.weight" else 0.0)
    return m


def load(ported, original):
    pairs = {"fc1": ported.fc1, "fc2": ported.fc2, "control": ported.control, "rates": ported.rates,
             "obstacle_fc": ported.encoder.fc}
    for n, lin in pairs.items():
        k, b = getattr(original, n).get_weights()
        lin.weight.data = torch.tensor(k.T.copy())
        lin.bias.data = torch.tensor(b)
    g, b = original.norm.get_weights()
    ported.norm.weight.data = torch.tensor(g)
    ported.norm.bias.data = torch.tensor(b)


def inputs(seed):
    rng = np.random.default_rng(seed)
    obstacles = np.concatenate([rng.uniform(-1.5, 1.5, size=(6, OBST, 2)), rng.uniform(0.4, 0.9, size=(6, OBST, 1))], -1)
    return (rng.normal(size=(6, 4)).astype("float32"), rng.uniform(-2, 2, size=(6, 2)).astype("float32"),
            obstacles.astype("float32"))
