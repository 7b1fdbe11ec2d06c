"""QTRAN-base (Son et al. 2019), after the pymarl way of writing it."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_AGENTS, N_ACTIONS, OBS, STATE, HID, T = 3, 4, 5, 7, 8, 3
GAMMA = 0.95


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + N_ACTIONS + N_AGENTS, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, N_ACTIONS)

    def forward(self, x, h):
        x = F.relu(self.fc1(x))
        h = self.rnn(x, h)
        return self.fc2(h), h


class QTranBase(nn.Module):
    def __init__(self):
        super().__init__()
        ae = HID + N_ACTIONS
        self.action_encoding = nn.Sequential(nn.Linear(ae, ae), nn.ReLU(), nn.Linear(ae, ae))
        self.Q = nn.Sequential(nn.Linear(STATE + ae, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
        self.V = nn.Sequential(nn.Linear(STATE, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, states, hidden, actions):
        bs, ts = states.shape[:2]
        enc = torch.cat([hidden, actions], dim=-1).reshape(bs * ts * N_AGENTS, -1)
        enc = self.action_encoding(enc).reshape(bs, ts, N_AGENTS, -1)
        enc = enc.sum(dim=2)
        q = self.Q(torch.cat([states, enc], dim=-1))
        return q, self.V(states)


class QTranLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = RNNAgent()
        self.mixer = QTranBase()

    def unroll(self, obs, actions):
        bs = obs.shape[0]
        ids = torch.eye(N_AGENTS).unsqueeze(0).expand(bs, -1, -1)
        h = torch.zeros(bs * N_AGENTS, HID)
        qs, hs = [], []
        for t in range(T):
            last = torch.zeros_like(actions[:, 0]) if t == 0 else actions[:, t - 1]
            x = torch.cat([obs[:, t], last, ids], dim=-1).reshape(bs * N_AGENTS, -1)
            q, h = self.agent(x, h)
            qs.append(q.view(bs, N_AGENTS, -1))
            hs.append(h.view(bs, N_AGENTS, -1))
        return torch.stack(qs, dim=1), torch.stack(hs, dim=1)

    def forward(self, obs, state, actions, avail, reward, terminated):
        qs, hs = self.unroll(obs, actions)
        chosen = (qs * actions).sum(-1)
        masked = qs.masked_fill(avail == 0, -9999999.0)
        greedy_q, greedy = masked.max(dim=-1)
        greedy_onehot = F.one_hot(greedy, N_ACTIONS).float()

        joint_q, v = self.mixer(state, hs, actions)
        joint_max, _ = self.mixer(state, hs, greedy_onehot)

        target = reward[:, :-1] + GAMMA * (1 - terminated[:, :-1]) * joint_max[:, 1:]
        td_error = joint_q[:, :-1] - target.detach()
        opt_error = greedy_q.sum(dim=2, keepdim=True) - joint_max.detach() + v
        nopt = chosen.sum(dim=2, keepdim=True) - joint_q.detach() + v
        nopt_error = nopt.clamp(max=0)
        return qs, td_error, opt_error, nopt_error


def make():
    g = torch.Generator().manual_seed(11)
    m = QTranLearner()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.5 if p.dim() == 1 else 1.2 / p.shape[1] ** 0.5))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    obs = r.randn(B, T, N_AGENTS, OBS).astype("float32")
    state = r.randn(B, T, STATE).astype("float32")
    actions = np.eye(N_ACTIONS, dtype="float32")[r.randint(0, N_ACTIONS, (B, T, N_AGENTS))]
    avail = np.maximum((r.rand(B, T, N_AGENTS, N_ACTIONS) > 0.5).astype("float32"), actions)
    reward = r.randn(B, T, 1).astype("float32")
    terminated = (r.rand(B, T, 1) > 0.7).astype("float32")
    return obs, state, actions, avail, reward, terminated
