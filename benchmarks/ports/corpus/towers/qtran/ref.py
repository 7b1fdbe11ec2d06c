"""QTRAN-base (Son et al. 2019), PyMARL style: recurrent utilities, joint Q and V."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, O, A, S, H, E, T = 3, 6, 4, 8, 12, 10, 3


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(O + A + N, H)
        self.rnn = nn.GRUCell(H, H)
        self.fc2 = nn.Linear(H, A)

    def forward(self, x, h):
        x = F.relu(self.fc1(x))
        h = self.rnn(x, h)
        return self.fc2(h), h


class QTranBase(nn.Module):
    def __init__(self):
        super().__init__()
        self.action_encoding = nn.Sequential(nn.Linear(H + A, H + A), nn.ReLU(), nn.Linear(H + A, H + A))
        self.Q = nn.Sequential(nn.Linear(S + H + A, E), nn.ReLU(), nn.Linear(E, E), nn.ReLU(), nn.Linear(E, 1))
        self.V = nn.Sequential(nn.Linear(S, E), nn.ReLU(), nn.Linear(E, E), nn.ReLU(), nn.Linear(E, 1))

    def forward(self, state, hidden, actions):
        bs, ts = state.shape[:2]
        s = state.reshape(bs * ts, S)
        ha = torch.cat([hidden, actions], dim=-1).reshape(bs * ts, N, H + A)
        enc = self.action_encoding(ha)
        enc = enc.sum(dim=1)
        q = self.Q(torch.cat([s, enc], dim=1))
        v = self.V(s)
        return q.view(bs, ts, 1), v.view(bs, ts, 1)


class QTranLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = RNNAgent()
        self.mixer = QTranBase()

    def build_inputs(self, obs, actions, t):
        bs = obs.shape[0]
        last = torch.zeros_like(actions[:, t]) if t == 0 else actions[:, t - 1]
        ids = torch.eye(N).unsqueeze(0).expand(bs, -1, -1)
        return torch.cat([obs[:, t], last, ids], dim=-1).reshape(bs * N, -1)

    def forward(self, obs, state, actions, avail):
        bs = obs.shape[0]
        h = torch.zeros(bs * N, H)
        qs, hs = [], []
        for t in range(T):
            q, h = self.agent(self.build_inputs(obs, actions, t), h)
            qs.append(q.view(bs, N, A))
            hs.append(h.view(bs, N, H))
        mac_out = torch.stack(qs, dim=1)
        mac_hidden = torch.stack(hs, dim=1)
        chosen = (mac_out * actions).sum(dim=3)
        masked = mac_out.masked_fill(avail == 0, -9999999.0)
        max_q, max_a = masked.max(dim=3)
        greedy = F.one_hot(max_a, A).float()
        joint, vs = self.mixer(state, mac_hidden, actions)
        max_joint, _ = self.mixer(state, mac_hidden, greedy)
        opt_err = max_q.sum(dim=2, keepdim=True) - max_joint + vs
        nopt = chosen.sum(dim=2, keepdim=True) - joint + vs
        nopt_err = nopt.clamp(max=0.0)
        return mac_out, joint, vs, opt_err, nopt_err


def make():
    m = QTranLearner()
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for p in m.parameters():
            k = p.shape[1] ** -0.5 * 1.3 if p.dim() > 1 else 0.2
            p.copy_(torch.randn(p.shape, generator=g) * k)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(4, T, N, O).astype("float32")
    state = r.randn(4, T, S).astype("float32")
    actions = np.eye(A, dtype="float32")[r.randint(0, A, (4, T, N))]
    avail = np.maximum((r.rand(4, T, N, A) < 0.5).astype("float32"), actions)
    return obs, state, actions, avail
