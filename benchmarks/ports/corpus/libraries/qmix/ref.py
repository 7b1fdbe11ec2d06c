"""QMIX learner: recurrent agents with shared weights, monotonic mixing, TD errors of an episode batch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
N, OBS, STATE, ACT, HID, EMB = 3, 7, 10, 5, 20, 12


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
        self.hyper_w1 = nn.Linear(STATE, N * EMB)
        self.hyper_b1 = nn.Linear(STATE, EMB)
        self.hyper_w2 = nn.Sequential(nn.Linear(STATE, 16), nn.ReLU(), nn.Linear(16, EMB))
        self.v = nn.Sequential(nn.Linear(STATE, EMB), nn.ReLU(), nn.Linear(EMB, 1))

    def forward(self, qs, state):
        b, t, _ = qs.shape
        qs, s = qs.reshape(b * t, 1, N), state.reshape(b * t, -1)
        w1 = self.hyper_w1(s).abs().view(-1, N, EMB)
        b1 = self.hyper_b1(s).view(-1, 1, EMB)
        hidden = F.elu(torch.bmm(qs, w1) + b1)
        w2 = self.hyper_w2(s).abs().view(-1, EMB, 1)
        return (torch.bmm(hidden, w2).view(-1) + self.v(s).view(-1)).view(b, t)


class QMix(nn.Module):
    def __init__(self, gamma=0.98):
        super().__init__()
        self.gamma = gamma
        self.agent, self.mixer = Agent(), Mixer()

    def unroll(self, obs, actions):
        b, t = obs.shape[:2]
        eye = torch.eye(N).expand(b, N, N)
        h = torch.zeros(b * N, HID)
        qs = []
        for i in range(t):
            last = F.one_hot(actions[:, i - 1], ACT).float() if i > 0 else torch.zeros(b, N, ACT)
            x = torch.cat([obs[:, i], last, eye], dim=-1).view(b * N, -1)
            q, h = self.agent(x, h)
            qs.append(q.view(b, N, ACT))
        return torch.stack(qs, dim=1)

    def forward(self, obs, state, avail, actions, reward, terminated):
        q = self.unroll(obs, actions)
        chosen = q[:, :-1].gather(-1, actions[:, :-1].unsqueeze(-1)).squeeze(-1)
        q_tot = self.mixer(chosen, state[:, :-1])
        best = q.masked_fill(avail == 0, -1e8)[:, 1:].max(-1)[0]
        target = self.mixer(best, state[:, 1:])
        y = reward + self.gamma * (1 - terminated) * target
        # steps after the end of an episode do not count
        mask = torch.cat([torch.ones(len(obs), 1), 1 - terminated.cumsum(1)[:, :-1].clamp(max=1)], dim=1)
        td = (q_tot - y) * mask
        return q, q_tot, td, (td**2).sum() / mask.sum()


def make():
    torch.manual_seed(5)
    model = QMix()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.4 if p.dim() == 1 else 1.2 / p.shape[1] ** 0.5))
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    b, t = 4, 5
    avail = (g.random((b, t, N, ACT)) < 0.7).astype("int64")
    actions = g.integers(0, ACT, (b, t, N))
    np.put_along_axis(avail, actions[..., None], 1, -1)
    terminated = np.zeros((b, t - 1), "float32")
    terminated[1, 1] = terminated[3, 3] = 1
    return (
        g.normal(size=(b, t, N, OBS)).astype("float32"),
        g.normal(size=(b, t, STATE)).astype("float32"),
        avail,
        actions,
        g.normal(size=(b, t - 1)).astype("float32"),
        terminated,
    )
