"""CPG-RL with raw TensorFlow variables and functions."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, LEGS, HID, STEPS, DT = 14, 4, 24, 3, 0.05
ALPHA, H_BODY, L_CLEAR, L_PEN, D_STEP = 12.0, 0.28, 0.09, 0.02, 0.12
L_THIGH, L_CALF = 0.213, 0.213


def linear(p, name, x):
    return x @ p[name + "/w"] + p[name + "/b"]


def normalise(p, x):
    z = (x - p["norm/mean"]) * tf.math.rsqrt(p["norm/var"] + 1e-5)
    return tf.clip_by_value(z, -5.0, 5.0)


def actor(p, x):
    x = tf.nn.elu(linear(p, "pi0", x))
    x = tf.nn.elu(linear(p, "pi1", x))
    return tf.reshape(tf.tanh(linear(p, "pi2", x)), [-1, 3, LEGS])


def critic(p, x):
    return linear(p, "vf1", tf.nn.elu(linear(p, "vf0", x)))


def hopf(p, state, mu, omega):
    r, dr, th = tf.unstack(state, axis=1)
    for _ in range(STEPS):
        gap = th[:, None, :] - th[:, :, None] - p["cpg/bias"]
        dth = omega + tf.einsum("bj,ij,bij->bi", r, p["cpg/coupling"], tf.sin(gap))
        ddr = ALPHA * (ALPHA / 4.0 * (mu - r) - dr)
        r, dr, th = r + DT * dr, dr + DT * ddr, th + DT * dth
    return r, dr, th


def feet(r, th, psi):
    reach = -D_STEP * r * tf.cos(th)
    lift = tf.sin(th)
    height = -H_BODY + tf.where(lift > 0, L_CLEAR, L_PEN) * lift
    return reach * tf.cos(psi), reach * tf.sin(psi), height


def leg_ik(x, y, z):
    hip = tf.atan2(y, -z)
    d2 = tf.square(x) + tf.square(y) + tf.square(z)
    c = (d2 - L_THIGH ** 2 - L_CALF ** 2) / (2 * L_THIGH * L_CALF)
    knee = -tf.acos(tf.clip_by_value(c, -0.999, 0.999))
    thigh = tf.atan2(-x, -z) - tf.atan2(L_CALF * tf.sin(knee), L_THIGH + L_CALF * tf.cos(knee))
    return tf.stack([hip, thigh, knee], axis=-1)


class CPGPolicy(tf.Module):
    def __init__(self, params):
        super().__init__()
        self.p = params

    def __call__(self, obs, state):
        o = normalise(self.p, obs)
        act = actor(self.p, o)
        mu = 1.0 + 0.5 * (act[:, 0] + 1.0)
        omega = 2 * math.pi * 2.25 * (act[:, 1] + 1.0)
        psi = 1.5 * act[:, 2]
        r, dr, th = hopf(self.p, state, mu, omega)
        x, y, z = feet(r, th, psi)
        return leg_ik(x, y, z), tf.stack([r, dr, th], axis=1), critic(self.p, o)


def make():
    r = np.random.RandomState(2)
    shapes = {"norm/mean": (OBS,), "norm/var": (OBS,), "cpg/coupling": (LEGS, LEGS), "cpg/bias": (LEGS, LEGS)}
    for n, i, o in (("pi0", OBS, HID), ("pi1", HID, HID), ("pi2", HID, 3 * LEGS), ("vf0", OBS, HID), ("vf1", HID, 1)):
        shapes[n + "/w"], shapes[n + "/b"] = (i, o), (o,)
    p = {k: tf.Variable((0.2 * r.randn(*s)).astype("float32"), name=k.replace("/", "_")) for k, s in shapes.items()}
    p["norm/var"].assign(tf.abs(p["norm/var"]) + 0.5)
    return CPGPolicy(p)


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(6, OBS).astype("float32")
    state = np.stack([1 + r.rand(6, LEGS), 0.3 * r.randn(6, LEGS), 2 * np.pi * r.rand(6, LEGS)], 1).astype("float32")
    return obs, state


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for ours, theirs in (("pi0", "pi.0"), ("pi1", "pi.2"), ("pi2", "pi.4"), ("vf0", "vf.0"), ("vf1", "vf.2")):
        ported.p[ours + "/w"].assign(sd[theirs + ".weight"].T)
        ported.p[ours + "/b"].assign(sd[theirs + ".bias"])
    ported.p["norm/mean"].assign(sd["norm.mean"])
    ported.p["norm/var"].assign(sd["norm.var"])
    ported.p["cpg/coupling"].assign(sd["cpg.coupling"])
    ported.p["cpg/bias"].assign(sd["cpg.phase_bias"])
