"""Soft modularization: multi-task policy with a routing network (Chainer)."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, TASKS, ACT, D, LAYERS, MODULES, G = 9, 4, 3, 8, 4, 3, 8


class Routing(chainer.Chain):
    """gating embedding -> list of [B, to, from] probabilities"""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(D, G)
            self.weights = chainer.ChainList(*[L.Linear(G, MODULES * MODULES) for _ in range(LAYERS - 2)])
            self.conds = chainer.ChainList(*[L.Linear(MODULES * MODULES, G) for _ in range(LAYERS - 3)])
            self.last_cond = L.Linear(MODULES * MODULES, G)
            self.last = L.Linear(G, MODULES)

    def __call__(self, e):
        B = len(e)
        g = self.first(F.relu(e))
        probs = []
        for i, w in enumerate(self.weights):
            if i > 0:
                cond = self.conds[i - 1](F.reshape(probs[-1], (B, -1)))
                g = cond * F.relu(e)
            raw = F.reshape(w(F.relu(g)), (B, MODULES, MODULES))
            probs.append(F.softmax(raw, axis=2))
        flat = F.reshape(probs[-1], (B, -1))
        g = self.last_cond(flat) * F.relu(e)
        probs.append(F.softmax(F.expand_dims(self.last(F.relu(g)), 1), axis=2))
        return probs


class SoftModular(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.base1 = L.Linear(OBS, 16)
            self.base2 = L.Linear(16, D)
            self.task = L.Linear(TASKS, D)
            self.routing = Routing()
            self.layers = chainer.ChainList(*[
                chainer.ChainList(*[L.Linear(D, D) for _ in range(MODULES)]) for _ in range(LAYERS - 1)])
            self.norm = L.LayerNormalization(D)
            self.head = L.Linear(D, 2 * ACT)

    def __call__(self, obs, task):
        f = self.base2(F.relu(self.base1(obs)))
        z = self.task(task)
        e = f * z
        probs = self.routing(e)
        x = F.relu(f)
        outs = [m(x) for m in self.layers[0]]
        for l in range(1, LAYERS - 1):
            stacked = F.relu(F.stack(outs, axis=1))
            mixed = F.matmul(probs[l - 1], stacked)
            outs = [m(mixed[:, j]) for j, m in enumerate(self.layers[l])]
        stacked = F.relu(F.stack(outs, axis=1))
        y = F.matmul(probs[-1], stacked)[:, 0]
        y = self.head(self.norm(y))
        mean, log_std = F.split_axis(y, 2, axis=1)
        log_std = F.clip(log_std, -2.0, 0.5)
        return F.tanh(mean), F.exp(log_std)


def make():
    m = SoftModular()
    r = np.random.RandomState(6)
    m.norm(np.zeros((1, D), "f"))
    for n, p in sorted(m.namedparams()):
        s = (0.6 if "head" in n else 1.6) / np.sqrt(p.shape[-1]) if p.ndim == 2 else 0.3
        p.array = (r.randn(*p.shape) * s + (1.0 if "gamma" in n else 0)).astype("f")
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(6, OBS).astype("f"), np.eye(TASKS, dtype="f")[r.randint(0, TASKS, 6)]
