"""Deep hedging, tf.Module with raw variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N_STEPS, DT = 6, 1.0 / 12
PARAMS = dict(kappa=1.5, theta=0.06, xi=0.5, rho=-0.6)
COST, STRIKE = 0.02, 1.0


class DenseNorm(tf.Module):
    def __init__(self, r, i, o, name=None):
        super().__init__(name)
        f = lambda a: tf.Variable(a.astype("float32"))
        self.w = f(r.normal(size=(i, o)) / np.sqrt(i))
        self.b = f(0.3 * r.normal(size=o))
        self.gamma = f(1 + 0.2 * r.normal(size=o))
        self.beta = f(0.3 * r.normal(size=o))

    def __call__(self, x):
        y = tf.linalg.matmul(x, self.w) + self.b
        mu, var = tf.nn.moments(y, axes=[-1], keepdims=True)
        return tf.nn.silu(tf.nn.batch_normalization(y, mu, var, self.beta, self.gamma, 1e-5))


def bs_delta(moneyness, variance, tau):
    total = variance * tau
    d1 = (moneyness + 0.5 * total) / tf.sqrt(total)
    return 0.5 * tf.math.erfc(-d1 / np.sqrt(2.0).astype("float32"))


def heston(spot, var, v, eps):
    p = PARAMS
    dw = tf.sqrt(v * DT)
    z_s, z_perp = tf.unstack(eps, axis=-1)
    z_v = p["rho"] * z_s + np.sqrt(1 - p["rho"] ** 2) * z_perp
    s_new = spot * tf.exp(dw * z_s - v * DT / 2)
    v_new = var + p["kappa"] * (p["theta"] - v) * DT + p["xi"] * dw * z_v
    return s_new, v_new


class Hedger(tf.Module):
    def __init__(self, seed=32, d=16):
        super().__init__()
        r = np.random.default_rng(seed)
        self.l1, self.l2 = DenseNorm(r, 4, d), DenseNorm(r, d, d)
        self.wo = tf.Variable((r.normal(size=(d, 2)) / 4).astype("float32"))
        self.bo = tf.Variable((0.3 * r.normal(size=2) - 1).astype("float32"))

    def widths(self, feat):
        h = self.l1(feat)
        h += self.l2(h)
        return tf.unstack(0.3 * tf.nn.softplus(h @ self.wo + self.bo), axis=1)

    def __call__(self, noise, init):
        spot, var = init[:, 0], init[:, 1]
        delta = tf.zeros_like(spot)
        wealth = tf.zeros_like(spot)
        path = []
        for t, eps in enumerate(tf.unstack(noise, axis=1)):
            v = tf.maximum(var, 1e-3)
            tau = (N_STEPS - t) * DT
            m = tf.math.log(spot / STRIKE)
            lo, up = self.widths(tf.stack([m, tf.sqrt(v), tf.fill(tf.shape(spot), tau), delta], axis=-1))
            centre = bs_delta(m, v, tau)
            target = tf.clip_by_value(delta, centre - lo, centre + up)
            trade = target - delta
            s_new, var = heston(spot, var, v, eps)
            wealth += target * (s_new - spot) - COST * spot * tf.abs(trade)
            spot, delta = s_new, target
            path.append(delta)
        pnl = wealth - tf.nn.relu(spot - STRIKE)
        return tf.stack(path, axis=1), pnl, spot


def make():
    return Hedger()


def inputs(seed):
    r = np.random.default_rng(seed)
    init = np.stack([r.uniform(0.9, 1.1, 8), r.uniform(0.03, 0.12, 8)], 1)
    return r.normal(size=(8, N_STEPS, 2)).astype("float32"), init.astype("float32")


def load(ported, original):
    n = lambda t: t.detach().numpy()
    b = original.band
    for l, fc, ln in ((ported.l1, b.fc1, b.ln1), (ported.l2, b.fc2, b.ln2)):
        l.w.assign(n(fc.weight).T), l.b.assign(n(fc.bias))
        l.gamma.assign(n(ln.weight)), l.beta.assign(n(ln.bias))
    ported.wo.assign(n(b.out.weight).T), ported.bo.assign(n(b.out.bias))
