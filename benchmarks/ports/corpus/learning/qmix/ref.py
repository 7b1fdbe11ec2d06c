"""QMIX (Rashid et al., 2018): recurrent agents with shared weights and a monotonic mixer."""
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"

ARGS = SimpleNamespace(
    n_agents=3, n_actions=5, obs_dim=7, state_dim=10, rnn_hidden=16, mixing_embed=8, hyper_hidden=12
)


class RNNAgent(nn.Module):
    def __init__(self, input_shape, args):
        super().__init__()
        self.args = args
        self.fc1 = nn.Linear(input_shape, args.rnn_hidden)
        self.rnn = nn.GRUCell(args.rnn_hidden, args.rnn_hidden)
        self.fc2 = nn.Linear(args.rnn_hidden, args.n_actions)

    def init_hidden(self):
        return self.fc1.weight.new_zeros(1, self.args.rnn_hidden)

    def forward(self, x, hidden):
        h = self.rnn(F.relu(self.fc1(x)), hidden)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.n_agents = args.n_agents
        self.embed = args.mixing_embed
        s, h = args.state_dim, args.hyper_hidden
        self.hyper_w1 = nn.Sequential(nn.Linear(s, h), nn.ReLU(), nn.Linear(h, self.embed * self.n_agents))
        self.hyper_w2 = nn.Sequential(nn.Linear(s, h), nn.ReLU(), nn.Linear(h, self.embed))
        self.hyper_b1 = nn.Linear(s, self.embed)
        self.V = nn.Sequential(nn.Linear(s, self.embed), nn.ReLU(), nn.Linear(self.embed, 1))

    def forward(self, agent_qs, states):
        b = agent_qs.size(0)
        states = states.reshape(-1, states.size(-1))
        agent_qs = agent_qs.reshape(-1, 1, self.n_agents)
        w1 = torch.abs(self.hyper_w1(states)).view(-1, self.n_agents, self.embed)
        b1 = self.hyper_b1(states).view(-1, 1, self.embed)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w2 = torch.abs(self.hyper_w2(states)).view(-1, self.embed, 1)
        v = self.V(states).view(-1, 1, 1)
        y = torch.bmm(hidden, w2) + v
        return y.view(b, -1)


class QMix(nn.Module):
    """Chosen and greedy joint values over an episode."""

    def __init__(self, args):
        super().__init__()
        self.args = args
        self.agent = RNNAgent(args.obs_dim + args.n_actions + args.n_agents, args)
        self.mixer = QMixer(args)

    def build_inputs(self, obs, actions, t):
        b, n = obs.size(0), self.args.n_agents
        if t == 0:
            last = torch.zeros(b, n, self.args.n_actions, dtype=obs.dtype, device=obs.device)
        else:
            last = F.one_hot(actions[:, t - 1], self.args.n_actions).to(obs.dtype)
        ids = torch.eye(n, dtype=obs.dtype, device=obs.device).unsqueeze(0).expand(b, -1, -1)
        return torch.cat([obs[:, t], last, ids], dim=-1).reshape(b * n, -1)

    def forward(self, obs, state, actions, avail):
        b, steps, n, _ = obs.shape
        hidden = self.agent.init_hidden().expand(b * n, -1)
        outs = []
        for t in range(steps):
            q, hidden = self.agent(self.build_inputs(obs, actions, t), hidden)
            outs.append(q.view(b, n, -1))
        mac_out = torch.stack(outs, dim=1)

        chosen = torch.gather(mac_out, 3, actions.unsqueeze(-1)).squeeze(3)
        greedy = mac_out.masked_fill(avail == 0, -9999999).max(dim=3)[0]
        return self.mixer(chosen, state), self.mixer(greedy, state), chosen


def make(seed=0):
    torch.manual_seed(seed)
    return QMix(ARGS).eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t, a = 4, 5, ARGS
    obs = rng.normal(size=(b, t, a.n_agents, a.obs_dim)).astype(np.float32)
    state = rng.normal(size=(b, t, a.state_dim)).astype(np.float32)
    avail = (rng.random((b, t, a.n_agents, a.n_actions)) > 0.3).astype(np.int64)
    avail[0] = 1
    actions = rng.integers(0, a.n_actions, size=(b, t, a.n_agents)).astype(np.int64)
    np.put_along_axis(avail, actions[..., None], 1, axis=3)
    return obs, state, actions, avail
