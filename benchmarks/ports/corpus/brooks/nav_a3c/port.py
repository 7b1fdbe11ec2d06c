"""Nav A3C in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, ACT, VEL, H1, H2, CELLS, BINS = 3, 4, 3, 6, 8, 4, 5


class NavA3C(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(3, 6, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(8 * 3 * 3, 16), nn.ReLU())
        self.lstm1 = nn.LSTMCell(16 + 1, H1)
        self.lstm2 = nn.LSTMCell(16 + H1 + VEL + ACT, H2)
        self.actor = nn.Linear(H2, ACT)
        self.critic = nn.Linear(H2, 1)
        self.depth_conv = nn.Linear(16, CELLS * BINS)
        self.depth_lstm = nn.Linear(H2, CELLS * BINS)

    def core(self, enc, action, reward, velocity, not_done):
        b = enc.shape[0]
        h1, c1 = enc.new_zeros(b, H1), enc.new_zeros(b, H1)
        h2, c2 = enc.new_zeros(b, H2), enc.new_zeros(b, H2)
        reward = reward.clamp(-1, 1)
        outs = []
        for t in range(T):
            m = not_done[:, t]
            h1, c1, h2, c2 = h1 * m, c1 * m, h2 * m, c2 * m
            h1, c1 = self.lstm1(torch.cat([enc[:, t], reward[:, t]], dim=1), (h1, c1))
            x2 = torch.cat([enc[:, t], h1, velocity[:, t], action[:, t]], dim=1)
            h2, c2 = self.lstm2(x2, (h2, c2))
            outs.append(h2)
        return torch.stack(outs, dim=1)

    def depth_probs(self, logits):
        logits = logits.unflatten(-1, (CELLS, BINS))
        return logits.softmax(dim=-1)

    def forward(self, frames, prev_action, prev_reward, velocity, not_done):
        enc = self.trunk(frames / 255.0 - 0.5)
        enc = enc.view(-1, T, 16)
        h = self.core(enc, prev_action, prev_reward, velocity, not_done)
        log_pi = F.log_softmax(self.actor(h), dim=-1)
        return log_pi, self.critic(h), self.depth_probs(self.depth_conv(enc)), self.depth_probs(self.depth_lstm(h))


def make():
    g = torch.Generator().manual_seed(6)
    m = NavA3C()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    frames = r.randint(0, 256, (B * T, 3, 12, 12)).astype("float32")
    prev_action = np.eye(ACT, dtype="float32")[r.randint(0, ACT, (B, T))]
    prev_reward = (r.randn(B, T, 1) * 1.5).astype("float32")
    velocity = r.randn(B, T, VEL).astype("float32")
    not_done = np.ones((B, T, 1), "float32")
    not_done[1, 1] = not_done[2, 2] = not_done[3, 1] = 0
    return frames, prev_action, prev_reward, velocity, not_done


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.tensor(np.array(a)))

    def lin(dst, src):
        put(dst.weight, src.W.array)
        put(dst.bias, src.b.array)

    def gates(w):
        """chainer interleaves a, i, f, o by unit; torch wants blocks i, f, g, o"""
        w = w.reshape((-1, 4) + w.shape[1:])
        return np.concatenate([w[:, 1], w[:, 2], w[:, 0], w[:, 3]], axis=0)

    enc = original.encoder
    lin(ported.trunk[0], enc.conv1)
    lin(ported.trunk[2], enc.conv2)
    lin(ported.trunk[5], enc.fc)
    for cell, src in ((ported.lstm1, original.lstm1), (ported.lstm2, original.lstm2)):
        put(cell.weight_ih, gates(src.upward.W.array))
        put(cell.bias_ih, gates(src.upward.b.array))
        put(cell.weight_hh, gates(src.lateral.W.array))
        put(cell.bias_hh, np.zeros(cell.bias_hh.shape, "float32"))
    lin(ported.actor, original.pi)
    lin(ported.critic, original.v)
    lin(ported.depth_conv, original.depth_conv)
    lin(ported.depth_lstm, original.depth_lstm)
