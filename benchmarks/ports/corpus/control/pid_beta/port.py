"""Chainer port of the PID / Beta agent."""
import numpy as np
import parity  # noqa: F401  (chainer on numpy 2)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
CFG = dict(n=3, dt=0.1, tau=0.3, i_max=0.08, low=(-1.0, -2.0, 0.0), high=(1.0, 2.0, 1.5))


class MLP(chainer.ChainList):
    def __init__(self, *sizes):
        super().__init__(*[L.Linear(i, o) for i, o in zip(sizes, sizes[1:])])

    def __call__(self, x):
        h = self[0](x)
        h = h * F.sigmoid(h)
        return self[2](F.tanh(self[1](h)))


def encode(setpoint, meas, cfg):
    """Runs on raw arrays, nothing to learn here."""
    dt = cfg["dt"]
    err = setpoint - meas
    alpha = np.float32(dt / (dt + cfg["tau"]))
    i_state = np.zeros_like(err[:, 0])
    for e in err.swapaxes(0, 1):
        i_state = np.minimum(np.maximum(i_state + e * np.float32(dt), -cfg["i_max"]), cfg["i_max"])
    slope = (meas[:, :-1] - meas[:, 1:]) / np.float32(dt)
    d_state = np.zeros_like(i_state)
    for s in slope.swapaxes(0, 1):
        d_state += alpha * (s - d_state)
    return np.concatenate([err[:, -1], i_state, d_state], axis=1).astype(np.float32)


def asinh(x):
    mag = abs(x)
    return F.sign(x) * F.log(mag + F.sqrt(mag * mag + 1))


class Agent(chainer.Chain):
    def __init__(self, cfg=CFG):
        super().__init__()
        n = cfg["n"]
        self.cfg = cfg
        self.low, self.high = np.float32(cfg["low"]), np.float32(cfg["high"])
        with self.init_scope():
            self.pi = MLP(3 * n, 32, 24, 2 * n)
            self.qa = MLP(4 * n, 32, 24, 1)
            self.qb = MLP(4 * n, 32, 24, 1)
            self.gain = chainer.Parameter(1.0, (3 * n,))

    def __call__(self, setpoint, meas, action):
        n, span = self.cfg["n"], self.high - self.low
        s = encode(setpoint, meas, self.cfg)
        s = asinh(F.scale(chainer.Variable(s), self.gain, axis=1))
        a, b = F.split_axis(F.softplus(self.pi(s)) + 1, 2, axis=1)
        total = a + b
        unit = np.clip((action - self.low) / span, 1e-4, 1 - 1e-4).astype(np.float32)
        lognorm = F.lgamma(total) - F.lgamma(a) - F.lgamma(b)
        logp = F.sum((a - 1) * np.log(unit) + (b - 1) * np.log(1 - unit) + lognorm, axis=1)
        logp -= np.log(span).sum()
        # H = ln B - (a-1)(psi(a) - psi(a+b)) - (b-1)(psi(b) - psi(a+b)) + ln(span)
        psi = F.digamma(total)
        ent = -lognorm - (a - 1) * (F.digamma(a) - psi) - (b - 1) * (F.digamma(b) - psi)
        ent = F.sum(ent, axis=1) + np.log(span).sum()
        mean = F.broadcast_to(chainer.Variable(self.low), a.shape) + a / total * np.broadcast_to(span, a.shape)
        sa = F.concat([s, 2 * unit - 1], axis=1)
        q = F.min(F.concat([self.qa(sa), self.qb(sa)], axis=1), axis=1)
        return {"mean": mean, "logp": logp, "entropy": ent, "q": q}


def make():
    np.random.seed(6)
    return Agent()


def load(model, reference):
    for chain, seq in ((model.pi, reference.actor), (model.qa, reference.q1), (model.qb, reference.q2)):
        for link, layer in zip(chain, seq.layers):
            w, b = layer.get_weights()
            link.W.array[...] = w.T
            link.b.array[...] = b
    model.gain.array[...] = reference.gain.numpy()
