"""QMIX: recurrent agents and a mixer made by hypernetworks. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
AGENTS, OBS, ACT, STATE, HID, EMBED = 3, 9, 5, 14, 16, 8


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + AGENTS, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, ACT)

    def forward(self, obs, hidden):
        x = F.relu(self.fc1(obs))
        h = self.rnn(x, hidden)
        return self.fc2(h), h


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = nn.Sequential(nn.Linear(STATE, 20), nn.ReLU(), nn.Linear(20, AGENTS * EMBED))
        self.hyper_w2 = nn.Sequential(nn.Linear(STATE, 20), nn.ReLU(), nn.Linear(20, EMBED))
        self.hyper_b1 = nn.Linear(STATE, EMBED)
        self.value = nn.Sequential(nn.Linear(STATE, EMBED), nn.ReLU(), nn.Linear(EMBED, 1))

    def forward(self, qs, state):
        qs = qs.view(-1, 1, AGENTS)
        w1 = torch.abs(self.hyper_w1(state)).view(-1, AGENTS, EMBED)
        b1 = self.hyper_b1(state).view(-1, 1, EMBED)
        hidden = F.elu(torch.bmm(qs, w1) + b1)
        w2 = torch.abs(self.hyper_w2(state)).view(-1, EMBED, 1)
        v = self.value(state).view(-1, 1, 1)
        return (torch.bmm(hidden, w2) + v).view(-1)


class QMix(nn.Module):
    """obs (B, T, N, OBS), state (B, T, STATE), avail (B, T, N, ACT) -> q_tot of greedy actions."""

    def __init__(self):
        super().__init__()
        self.agent, self.mixer = Agent(), Mixer()

    def forward(self, obs, state, avail):
        B, T = obs.shape[:2]
        ids = torch.eye(AGENTS).expand(B, AGENTS, AGENTS)
        h = obs.new_zeros(B * AGENTS, HID)
        q_all, totals = [], []
        for t in range(T):
            x = torch.cat([obs[:, t], ids], dim=-1).reshape(B * AGENTS, -1)
            q, h = self.agent(x, h)
            q = q.view(B, AGENTS, ACT)
            masked = q.masked_fill(avail[:, t] == 0, -9999999.0)
            greedy = masked.argmax(dim=-1, keepdim=True)
            chosen = q.gather(-1, greedy).squeeze(-1)
            totals.append(self.mixer(chosen, state[:, t]))
            q_all.append(q)
        return {"q": torch.stack(q_all, 1), "total": torch.stack(totals, 1)}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(7)
    return rough(QMix())


def inputs(seed):
    g = np.random.default_rng(seed + 7)
    B, T = 4, 6
    avail = (g.random((B, T, AGENTS, ACT)) < 0.6).astype("float32")
    avail[..., 0] = 1
    return (g.normal(size=(B, T, AGENTS, OBS)).astype("float32"),
            g.normal(size=(B, T, STATE)).astype("float32"), avail)
