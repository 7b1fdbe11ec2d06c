"""Backpropamine: neuromodulated Hebbian plastic RNN agent for mazes (Chainer)."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
I, H, ACTS, T, CLIP = 7, 10, 4, 5, 0.6


class PlasticAgent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.i2h = L.Linear(I, H)
            self.w = chainer.Parameter(np.zeros((H, H), np.float32))
            self.alpha = chainer.Parameter(np.zeros((H, H), np.float32))
            self.eta = chainer.Parameter(np.zeros((1,), np.float32))
            self.h2da = L.Linear(H, 1)
            self.da_fan = L.Linear(1, H)
            self.h2o = L.Linear(H, ACTS)
            self.h2v = L.Linear(H, 1)

    def forward(self, x):
        b = x.shape[0]
        h = chainer.Variable(np.zeros((b, H), np.float32))
        hebb = chainer.Variable(np.zeros((b, H, H), np.float32))
        et = chainer.Variable(np.zeros((b, H, H), np.float32))
        probs, values = [], []
        eta = F.broadcast_to(F.sigmoid(self.eta)[:, None, None], (b, H, H)) if self.eta.ndim == 1 else None
        for t in range(T):
            wfull = F.broadcast_to(self.w, hebb.shape) + F.broadcast_to(self.alpha, hebb.shape) * hebb
            rec = F.squeeze(F.matmul(h[:, None, :], wfull), axis=1)
            hnew = F.tanh(self.i2h(x[:, t]) + rec)
            da = F.tanh(self.h2da(hnew))
            fan = F.broadcast_to(self.da_fan(da)[:, None, :], hebb.shape)
            hebb = F.clip(hebb + fan * et, -CLIP, CLIP)
            outer = F.matmul(h[:, :, None], hnew[:, None, :])
            et = (1.0 - eta) * et + eta * outer
            h = hnew
            probs.append(F.softmax(self.h2o(h), axis=1))
            values.append(self.h2v(h))
        return F.stack(probs, axis=1), F.concat(values, axis=1), hebb


def make():
    r = np.random.RandomState(91)
    m = PlasticAgent()
    for n, p in sorted(m.namedparams()):
        if n == "/eta":
            p.array[...] = 0.4
        elif n == "/alpha":
            p.array[...] = 0.8 * r.randn(*p.shape)
        elif n == "/da_fan/W":
            p.array[...] = 1.5 * r.randn(*p.shape)
        else:
            p.array[...] = 0.3 * r.randn(*p.shape) if p.ndim == 1 else r.randn(*p.shape) / np.sqrt(p.shape[1])
    return m


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(6, T, I)).astype("float32"),)
