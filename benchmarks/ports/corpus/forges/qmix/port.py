"""QMIX in PyTorch: the GRU runs over whole sequences, then everything is mixed at once."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
AGENTS, OBS, STATE, ACTIONS, HIDDEN, MIX = 3, 7, 10, 5, 16, 8


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACTIONS + AGENTS, HIDDEN)
        self.rnn = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.fc2 = nn.Linear(HIDDEN, ACTIONS)

    def forward(self, x):
        y, _ = self.rnn(F.relu(self.fc1(x)))
        return self.fc2(y)


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = nn.Linear(STATE, AGENTS * MIX)
        self.hyper_b1 = nn.Linear(STATE, MIX)
        self.hyper_w2 = nn.Sequential(nn.Linear(STATE, 12), nn.ReLU(), nn.Linear(12, MIX))
        self.hyper_b2 = nn.Sequential(nn.Linear(STATE, MIX), nn.ReLU(), nn.Linear(MIX, 1))

    def forward(self, agent_qs, states):
        b, t, n = agent_qs.shape
        states = states.reshape(b * t, -1)
        agent_qs = agent_qs.reshape(b * t, 1, n)
        w1 = self.hyper_w1(states).abs().view(b * t, n, MIX)
        b1 = self.hyper_b1(states).view(b * t, 1, MIX)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w2 = self.hyper_w2(states).abs().view(b * t, MIX, 1)
        b2 = self.hyper_b2(states).view(b * t, 1, 1)
        return (torch.bmm(hidden, w2) + b2).view(b, t)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.mac = RNNAgent()
        self.mixer = QMixer()

    def forward(self, obs, states, avail, actions):
        b, t, n, _ = obs.shape
        onehot = F.one_hot(actions, ACTIONS).to(obs.dtype)
        last = torch.cat([torch.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
        ids = torch.eye(n).expand(b, t, n, n)
        x = torch.cat([obs, last, ids], dim=-1)
        x = x.transpose(1, 2).reshape(b * n, t, -1)
        q = self.mac(x).view(b, n, t, ACTIONS).transpose(1, 2)
        taken = q.gather(3, actions.unsqueeze(3)).squeeze(3)
        best = q.masked_fill(avail == 0, -1e9).max(dim=3)[0]
        return self.mixer(taken, states), self.mixer(best, states)


def make():
    torch.manual_seed(1)
    return Learner().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 4
    obs = rng.normal(size=(b, t, AGENTS, OBS)).astype("float32")
    states = rng.normal(size=(b, t, STATE)).astype("float32")
    avail = (rng.random((b, t, AGENTS, ACTIONS)) < 0.6).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b, t, AGENTS)).astype("int64")
    np.put_along_axis(avail, actions[..., None], 1.0, axis=-1)
    return obs, states, avail, actions


def load(ported, original):
    def linear(layer, dense):
        kernel, bias = dense.get_weights()
        layer.weight.data = torch.tensor(kernel.T.copy())
        layer.bias.data = torch.tensor(bias)

    linear(ported.mac.fc1, original.agent.fc)
    linear(ported.mac.fc2, original.agent.q)
    kernel, recurrent, bias = original.agent.rnn.get_weights()

    def gates(w):
        z, r, n = np.split(w, 3, axis=-1)
        return torch.tensor(np.concatenate([r, z, n], axis=-1).T.copy())

    rnn = ported.mac.rnn
    rnn.weight_ih_l0.data, rnn.weight_hh_l0.data = gates(kernel), gates(recurrent)
    rnn.bias_ih_l0.data, rnn.bias_hh_l0.data = gates(bias[0]), gates(bias[1])
    mixer, theirs = ported.mixer, original.mixer
    linear(mixer.hyper_w1, theirs.w1)
    linear(mixer.hyper_b1, theirs.b1)
    for mine, other in ((mixer.hyper_w2, theirs.w2), (mixer.hyper_b2, theirs.v)):
        linear(mine[0], other.layers[0])
        linear(mine[2], other.layers[1])
