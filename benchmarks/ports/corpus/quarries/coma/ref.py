"""COMA: shared recurrent actor, centralised critic and counterfactual baseline (PyTorch)."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, A, OBS, STATE, HID = 3, 5, 10, 12, 24


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + A + N, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, A)

    def forward(self, x, h):
        h = self.rnn(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(STATE + OBS + 2 * N * A + N, 48)
        self.fc2 = nn.Linear(48, 48)
        self.fc3 = nn.Linear(48, A)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class COMA(nn.Module):
    def __init__(self, epsilon=0.1):
        super().__init__()
        self.actor, self.critic = Actor(), Critic()
        self.epsilon = epsilon

    def policies(self, obs, last, avail):
        B, T = obs.shape[:2]
        ids = torch.eye(N).expand(B, N, N)
        h = torch.zeros(B * N, HID)
        out = []
        for t in range(T):
            x = torch.cat([obs[:, t], last[:, t], ids], dim=-1).reshape(B * N, -1)
            logits, h = self.actor(x, h)
            logits = logits.view(B, N, A).masked_fill(avail[:, t] == 0, -1e10)
            pi = F.softmax(logits, dim=-1)
            pi = (1 - self.epsilon) * pi + self.epsilon / avail[:, t].sum(-1, keepdim=True)
            out.append(pi * avail[:, t])
        return torch.stack(out, dim=1)

    def critic_inputs(self, obs, state, onehot, last):
        B, T = obs.shape[:2]
        joint = onehot.reshape(B, T, 1, N * A).expand(B, T, N, N * A)
        others = 1 - torch.eye(N).repeat_interleave(A, dim=1)          # (N, N*A)
        joint = joint * others
        prev = last.reshape(B, T, 1, N * A).expand(B, T, N, N * A)
        ids = torch.eye(N).expand(B, T, N, N)
        s = state[:, :, None].expand(B, T, N, STATE)
        return torch.cat([s, obs, joint, prev, ids], dim=-1)

    def forward(self, obs, state, actions, avail):
        onehot = F.one_hot(actions, A).float()
        last = torch.cat([torch.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
        pi = self.policies(obs, last, avail)
        q = self.critic(self.critic_inputs(obs, state, onehot, last))
        baseline = (pi * q).sum(-1)
        taken = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        advantage = taken - baseline
        log_pi = torch.log(pi.gather(-1, actions.unsqueeze(-1)).squeeze(-1) + 1e-8)
        loss = -(advantage * log_pi).mean()
        return pi, q, advantage, loss


def make():
    torch.manual_seed(101)
    net = COMA()
    for p in net.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, 0.0, 1.3 / math.sqrt(p.shape[1]))
        else:
            nn.init.normal_(p, 0.0, 0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, T = 4, 5
    obs = rng.normal(size=(B, T, N, OBS)).astype(np.float32)
    state = rng.normal(size=(B, T, STATE)).astype(np.float32)
    actions = rng.integers(0, A, size=(B, T, N))
    avail = (rng.uniform(size=(B, T, N, A)) < 0.6).astype(np.float32)
    np.put_along_axis(avail, actions[..., None], 1.0, axis=-1)
    return obs, state, actions, avail
