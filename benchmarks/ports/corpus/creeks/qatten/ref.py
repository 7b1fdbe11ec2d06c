"""Qatten: recurrent agents, multi-head attention mixing, TD(lambda) targets."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, T, N, OBS, ACT, STATE, HID, EMB, HEADS = 4, 3, 3, 5, 4, 7, 8, 6, 2
GAMMA, LAM = 0.95, 0.7


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + ACT + N, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, ACT)

    def forward(self, x, h):
        h = self.rnn(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.selectors = nn.ModuleList(
            [nn.Sequential(nn.Linear(STATE, 10), nn.ReLU(), nn.Linear(10, EMB, bias=False)) for _ in range(HEADS)])
        self.keys = nn.ModuleList([nn.Linear(OBS, EMB, bias=False) for _ in range(HEADS)])
        self.hyper_w = nn.Sequential(nn.Linear(STATE, 8), nn.ReLU(), nn.Linear(8, HEADS))
        self.v = nn.Sequential(nn.Linear(STATE, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, q, state, unit):
        head_qs, regs = [], []
        for sel, key in zip(self.selectors, self.keys):
            s = sel(state).unsqueeze(-2)                              # B, T, 1, E
            k = key(unit)                                             # B, T, N, E
            logits = (s @ k.transpose(-1, -2)).squeeze(-2)
            w = torch.softmax(logits / math.sqrt(EMB), dim=-1)
            head_qs.append((w * q).sum(-1))
            regs.append((logits ** 2).mean(-1))
        head_qs = torch.stack(head_qs, dim=-1)
        w_head = torch.abs(self.hyper_w(state))
        q_tot = (w_head * head_qs).sum(-1) + self.v(state).squeeze(-1)
        return q_tot, 1e-2 * sum(regs)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = Agent()
        self.mixer = Mixer()

    def agent_inputs(self, obs, onehot, t):
        last = torch.zeros_like(onehot[:, 0]) if t == 0 else onehot[:, t - 1]
        ids = torch.eye(N).expand(obs.shape[0], -1, -1)
        return torch.cat([obs[:, t], last, ids], dim=-1).flatten(0, 1)

    def forward(self, obs, actions, avail, state, reward):
        onehot = F.one_hot(actions, ACT).float()
        h = obs.new_zeros(obs.shape[0] * N, HID)
        qs = []
        for t in range(T):
            q, h = self.agent(self.agent_inputs(obs, onehot, t), h)
            qs.append(q.view(-1, N, ACT))
        q = torch.stack(qs, dim=1)
        chosen = torch.gather(q, 3, actions.unsqueeze(-1)).squeeze(-1)
        masked = q.masked_fill(avail == 0, -9999.0)
        best = masked.max(dim=-1).values
        q_tot, reg = self.mixer(chosen, state, obs)
        target, _ = self.mixer(best, state, obs)
        ret = target[:, T - 1]
        rets = [ret]
        for t in range(T - 2, -1, -1):
            ret = LAM * GAMMA * ret + reward[:, t] + (1 - LAM) * GAMMA * target[:, t + 1]
            rets.append(ret)
        rets = torch.stack(rets[::-1], dim=1)
        return q_tot, rets, reg


def make():
    m = Learner()
    g = torch.Generator().manual_seed(37)
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(1.2 * r / p.shape[1] ** 0.5 if p.dim() > 1 else 0.3 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    f = lambda *s: r.randn(*s).astype("float32")
    actions = r.randint(0, ACT, (B, T, N)).astype("int64")
    avail = (r.rand(B, T, N, ACT) < 0.6).astype("int64")
    avail[..., 0] = 1
    return f(B, T, N, OBS), actions, avail, f(B, T, STATE), f(B, T)
