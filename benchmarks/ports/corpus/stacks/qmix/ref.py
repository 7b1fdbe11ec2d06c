"""QMIX (PyMARL): recurrent agents with shared weights, monotonic mixing network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
N, OBS, STATE, ACTIONS, HID, EMBED = 3, 8, 10, 5, 16, 12


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACTIONS + N, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, ACTIONS)

    def forward(self, x, h):
        h = self.rnn(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w_1 = nn.Linear(STATE, EMBED * N)
        self.hyper_b_1 = nn.Linear(STATE, EMBED)
        self.hyper_w_final = nn.Linear(STATE, EMBED)
        self.V = nn.Sequential(nn.Linear(STATE, EMBED), nn.ReLU(), nn.Linear(EMBED, 1))

    def forward(self, agent_qs, states):
        bs = agent_qs.size(0)
        states = states.reshape(-1, STATE)
        agent_qs = agent_qs.view(-1, 1, N)
        w1 = self.hyper_w_1(states).abs().view(-1, N, EMBED)
        b1 = self.hyper_b_1(states).view(-1, 1, EMBED)
        hidden = F.elu(torch.bmm(agent_qs, w1) + b1)
        w_final = self.hyper_w_final(states).abs().view(-1, EMBED, 1)
        y = torch.bmm(hidden, w_final) + self.V(states).view(-1, 1, 1)
        return y.view(bs, -1)


class QMIX(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent, self.mixer = RNNAgent(), QMixer()

    def forward(self, obs, avail, state, actions):
        """obs [B,T,N,O], avail [B,T,N,A], state [B,T,S], actions [B,T,N]."""
        B, T = actions.shape[:2]
        onehot = F.one_hot(actions, ACTIONS).float()
        last = torch.cat([torch.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
        ids = torch.eye(N).expand(B, N, N)
        h = torch.zeros(B * N, HID)
        qs = []
        for t in range(T):
            x = torch.cat([obs[:, t], last[:, t], ids], dim=-1).reshape(B * N, -1)
            q, h = self.agent(x, h)
            qs.append(q.view(B, N, ACTIONS))
        qs = torch.stack(qs, dim=1)
        chosen = torch.gather(qs, 3, actions.unsqueeze(3)).squeeze(3)
        greedy = qs.masked_fill(avail == 0, -9999999).max(dim=3)[0]
        return self.mixer(chosen, state), self.mixer(greedy, state)


def make():
    torch.manual_seed(9)
    return QMIX().eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    B, T = 4, 4
    avail = (g.random((B, T, N, ACTIONS)) < 0.5).astype("int64")
    actions = g.integers(0, ACTIONS, (B, T, N))
    np.put_along_axis(avail, actions[..., None], 1, axis=3)
    return (g.normal(size=(B, T, N, OBS)).astype("float32"), avail,
            g.normal(size=(B, T, STATE)).astype("float32"), actions)
