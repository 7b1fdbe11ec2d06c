"""REDQ in TensorFlow: plain functions over dicts of tf.Variable."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, HID, N = 7, 3, 12, 5
SUBSET = [1, 4]
GAMMA = 0.97


def linear(p, x):
    return tf.linalg.matmul(x, p["w"]) + p["b"]


def ensemble_linear(p, x):
    return tf.einsum("nbi,nio->nbo", x, p["w"]) + p["b"]


def layer_norm(p, x, eps=1e-5):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(var + eps) * p["gain"] + p["shift"]


def critics(p, obs, act):
    x = tf.concat([obs, act], axis=-1)
    x = tf.tile(x[None], [N, 1, 1])
    for i in ("1", "2"):
        x = ensemble_linear(p["l" + i], x)
        x = tf.nn.relu(layer_norm(p["n" + i], x))
    return ensemble_linear(p["l3"], x)[..., 0]


def actor(p, obs, eps):
    h = tf.nn.silu(linear(p["fc1"], obs))
    h = tf.nn.silu(linear(p["fc2"], h))
    mu = linear(p["mu"], h)
    log_std = tf.clip_by_value(linear(p["log_std"], h), -1.0, 0.5)
    std = tf.exp(log_std)
    u = mu + std * eps
    logp = -0.5 * ((u - mu) / std) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
    correction = 2.0 * (math.log(2.0) - u - tf.nn.softplus(-2.0 * u))
    return tf.tanh(u), tf.reduce_sum(logp - correction, axis=-1)


class REDQ(tf.Module):
    def __init__(self, rng):
        super().__init__()
        v = lambda *s: tf.Variable(rng.normal(size=s).astype("float32") * 0.3 + 0.1)
        lin = lambda i, o: {"w": v(i, o), "b": v(o)}
        ens = lambda i, o: {"w": v(N, i, o), "b": v(N, 1, o)}
        ln = lambda: {"gain": v(N, 1, HID), "shift": v(N, 1, HID)}
        net = lambda: {"l1": ens(OBS + ACT, HID), "n1": ln(), "l2": ens(HID, HID), "n2": ln(), "l3": ens(HID, 1)}
        self.actor = {"fc1": lin(OBS, HID), "fc2": lin(HID, HID), "mu": lin(HID, ACT), "log_std": lin(HID, ACT)}
        self.critics, self.targets = net(), net()
        self.log_alpha = v()

    def __call__(self, obs, act, next_obs, eps):
        alpha = tf.exp(self.log_alpha)
        next_act, logp = actor(self.actor, next_obs, eps)
        q_next = tf.gather(critics(self.targets, next_obs, next_act), SUBSET)
        q_next = tf.reduce_min(q_next, axis=0)
        backup = GAMMA * (q_next - alpha * logp)
        q = critics(self.critics, obs, act)
        pi, logp_pi = actor(self.actor, obs, eps)
        q_pi = tf.reduce_mean(critics(self.critics, obs, pi), axis=0)
        spread = tf.sqrt(tf.reduce_sum((q - tf.reduce_mean(q, 0)) ** 2, 0) / (N - 1))
        return q - backup[None], q_pi - alpha * logp_pi, spread


def make():
    return REDQ(np.random.default_rng(12))


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(6, OBS), np.tanh(f(6, ACT)), f(6, OBS), f(6, ACT)


def load(m, o):
    n = lambda t: t.detach().numpy()
    for k, l in (("fc1", o.actor.body[0]), ("fc2", o.actor.body[2]), ("mu", o.actor.mu), ("log_std", o.actor.log_std)):
        m.actor[k]["w"].assign(n(l.weight).T)
        m.actor[k]["b"].assign(n(l.bias))
    for ours, theirs in ((m.critics, o.critics), (m.targets, o.targets)):
        for k in ("l1", "l2", "l3"):
            ours[k]["w"].assign(n(getattr(theirs, k).weight))
            ours[k]["b"].assign(n(getattr(theirs, k).bias))
        for k in ("n1", "n2"):
            ours[k]["gain"].assign(n(getattr(theirs, k).gain))
            ours[k]["shift"].assign(n(getattr(theirs, k).shift))
    m.log_alpha.assign(n(o.log_alpha))
