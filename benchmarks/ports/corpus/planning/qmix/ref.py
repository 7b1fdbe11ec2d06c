"""QMIX: shared recurrent agent network and monotonic mixer (PyMARL style)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_AGENTS, OBS, ACTIONS, HIDDEN, STATE, EMBED = 4, 11, 6, 24, 18, 16


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACTIONS + N_AGENTS, HIDDEN)
        self.rnn = nn.GRUCell(HIDDEN, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, ACTIONS)

    def forward(self, x, h):
        x = F.relu(self.fc1(x))
        h = self.rnn(x, h)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w_1 = nn.Sequential(nn.Linear(STATE, 32), nn.ReLU(), nn.Linear(32, EMBED * N_AGENTS))
        self.hyper_b_1 = nn.Linear(STATE, EMBED)
        self.hyper_w_final = nn.Sequential(nn.Linear(STATE, 32), nn.ReLU(), nn.Linear(32, EMBED))
        self.V = nn.Sequential(nn.Linear(STATE, EMBED), nn.ReLU(), nn.Linear(EMBED, 1))

    def forward(self, agent_qs, states):
        bs = agent_qs.size(0)
        agent_qs = agent_qs.view(bs, 1, N_AGENTS)
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, N_AGENTS, EMBED)
        b1 = self.hyper_b_1(states).view(-1, 1, EMBED)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, EMBED, 1)
        v = self.V(states).view(-1, 1, 1)
        return (torch.bmm(hidden, w_final) + v).view(bs, 1)


class QMIX(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = RNNAgent()
        self.mixer = QMixer()

    def forward(self, obs, last_action, hidden, avail, state):
        bs = obs.size(0)
        ids = torch.eye(N_AGENTS).unsqueeze(0).expand(bs, -1, -1)
        x = torch.cat([obs, last_action, ids], dim=-1).reshape(bs * N_AGENTS, -1)
        q, h = self.agent(x, hidden.reshape(bs * N_AGENTS, HIDDEN))
        q = q.view(bs, N_AGENTS, ACTIONS)
        masked = q.masked_fill(avail == 0, -1e4)
        best = masked.max(dim=-1)[0]
        total = self.mixer(best, state)
        return total, masked, h.view(bs, N_AGENTS, HIDDEN)


def make():
    torch.manual_seed(1)
    return QMIX()


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    last = np.eye(ACTIONS, dtype="float32")[rng.integers(0, ACTIONS, (5, N_AGENTS))]
    avail = (rng.uniform(size=(5, N_AGENTS, ACTIONS)) < 0.7).astype("float32")
    avail[..., 0] = 1
    return f(5, N_AGENTS, OBS), last, f(5, N_AGENTS, HIDDEN), avail, f(5, STATE)
