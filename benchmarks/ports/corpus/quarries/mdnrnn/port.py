"""World Models in PyTorch with nn.LSTM and torch.distributions."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

FRAMEWORK = "torch"


class VisionModel(nn.Module):
    def __init__(self, z_dim=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 12, 4, 2), nn.ReLU(),
            nn.Conv2d(12, 24, 4, 2), nn.ReLU(),
            nn.Conv2d(24, 32, 3, 2), nn.ReLU(),
            nn.Flatten(),
        )
        self.mu = nn.Linear(128, z_dim)
        self.logvar = nn.Linear(128, z_dim)

    def forward(self, x, noise):
        h = self.conv(x)
        std = (self.logvar(h) / 2).exp()
        return self.mu(h) + std * noise


class MemoryModel(nn.Module):
    def __init__(self, z_dim=8, act=3, hidden=32, mix=5):
        super().__init__()
        self.z_dim, self.mix = z_dim, mix
        self.rnn = nn.LSTM(z_dim + act, hidden, batch_first=True)
        self.heads = nn.Linear(hidden, 3 * mix * z_dim + 1)

    def forward(self, z, a):
        hs, _ = self.rnn(torch.cat([z, a], dim=-1))
        y = self.heads(hs)
        params = y[..., :-1].unflatten(-1, (self.z_dim, 3 * self.mix))
        logits, mu, log_sigma = params.chunk(3, dim=-1)
        gmm = MixtureSameFamily(Categorical(logits=logits), Normal(mu, log_sigma.exp()))
        return hs, gmm, torch.sigmoid(y[..., -1])


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.V = VisionModel()
        self.M = MemoryModel()
        self.C = nn.Linear(40, 3)

    def forward(self, frames, actions, eps):
        b, t = eps.shape[:2]
        z = self.V(frames.flatten(0, 1), eps.flatten(0, 1)).view(b, t, -1)
        hs, gmm, done = self.M(z[:, :-1], actions[:, :-1])
        before = torch.cat([torch.zeros_like(hs[:, :1]), hs[:, :-1]], dim=1)
        control = torch.tanh(self.C(torch.cat([z[:, :-1], before], dim=-1)))
        nll = -gmm.log_prob(z[:, 1:]).sum(-1)
        return control, nll, done, gmm.mean[:, -1]


def make():
    torch.manual_seed(19)
    return WorldModel().eval()


def _set(param, array):
    param.data.copy_(torch.from_numpy(np.ascontiguousarray(array)))


def _copy(dst, link):
    _set(dst.weight, link.W.array)
    _set(dst.bias, link.b.array)


def load(ported, original):
    v, m = original.vision, original.memory
    for i, conv in zip((0, 2, 4), (v.c1, v.c2, v.c3)):
        _copy(ported.V.conv[i], conv)
    _copy(ported.V.mu, v.mean)
    _copy(ported.V.logvar, v.log_var)

    # Chainer interleaves the gates: rows unit0(a,i,f,o), unit1(a,i,f,o), ...; torch: i, f, g, o blocks
    def gates(w):
        a, i, f, o = np.moveaxis(w.reshape((32, 4) + w.shape[1:]), 1, 0)
        return np.concatenate([i, f, a, o], axis=0)

    rnn = ported.M.rnn
    _set(rnn.weight_ih_l0, gates(m.lstm.upward.W.array))
    _set(rnn.bias_ih_l0, gates(m.lstm.upward.b.array))
    _set(rnn.weight_hh_l0, gates(m.lstm.lateral.W.array))
    _set(rnn.bias_hh_l0, np.zeros(128, np.float32))
    _copy(ported.M.heads, m.out)
    _copy(ported.C, original.controller)


def inputs(seed):
    rng = np.random.RandomState(seed)
    B, T = 4, 6
    frames = rng.rand(B, 1, 3, 30, 30) * 0.6 + rng.rand(B, T, 3, 30, 30) * 0.4
    actions = np.tanh(rng.randn(B, T, 3))
    eps = rng.randn(B, T, 8)
    return tuple(x.astype(np.float32) for x in (frames, actions, eps))
