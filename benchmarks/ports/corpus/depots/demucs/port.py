"""Demucs in TensorFlow: functions over a dict of raw variables, channels last."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
AUDIO, SOURCES, CHANNELS, GROWTH, DEPTH = 2, 2, 6, 2, 2
KERNEL, STRIDE, CONTEXT, LENGTH = 8, 4, 3, 160


def conv(p, x, stride=1):
    return tf.nn.conv1d(x, p["w"], stride, "VALID") + p["b"]


def conv_transpose(p, x, stride):
    batch, steps, _ = x.shape
    length = (steps - 1) * stride + KERNEL
    shape = (batch, length, p["w"].shape[1])
    return tf.nn.conv1d_transpose(x, p["w"], shape, stride, "VALID") + p["b"]


def glu(x):
    value, gate = tf.split(x, 2, axis=-1)
    return value * tf.sigmoid(gate)


def encode(p, x):
    x = tf.nn.relu(conv(p["down"], x, STRIDE))
    return glu(conv(p["gate"], x))


def decode(p, x, last):
    x = glu(conv(p["gate"], x))
    x = conv_transpose(p["up"], x, STRIDE)
    return x if last else tf.nn.relu(x)


def lstm(p, x, reverse=False):
    """All hidden states of an LSTM over (batch, steps, features)."""
    units = p["u"].shape[0]
    h = c = tf.zeros((x.shape[0], units))
    steps = range(x.shape[1])
    outputs = {}
    for t in reversed(steps) if reverse else steps:
        i, f, g, o = tf.split(x[:, t] @ p["w"] + h @ p["u"] + p["b"], 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outputs[t] = h
    return tf.stack([outputs[t] for t in steps], axis=1)


def blstm(p, x):
    both = tf.concat([lstm(p["forward"], x), lstm(p["backward"], x, reverse=True)], axis=-1)
    return tf.tensordot(both, p["w"], 1) + p["b"]


def center_trim(x, like):
    delta = x.shape[1] - like.shape[1]
    start = delta // 2
    return x[:, start : start + like.shape[1]]


def demucs(params, mix):
    mono = tf.reduce_mean(mix, axis=-1, keepdims=True)
    mean = tf.reduce_mean(mono, axis=1, keepdims=True)
    variance = tf.reduce_sum(tf.square(mono - mean), axis=1, keepdims=True) / (mix.shape[1] - 1)
    std = tf.sqrt(variance)
    x = (mix - mean) / (1e-5 + std)
    saved = []
    for p in params["encoder"]:
        x = encode(p, x)
        saved.append(x)
    x = blstm(params["lstm"], x)
    for i, p in enumerate(params["decoder"]):
        skip = center_trim(saved.pop(), x)
        x = decode(p, x + skip, last=i == DEPTH - 1)
    x = x * std + mean
    x = tf.reshape(x, (x.shape[0], x.shape[1], SOURCES, AUDIO))
    return tf.transpose(x, (0, 2, 3, 1))


def initialise(seed):
    rng = np.random.default_rng(seed)

    def variable(*shape):
        fan = np.prod(shape[:-1]) if len(shape) > 1 else 10
        return tf.Variable(rng.normal(0, 1.2 / np.sqrt(fan), shape).astype("float32"))

    def layer(*shape, out=-1):
        return {"w": variable(*shape), "b": variable(shape[out])}

    params = {"encoder": [], "decoder": []}
    inside, channels = AUDIO, CHANNELS
    for index in range(DEPTH):
        params["encoder"].append(
            {"down": layer(KERNEL, inside, channels), "gate": layer(1, channels, 2 * channels)}
        )
        out = inside if index > 0 else SOURCES * AUDIO
        params["decoder"].insert(
            0, {"gate": layer(CONTEXT, channels, 2 * channels), "up": layer(KERNEL, out, channels, out=1)}
        )
        inside, channels = channels, GROWTH * channels
    params["lstm"] = {
        way: {"w": variable(inside, 4 * inside), "u": variable(inside, 4 * inside), "b": variable(4 * inside)}
        for way in ("forward", "backward")
    }
    params["lstm"].update(layer(2 * inside, inside))
    return params


class Separator:
    def __init__(self, params):
        self.params = params

    def __call__(self, mix):
        return demucs(self.params, mix)


def make():
    return Separator(initialise(16))


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(LENGTH)
    tone = np.sin(t * rng.uniform(0.05, 0.5, (4, 2, 1)) + rng.uniform(0, 6, (4, 2, 1)))
    loudness = rng.uniform(0.3, 2.0, (4, 1, 1))
    mix = (loudness * tone + 0.2 * rng.normal(size=(4, AUDIO, LENGTH)) + 0.1).astype("float32")
    return (np.ascontiguousarray(mix.transpose(0, 2, 1)),)


def load(ported, original):
    params = ported.params

    def numpy(p):
        return p.detach().numpy()

    def put(ours, theirs, order):
        ours["w"].assign(numpy(theirs.weight).transpose(order))
        ours["b"].assign(numpy(theirs.bias))

    for ours, theirs in zip(params["encoder"], original.encoder):
        put(ours["down"], theirs[0], (2, 1, 0))
        put(ours["gate"], theirs[2], (2, 1, 0))
    for ours, theirs in zip(params["decoder"], original.decoder):
        put(ours["gate"], theirs[0], (2, 1, 0))
        put(ours["up"], theirs[2], (2, 1, 0))
    put(params["lstm"], original.lstm.linear, (1, 0))
    rnn = original.lstm.lstm
    for way, suffix in (("forward", "l0"), ("backward", "l0_reverse")):
        ours = params["lstm"][way]
        ours["w"].assign(numpy(getattr(rnn, "weight_ih_" + suffix)).T)
        ours["u"].assign(numpy(getattr(rnn, "weight_hh_" + suffix)).T)
        bias = numpy(getattr(rnn, "bias_ih_" + suffix)) + numpy(getattr(rnn, "bias_hh_" + suffix))
        ours["b"].assign(bias)
