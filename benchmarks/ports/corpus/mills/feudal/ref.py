"""FeUdal network: manager with a dilated LSTM sets directions for a worker (torch)."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class DilatedLSTM(nn.Module):
    """r interleaved states, one updated a step; the output averages all r hidden states."""

    def __init__(self, n_in, n_hidden, r):
        super().__init__()
        self.cell, self.r, self.n_hidden = nn.LSTMCell(n_in, n_hidden), r, n_hidden

    def forward(self, xs):
        b = xs.shape[0]
        hs = [xs.new_zeros(b, self.n_hidden) for _ in range(self.r)]
        cs = [xs.new_zeros(b, self.n_hidden) for _ in range(self.r)]
        outs = []
        for t in range(xs.shape[1]):
            g = t % self.r
            hs[g], cs[g] = self.cell(xs[:, t], (hs[g], cs[g]))
            outs.append(torch.stack(hs).mean(0))
        return torch.stack(outs, 1)


class Feudal(nn.Module):
    def __init__(self, obs_dim=14, d=24, k=8, actions=5, horizon=3):
        super().__init__()
        self.k, self.actions, self.c = k, actions, horizon
        self.percept = nn.Sequential(nn.Linear(obs_dim, 32), nn.ELU())
        self.m_space = nn.Linear(32, d)
        self.m_rnn = DilatedLSTM(d, d, horizon)
        self.m_value = nn.Linear(d, 1)
        self.w_rnn = nn.LSTM(32, actions * k, batch_first=True)
        self.phi = nn.Linear(d, k, bias=False)
        self.w_value = nn.Sequential(nn.Linear(actions * k, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs):                                   # B, T, obs
        B, T = obs.shape[:2]
        z = self.percept(obs)
        s = F.relu(self.m_space(z))
        raw = self.m_rnn(s)
        goals = F.normalize(raw, dim=-1)
        v_m = self.m_value(raw).squeeze(-1)

        u, _ = self.w_rnn(z)
        v_w = self.w_value(u).squeeze(-1)
        u = u.view(B, T, self.actions, self.k)
        logits, intrinsic = [], []
        for t in range(T):
            recent = goals[:, max(0, t - self.c + 1): t + 1].sum(1)
            w = self.phi(recent.detach())
            logits.append(torch.einsum('bak,bk->ba', u[:, t], w))
            r = torch.zeros(B)
            for i in range(1, min(t, self.c) + 1):
                r = r + F.cosine_similarity(s[:, t] - s[:, t - i], goals[:, t - i], dim=-1, eps=1e-8)
            intrinsic.append(r / self.c)
        logp = torch.stack(logits, 1).log_softmax(-1)
        return logp, goals, v_m, v_w, torch.stack(intrinsic, 1)


def make(seed=0):
    torch.manual_seed(seed)
    net = Feudal()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(2.0) if p.dim() > 1 else nn.init.normal_(p, std=0.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(4, 7, 14)) * 0.6
    return (np.cumsum(steps, axis=1).astype(np.float32),)
