"""Conv-TasNet as plain TensorFlow functions over a dict of variables, channels last."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FILTERS, LENGTH, BOTTLENECK, HIDDEN, SKIP, KERNEL = 16, 8, 12, 20, 12, 3
BLOCKS, REPEATS, SPEAKERS = 3, 2, 2
HOP = LENGTH // 2


def init(seed):
    rng = np.random.default_rng(seed)
    p = {}

    def var(name, *shape, scale=None, offset=0.):
        scale = scale or 1 / np.sqrt(np.prod(shape[:-1]))
        p[name] = tf.Variable(offset + scale * rng.normal(size=shape), dtype=tf.float32, name=name)

    def dense(name, i, o):
        var(name + "/w", i, o)
        var(name + "/b", o, scale=0.1)

    def norm(name, n):
        var(name + "/gamma", n, scale=0.2, offset=1.)
        var(name + "/beta", n, scale=0.2)

    var("encoder", LENGTH, 1, FILTERS)
    norm("norm", FILTERS)
    dense("bottleneck", FILTERS, BOTTLENECK)
    for i in range(BLOCKS * REPEATS):
        dense(f"tcn{i}/expand", BOTTLENECK, HIDDEN)
        var(f"tcn{i}/alpha1", scale=0.05, offset=0.25)
        norm(f"tcn{i}/norm1", HIDDEN)
        var(f"tcn{i}/dw/w", KERNEL, HIDDEN, 1, scale=0.5)
        var(f"tcn{i}/dw/b", HIDDEN, scale=0.1)
        var(f"tcn{i}/alpha2", scale=0.05, offset=0.25)
        norm(f"tcn{i}/norm2", HIDDEN)
        dense(f"tcn{i}/res", HIDDEN, BOTTLENECK)
        dense(f"tcn{i}/skip", HIDDEN, SKIP)
    var("alpha", scale=0.05, offset=0.25)
    dense("mask", SKIP, SPEAKERS * FILTERS)
    var("decoder", LENGTH, 1, FILTERS)
    return p


def linear(p, name, x):
    return tf.matmul(x, p[name + "/w"]) + p[name + "/b"]


def prelu(x, alpha):
    return tf.where(x > 0, x, alpha * x)


def gln(p, name, x, eps=1e-8):
    mean, var = tf.nn.moments(x, axes=[1, 2], keepdims=True)
    return p[name + "/gamma"] * (x - mean) / tf.sqrt(var + eps) + p[name + "/beta"]


def temporal_block(p, i, x):
    dilation = 2 ** (i % BLOCKS)
    y = gln(p, f"tcn{i}/norm1", prelu(linear(p, f"tcn{i}/expand", x), p[f"tcn{i}/alpha1"]))
    y = tf.nn.depthwise_conv2d(y[:, None], p[f"tcn{i}/dw/w"][None], [1, 1, 1, 1], "SAME",
                               dilations=[1, dilation])[:, 0] + p[f"tcn{i}/dw/b"]
    y = gln(p, f"tcn{i}/norm2", prelu(y, p[f"tcn{i}/alpha2"]))
    return x + linear(p, f"tcn{i}/res", y), linear(p, f"tcn{i}/skip", y)


def separate(p, mixture):
    batch, samples = mixture.shape
    code = tf.nn.relu(tf.nn.conv1d(mixture[:, :, None], p["encoder"], HOP, "VALID"))
    x = linear(p, "bottleneck", gln(p, "norm", code))
    skips = []
    for i in range(BLOCKS * REPEATS):
        x, skip = temporal_block(p, i, x)
        skips.append(skip)
    total = tf.add_n(skips)
    mask = tf.sigmoid(linear(p, "mask", prelu(total, p["alpha"])))
    frames = code.shape[1]
    mask = tf.reshape(mask, [batch, frames, SPEAKERS, FILTERS])
    masked = tf.transpose(mask * code[:, :, None, :], [0, 2, 1, 3])
    masked = tf.reshape(masked, [batch * SPEAKERS, frames, FILTERS])
    waves = tf.nn.conv1d_transpose(masked, p["decoder"], [batch * SPEAKERS, samples, 1], HOP, "VALID")
    return tf.reshape(waves, [batch, SPEAKERS, samples])


def make(seed=1):
    params = init(seed)

    def model(mixture):
        return separate(params, mixture)

    model.params = params
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(160) / 160
    f = rng.uniform(3, 30, size=(4, 2, 1))
    return (np.sin(2 * np.pi * f * t).sum(1) + 0.1 * rng.normal(size=(4, 160))).astype("float32")


def load(ported, original):
    p = ported.params
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(to, frm):
        p[to + "/w"].assign(s[frm + ".weight"][:, :, 0].T)
        p[to + "/b"].assign(s[frm + ".bias"])

    def norm(to, frm):
        p[to + "/gamma"].assign(s[frm + ".gamma"].ravel())
        p[to + "/beta"].assign(s[frm + ".beta"].ravel())

    p["encoder"].assign(s["encoder.weight"].transpose(2, 1, 0))
    p["decoder"].assign(s["decoder.weight"].transpose(2, 1, 0))
    p["alpha"].assign(s["act.weight"][0])
    norm("norm", "norm")
    dense("bottleneck", "bottleneck")
    dense("mask", "mask")
    for i in range(BLOCKS * REPEATS):
        a, b = f"tcn{i}/", f"tcn.{i}."
        for name in ("expand", "res", "skip"):
            dense(a + name, b + name)
        for k in "12":
            norm(a + "norm" + k, b + "norm" + k)
            p[a + "alpha" + k].assign(s[b + f"act{k}.weight"][0])
        p[a + "dw/w"].assign(s[b + "depthwise.weight"].transpose(2, 0, 1))
        p[a + "dw/b"].assign(s[b + "depthwise.bias"])
