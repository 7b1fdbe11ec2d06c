"""QMIX (Rashid et al. 2018) in the manner of pymarl: recurrent agents and a monotonic mixer."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class RNNAgent(nn.Module):
    def __init__(self, input_shape, hidden, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(input_shape, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, n_actions)

    def forward(self, x, h):
        h = self.rnn(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self, n_agents, state_dim, embed=8):
        super().__init__()
        self.n_agents, self.embed = n_agents, embed
        self.hyper_w_1 = nn.Linear(state_dim, embed * n_agents)
        self.hyper_w_final = nn.Sequential(nn.Linear(state_dim, 16), nn.ReLU(), nn.Linear(16, embed))
        self.hyper_b_1 = nn.Linear(state_dim, embed)
        self.V = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, qs, states):
        qs = qs.view(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, self.n_agents, self.embed)
        b1 = self.hyper_b_1(states).view(-1, 1, self.embed)
        hidden = F.elu(torch.bmm(qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, self.embed, 1)
        v = self.V(states).view(-1, 1, 1)
        return (torch.bmm(hidden, w_final) + v).view(-1)


class Learner(nn.Module):
    def __init__(self, n_agents=3, obs_dim=10, n_actions=5, state_dim=12, hidden=16):
        super().__init__()
        self.n_agents, self.n_actions = n_agents, n_actions
        self.agent = RNNAgent(obs_dim + n_agents, hidden, n_actions)
        self.mixer = QMixer(n_agents, state_dim)

    def forward(self, obs, state, h, avail, actions):
        b = obs.shape[0]
        ids = torch.eye(self.n_agents).to(obs).unsqueeze(0).expand(b, -1, -1)
        x = torch.cat([obs, ids], dim=-1).reshape(b * self.n_agents, -1)
        q, h = self.agent(x, h.reshape(b * self.n_agents, -1))
        q = q.view(b, self.n_agents, self.n_actions)
        chosen = torch.gather(q, 2, actions.unsqueeze(2)).squeeze(2)
        best = q.masked_fill(avail == 0, -9999999.0).max(dim=2)[0]
        q_tot = self.mixer(chosen, state)
        q_max = self.mixer(best, state)
        return q_tot, q_max, h.view(b, self.n_agents, -1)


def make():
    torch.manual_seed(21)
    net = Learner()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p * 2 if p.ndim > 1 else 0.4 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 6
    avail = (rng.random((b, 3, 5)) < 0.6).astype("float32")
    avail[:, :, 0] = 1
    actions = np.array([[rng.choice(np.flatnonzero(a)) for a in row] for row in avail], "int64")
    return (
        rng.normal(size=(b, 3, 10)).astype("float32"),
        rng.normal(size=(b, 12)).astype("float32"),
        (0.5 * rng.normal(size=(b, 3, 16))).astype("float32"),
        avail,
        actions,
    )
