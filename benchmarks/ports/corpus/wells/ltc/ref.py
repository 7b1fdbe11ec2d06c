"""Liquid time-constant network with NCP wiring (lane keeping), TensorFlow variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, S, M, UNFOLDS = 10, 6, 3, 3


def wiring(seed=5):
    r = np.random.default_rng(seed)
    sens = (r.random((S, N)) < 0.6).astype("float32")
    rec = (r.random((N, N)) < 0.5).astype("float32")
    return sens, rec


class LTCCell(tf.Module):
    def __init__(self, r):
        super().__init__()
        f = lambda lo, hi, s: tf.Variable(r.uniform(lo, hi, s).astype("float32"))
        self.gleak, self.vleak, self.cm = f(0.1, 1, N), f(-0.5, 0.5, N), f(0.4, 0.6, N)
        self.sigma, self.mu, self.w = f(3, 8, (N, N)), f(0.3, 0.8, (N, N)), f(0.1, 1, (N, N))
        self.erev = f(-1, 1, (N, N))
        self.s_sigma, self.s_mu, self.s_w = f(3, 8, (S, N)), f(0.3, 0.8, (S, N)), f(0.1, 1, (S, N))
        self.s_erev = f(-1, 1, (S, N))
        self.in_w, self.in_b = f(0.5, 1.5, S), f(-0.3, 0.3, S)
        self.out_w, self.out_b = f(0.5, 1.5, M), f(-0.3, 0.3, M)
        sens, rec = wiring()
        self.s_mask, self.mask = tf.constant(sens), tf.constant(rec)

    @staticmethod
    def _sigmoid(v_pre, mu, sigma):
        v_pre = tf.expand_dims(v_pre, -1)
        mues = v_pre - mu
        return tf.nn.sigmoid(sigma * mues)

    def step(self, x, state, elapsed):
        s_act = tf.nn.softplus(self.s_w) * self._sigmoid(x, self.s_mu, self.s_sigma)
        s_act = s_act * self.s_mask
        s_rev = s_act * self.s_erev
        num_sens = tf.reduce_sum(s_rev, axis=1)
        den_sens = tf.reduce_sum(s_act, axis=1)
        cm_t = tf.nn.softplus(self.cm) / (elapsed / UNFOLDS)
        gleak = tf.nn.softplus(self.gleak)
        w = tf.nn.softplus(self.w)
        v = state
        for _ in range(UNFOLDS):
            act = w * self._sigmoid(v, self.mu, self.sigma)
            act = act * self.mask
            rev = act * self.erev
            w_num = tf.reduce_sum(rev, axis=1) + num_sens
            w_den = tf.reduce_sum(act, axis=1) + den_sens
            numerator = cm_t * v + gleak * self.vleak + w_num
            denominator = cm_t + gleak + w_den
            v = numerator / (denominator + 1e-8)
        return v

    def __call__(self, x, state, elapsed):
        x = x * self.in_w + self.in_b
        state = self.step(x, state, elapsed)
        motor = state[:, :M]
        return motor * self.out_w + self.out_b, state


class Policy(tf.Module):
    def __init__(self, seed=41):
        super().__init__()
        r = np.random.default_rng(seed)
        self.k1 = tf.Variable((r.normal(size=(5, 8)) / 2.2).astype("float32"))
        self.b1 = tf.Variable((0.2 * r.normal(size=8)).astype("float32"))
        self.k2 = tf.Variable((r.normal(size=(8, S)) / 2.8).astype("float32"))
        self.b2 = tf.Variable((0.2 * r.normal(size=S)).astype("float32"))
        self.cell = LTCCell(r)

    def __call__(self, obs, timespans):
        h = tf.nn.elu(tf.tensordot(obs, self.k1, 1) + self.b1)
        h = tf.tensordot(h, self.k2, 1) + self.b2
        state = tf.zeros((tf.shape(obs)[0], N))
        outs = []
        for t in range(obs.shape[1]):
            y, state = self.cell(h[:, t], state, timespans[:, t])
            outs.append(y)
        return tf.stack(outs, axis=1), state


def make():
    return Policy()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(4, 4, 5)).astype("float32"), r.uniform(0.3, 1.5, (4, 4, 1)).astype("float32")
