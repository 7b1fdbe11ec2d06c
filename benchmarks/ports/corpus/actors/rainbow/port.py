"""Rainbow's distributional loss, pure NumPy, inference mode of the noisy layers."""
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FRAMEWORK = "numpy"


def relu(x):
    return np.maximum(x, 0)


def conv2d(x, w, b, stride, pad):
    if pad:
        x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    win = sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bcijkl,ockl->boij", win, w, optimize=True) + b[:, None, None]


def log_softmax(x, axis):
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def dqn(p, x, actions, atoms):
    x = relu(conv2d(x, p["c1.w"], p["c1.b"], 2, 1))
    x = relu(conv2d(x, p["c2.w"], p["c2.b"], 2, 0))
    x = x.reshape(len(x), -1)

    def fc(name, z):
        return z @ p[name + ".w"].T + p[name + ".b"]

    v = fc("fc_z_v", relu(fc("fc_h_v", x))).reshape(-1, 1, atoms)
    a = fc("fc_z_a", relu(fc("fc_h_a", x))).reshape(-1, actions, atoms)
    return log_softmax(v + a - a.mean(axis=1, keepdims=True), axis=2)


@dataclass
class Rainbow:
    actions: int = 4
    atoms: int = 11
    vmin: float = -5.0
    vmax: float = 5.0
    gamma: float = 0.96
    n: int = 3
    online: dict = field(default_factory=dict)
    target: dict = field(default_factory=dict)

    def project(self, probs, returns, nonterminals, z):
        dz = (self.vmax - self.vmin) / (self.atoms - 1)
        tz = returns[:, None] + nonterminals[:, None] * np.float32(self.gamma ** self.n) * z
        b = (np.clip(tz, self.vmin, self.vmax) - self.vmin) / dz
        lo, hi = np.floor(b).astype(int), np.ceil(b).astype(int)
        lo = np.where((hi > 0) & (lo == hi), lo - 1, lo)
        hi = np.where((lo < self.atoms - 1) & (lo == hi), hi + 1, hi)
        m = np.zeros_like(probs)
        rows = np.arange(len(probs))[:, None]
        np.add.at(m, (rows, lo), probs * (hi - b).astype(np.float32))
        np.add.at(m, (rows, hi), probs * (b - lo).astype(np.float32))
        return m

    def __call__(self, states, actions, returns, next_states, nonterminals, weights):
        z = np.linspace(self.vmin, self.vmax, self.atoms, dtype=np.float32)
        rows = np.arange(len(states))
        logp = dqn(self.online, states, self.actions, self.atoms)
        next_online = np.exp(dqn(self.online, next_states, self.actions, self.atoms))
        next_target = np.exp(dqn(self.target, next_states, self.actions, self.atoms))
        best = (next_online * z).sum(-1).argmax(1)
        m = self.project(next_target[rows, best], returns, nonterminals, z)
        per_sample = -(m * logp[rows, actions]).sum(1)
        q = (np.exp(logp) * z).sum(-1)
        return q, m, per_sample, (weights * per_sample).mean()


def make():
    return Rainbow()


def load(port_model, ref_model):
    def grab(net):
        out = {}
        for c in ("c1", "c2"):
            layer = getattr(net.convs, c)
            out[c + ".w"] = layer.weight.detach().numpy().copy()
            out[c + ".b"] = layer.bias.detach().numpy().copy()
        for f in ("fc_h_v", "fc_h_a", "fc_z_v", "fc_z_a"):
            layer = getattr(net, f)
            out[f + ".w"] = layer.weight_mu.detach().numpy().copy()
            out[f + ".b"] = layer.bias_mu.detach().numpy().copy()
        return out

    port_model.online = grab(ref_model.online)
    port_model.target = grab(ref_model.target)
