"""QMIX after pymarl: a shared recurrent agent and a monotonic mixing network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_AGENTS, N_ACTIONS, OBS, STATE = 3, 5, 7, 9


class RNNAgent(nn.Module):
    def __init__(self, input_shape, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.fc1 = nn.Linear(input_shape, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, N_ACTIONS)

    def forward(self, inputs, hidden_state):
        x = F.relu(self.fc1(inputs))
        h = self.rnn(x, hidden_state)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self, embed=8):
        super().__init__()
        self.embed_dim = embed
        self.hyper_w_1 = nn.Linear(STATE, embed * N_AGENTS)
        self.hyper_w_final = nn.Linear(STATE, embed)
        self.hyper_b_1 = nn.Linear(STATE, embed)
        self.V = nn.Sequential(nn.Linear(STATE, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, agent_qs, states):
        bs = agent_qs.size(0)
        states = states.reshape(-1, STATE)
        agent_qs = agent_qs.reshape(-1, 1, N_AGENTS)
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, N_AGENTS, self.embed_dim)
        b1 = self.hyper_b_1(states).view(-1, 1, self.embed_dim)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, self.embed_dim, 1)
        v = self.V(states).view(-1, 1, 1)
        y = torch.bmm(hidden, w_final) + v
        return y.view(bs, -1)


class QLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = RNNAgent(OBS + N_ACTIONS + N_AGENTS)
        self.mixer = QMixer()

    def build_inputs(self, obs, onehot, t):
        bs = obs.shape[0]
        last = torch.zeros_like(onehot[:, t]) if t == 0 else onehot[:, t - 1]
        ids = torch.eye(N_AGENTS).unsqueeze(0).expand(bs, -1, -1)
        return torch.cat([obs[:, t], last, ids], dim=-1).reshape(bs * N_AGENTS, -1)

    def forward(self, obs, avail_actions, actions, states):
        bs, length = obs.shape[:2]
        onehot = F.one_hot(actions, N_ACTIONS).float()
        hidden = torch.zeros(bs * N_AGENTS, self.agent.hidden)
        mac_out = []
        for t in range(length):
            out, hidden = self.agent(self.build_inputs(obs, onehot, t), hidden)
            mac_out.append(out.view(bs, N_AGENTS, N_ACTIONS))
        mac_out = torch.stack(mac_out, dim=1)
        chosen = torch.gather(mac_out, dim=3, index=actions.unsqueeze(-1)).squeeze(-1)
        masked = mac_out.masked_fill(~avail_actions, -9999999)
        best = masked.max(dim=3)[0]
        return self.mixer(chosen, states), self.mixer(best, states), mac_out


def make():
    torch.manual_seed(8)
    net = QLearner()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.uniform_(-0.4, 0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    bs, length = 3, 4
    avail = rng.uniform(size=(bs, length, N_AGENTS, N_ACTIONS)) < 0.5
    actions = rng.integers(0, N_ACTIONS, size=(bs, length, N_AGENTS))
    np.put_along_axis(avail, actions[..., None], True, axis=-1)
    return (
        rng.normal(size=(bs, length, N_AGENTS, OBS)).astype(np.float32),
        avail,
        actions,
        rng.normal(size=(bs, length, STATE)).astype(np.float32),
    )
