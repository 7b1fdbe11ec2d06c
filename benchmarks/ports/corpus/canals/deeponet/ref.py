"""Physics-informed DeepONet for advection, s_t + a s_x = 0 on a periodic domain (plain TF functions)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
SENSORS, WIDTH, BASIS, HARMONICS, POINTS = 24, 32, 20, 4, 30


def variable(g, *shape, scale=None):
    scale = shape[0] ** -0.5 if scale is None else scale
    return tf.Variable(g.normal(0, scale, shape).astype("float32"))


def init_modified_mlp(g, sizes):
    params = {"U": (variable(g, sizes[0], sizes[1]), variable(g, sizes[1], scale=0.2)),
              "V": (variable(g, sizes[0], sizes[1]), variable(g, sizes[1], scale=0.2)), "layers": []}
    for a, b in zip(sizes[:-1], sizes[1:]):
        params["layers"].append((variable(g, a, b), variable(g, b, scale=0.2)))
    return params


def modified_mlp(params, x):
    """Wang, Teng & Perdikaris: every hidden layer mixes two encoders of the input."""
    u = tf.tanh(x @ params["U"][0] + params["U"][1])
    v = tf.tanh(x @ params["V"][0] + params["V"][1])
    for w, b in params["layers"][:-1]:
        h = tf.tanh(x @ w + b)
        x = h * u + (1.0 - h) * v
    w, b = params["layers"][-1]
    return x @ w + b


def trunk_features(t, x):
    k = tf.range(1, HARMONICS + 1, dtype=tf.float32)
    phase = 2.0 * np.pi * x[..., None] * k
    return tf.concat([t[..., None], tf.cos(phase), tf.sin(phase)], axis=-1)


def branch(params, u):
    """circular convolution over the sensors, strided, then the network"""
    padded = tf.concat([u[:, -2:], u, u[:, :2]], axis=1)[..., None]
    c = tf.nn.conv1d(padded, params["conv"], stride=2, padding="VALID") + params["conv_b"]
    c = tf.nn.gelu(c, approximate=False)
    return modified_mlp(params["branch"], tf.reshape(c, (u.shape[0], -1)))


def solution(params, u, t, x):
    b = branch(params, u)
    f = tf.tanh(modified_mlp(params["trunk"], trunk_features(t, x)))
    raw = tf.einsum("bk,bpk->bp", b, f) / np.sqrt(BASIS).astype("float32") + params["bias"]
    # the initial condition holds exactly: s(0, x) = u(x), periodic linear interpolation
    where = x * SENSORS
    left = tf.floor(where)
    frac = where - left
    i = tf.cast(left, tf.int32) % SENSORS
    u0 = (1.0 - frac) * tf.gather(u, i, batch_dims=1) + frac * tf.gather(u, (i + 1) % SENSORS, batch_dims=1)
    return u0 + t * raw


def evaluate(params, u, speed, t, x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([t, x])
        s = solution(params, u, t, x)
    s_t, s_x = tape.gradient(s, t), tape.gradient(s, x)
    residual = s_t + speed[:, None] * s_x
    return s, residual, tf.reduce_mean(tf.square(residual), axis=1)


def make():
    g = np.random.default_rng(60)
    params = {
        "conv": variable(g, 5, 1, 3, scale=0.5), "conv_b": variable(g, 3, scale=0.2),
        "branch": init_modified_mlp(g, (SENSORS // 2 * 3, WIDTH, WIDTH, BASIS)),
        "trunk": init_modified_mlp(g, (1 + 2 * HARMONICS, WIDTH, WIDTH, BASIS)),
        "bias": variable(g, 1, scale=0.3),
    }

    def model(u, speed, t, x):
        return evaluate(params, u, speed, t, x)

    model.params = params
    return model


def inputs(seed=0):
    g = np.random.default_rng(seed)
    grid = np.arange(SENSORS) / SENSORS
    u = sum(g.normal(0, 1 / k, (5, 1)) * np.sin(2 * np.pi * (k * grid + g.uniform(size=(5, 1)))) for k in (1, 2, 3))
    t, x = g.uniform(0.05, 1, (5, POINTS)), g.uniform(0, 1, (5, POINTS))
    return tuple(a.astype("float32") for a in (u, g.uniform(0.3, 1, 5), t, x))
