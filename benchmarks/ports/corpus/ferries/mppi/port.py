"""MPPI over a learned probabilistic ensemble, TensorFlow: functions over a dict of tf.Variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
S, A, E, HID, H, K = 5, 2, 4, 16, 4, 6
GAMMA, TEMP, BETA, LAMBDA, SIGMA = 0.95, 0.5, 0.7, 0.8, 0.6


def init_params(seed):
    rng = np.random.RandomState(seed)
    shapes = {"mu": (S + A,), "w1": (E, S + A, HID), "b1": (E, HID), "w2": (E, HID, HID), "b2": (E, HID),
              "w3": (E, HID, 2 * (S + 1)), "b3": (E, 2 * (S + 1)), "max_logvar": (S + 1,),
              "min_logvar": (S + 1,), "prior_w1": (S, HID), "prior_b1": (HID,), "prior_w2": (HID, H * A),
              "prior_b2": (H * A,), "value_w1": (S, HID), "value_b1": (HID,), "value_w2": (HID, 1),
              "value_b2": (1,)}
    p = {k: tf.Variable(0.3 * rng.randn(*s).astype(np.float32), name=k) for k, s in shapes.items()}
    p["std"] = tf.Variable(rng.uniform(0.5, 1.5, S + A).astype(np.float32), name="std")
    return p


def ensemble_linear(x, w, b):
    return tf.einsum("eni,eio->eno", x, w) + b[:, None, :]


def two_layer(p, name, x):
    h = tf.nn.elu(x @ p[name + "_w1"] + p[name + "_b1"])
    return h @ p[name + "_w2"] + p[name + "_b2"]


def dynamics(p, s, a):
    x = (tf.concat([s, a], -1) - p["mu"]) / p["std"]
    x = tf.tile(x[None], [E, 1, 1])
    x = tf.nn.silu(ensemble_linear(x, p["w1"], p["b1"]))
    x = tf.nn.silu(ensemble_linear(x, p["w2"], p["b2"]))
    mean, logvar = tf.split(ensemble_linear(x, p["w3"], p["b3"]), 2, axis=-1)
    logvar = p["max_logvar"] - tf.nn.softplus(p["max_logvar"] - logvar)
    logvar = p["min_logvar"] + tf.nn.softplus(logvar - p["min_logvar"])
    return mean, logvar


def std_members(x):
    """sample standard deviation, as torch.std"""
    n = x.shape[0]
    return tf.math.reduce_std(x, axis=0) * (n / (n - 1)) ** 0.5


def step(p, s, a):
    mean, logvar = dynamics(p, s, a)
    delta, reward = mean[..., :S], mean[..., S]
    disagreement = tf.norm(std_members(delta), axis=-1)
    aleatoric = tf.reduce_mean(tf.exp(0.5 * logvar), axis=[0, 2])
    next_s = s + 0.3 * tf.reduce_mean(delta, axis=0)
    return next_s, tf.reduce_mean(reward, 0) - LAMBDA * disagreement - 0.1 * aleatoric


def colour(noise):
    out, prev = [], tf.zeros_like(noise[:, :, 0])
    for n in tf.unstack(noise, axis=2):
        prev = BETA * n + (1 - BETA) * prev
        out.append(prev)
    return tf.stack(out, axis=2)


def rollout(p, state, actions):
    s = tf.repeat(state, K, axis=0)
    flat = tf.reshape(actions, [-1, H, A])
    ret = 0.0
    for t in range(H):
        s, r = step(p, s, flat[:, t])
        ret += GAMMA ** t * r
    ret += GAMMA ** H * two_layer(p, "value", s)[:, 0]
    return tf.reshape(ret, [-1, K])


def plan_actions(p, state, noise):
    plan = tf.reshape(tf.tanh(two_layer(p, "prior", state)), [-1, 1, H, A])
    actions = tf.clip_by_value(plan + SIGMA * colour(noise), -1.0, 1.0)
    score = rollout(p, state, actions)
    w = tf.nn.softmax(score / TEMP, axis=1)
    return tf.einsum("bk,bkha->bha", w, actions), score, w


class MPPI(tf.Module):
    def __init__(self, seed):
        super().__init__()
        self.params = init_params(seed)

    def __call__(self, state, noise):
        return plan_actions(self.params, state, noise)


def make():
    return MPPI(33)


def inputs(seed):
    rng = np.random.RandomState(seed)
    return rng.randn(4, S).astype(np.float32), rng.randn(4, K, H, A).astype(np.float32)


def load(ported, original):
    p, d = ported.params, original.dynamics

    def put(key, t, reshape=False):
        v = t.detach().numpy()
        p[key].assign(v.reshape(p[key].shape) if reshape else v)

    for i, layer in enumerate((d.fc1, d.fc2, d.out), 1):
        put("w%d" % i, layer.weight)
        put("b%d" % i, layer.bias, True)
    for key in ("mu", "std", "max_logvar", "min_logvar"):
        put(key, getattr(d, key), True)
    for name in ("prior", "value"):
        net = getattr(original, name)
        for i, layer in enumerate((net[0], net[2]), 1):
            put("%s_w%d" % (name, i), layer.weight.t())
            put("%s_b%d" % (name, i), layer.bias)
