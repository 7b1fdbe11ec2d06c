"""Recurrent replay DQN head, torch version (NCHW convolutions, nn.LSTMCell)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
A, H, BURN = 7, 40, 2


class ValueRescaling:
    eps = 1e-2

    @classmethod
    def h(cls, x):
        return x.sign() * ((x.abs() + 1).sqrt() - 1) + cls.eps * x

    @classmethod
    def h_inv(cls, x):
        e = cls.eps
        inner = ((1 + 4 * e * (x.abs() + 1 + e)).sqrt() - 1) / (2 * e)
        return x.sign() * (inner ** 2 - 1)


class Dueling(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 1))
        self.a = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, n))

    def forward(self, x):
        adv = self.a(x)
        return self.v(x) + adv - adv.mean(-1, keepdim=True)


class RecurrentQ(nn.Module):
    def __init__(self, gamma=0.97):
        super().__init__()
        self.gamma = gamma
        self.convs = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 24, 2), nn.ReLU(), nn.Flatten()
        )
        self.fc = nn.Linear(24 * 4 * 4, 48)
        self.lstm = nn.LSTMCell(48 + A + 1, H)
        self.head = Dueling(H, A)

    def forward(self, frames, actions, rewards, dones, h0, c0):
        B, T = actions.shape
        img = frames.flatten(0, 1).permute(0, 3, 1, 2) / 10
        feats = F.relu(self.fc(self.convs(img))).view(B, T, -1)
        acted = F.one_hot(actions.long(), A).float()
        last_action = F.pad(acted, (0, 0, 1, 0))[:, :T]
        last_reward = F.pad(rewards, (1, 0))[:, :T]
        x = torch.cat([feats, last_action, last_reward.unsqueeze(2)], dim=2)

        fresh = F.pad(dones, (1, 0))[:, :T]
        state = (h0, c0)
        hs = []
        for xt, start in zip(x.unbind(1), fresh.unbind(1)):
            alive = (1 - start).unsqueeze(1)
            state = self.lstm(xt, (state[0] * alive, state[1] * alive))
            hs.append(state[0])
        core = torch.stack(hs[BURN:], dim=1)

        q = self.head(core)
        boot = ValueRescaling.h_inv(q[:, 1:].amax(-1))
        not_done = 1 - dones[:, BURN:-1]
        target = ValueRescaling.h(rewards[:, BURN:-1] + self.gamma * not_done * boot)
        return q, target, state[0], state[1]


def make():
    torch.manual_seed(3)
    return RecurrentQ().eval()


def load(ported, original):
    def put(p, value):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def arrays(layer):
        return [np.asarray(w) for w in layer.weights]

    for conv, src in ((ported.convs[0], original.conv_a), (ported.convs[2], original.conv_b)):
        k, b = arrays(src)
        put(conv.weight, k.transpose(3, 2, 0, 1))
        put(conv.bias, b)
    k, b = arrays(original.torso)                     # rows are (y, x, channel)
    put(ported.fc.weight, k.reshape(4, 4, 24, 48).transpose(3, 2, 0, 1).reshape(48, -1))
    put(ported.fc.bias, b)
    kernel, recurrent, bias = arrays(original.cell)    # gates i, f, c, o in both
    put(ported.lstm.weight_ih, kernel.T)
    put(ported.lstm.weight_hh, recurrent.T)
    put(ported.lstm.bias_ih, bias)
    put(ported.lstm.bias_hh, np.zeros_like(bias))
    for lin, src in ((ported.head.v[0], original.val_h), (ported.head.v[2], original.val),
                     (ported.head.a[0], original.adv_h), (ported.head.a[2], original.adv)):
        k, b = arrays(src)
        put(lin.weight, k.T)
        put(lin.bias, b)


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, T = 5, 8
    frames = np.stack(
        [rng.integers(0, 11, (B, T, 7, 7)), rng.integers(0, 6, (B, T, 7, 7)), rng.integers(0, 3, (B, T, 7, 7))],
        axis=-1,
    ).astype(np.float32)
    actions = rng.integers(0, A, (B, T)).astype(np.int32)
    dones = (rng.uniform(size=(B, T)) < 0.2).astype(np.float32)
    rewards = (rng.uniform(0, 1, size=(B, T)) * (rng.uniform(size=(B, T)) < 0.5)).astype(np.float32)
    h0 = (0.4 * rng.normal(size=(B, H))).astype(np.float32)
    c0 = (0.8 * rng.normal(size=(B, H))).astype(np.float32)
    return frames, actions, rewards, dones, h0, c0
