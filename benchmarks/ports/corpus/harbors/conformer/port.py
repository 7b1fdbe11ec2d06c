"""Conformer + CTC as a functional Keras model; the attention is spelled out."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MEL, DIM, HEADS, KERNEL, VOCAB, TIME = 20, 24, 4, 7, 16, 24


def norm(name):
    return layers.LayerNormalization(epsilon=1e-5, name=name)


def feed_forward(x, name):
    h = norm(f"{name}_norm")(x)
    h = layers.Dense(4 * DIM, activation="silu", name=f"{name}_up")(h)
    return layers.Dense(DIM, name=f"{name}_down")(h)


def attention(x, valid, name):
    t, d = x.shape[1], DIM // HEADS

    def heads(part):
        return ops.reshape(layers.Dense(DIM, name=f"{name}_{part}")(x), (-1, t, HEADS, d))

    q, k, v = heads("q"), heads("k"), heads("v")
    scores = ops.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
    scores = ops.where(valid[:, None, None, :], scores, -1e9)
    mixed = ops.einsum("bhqk,bkhd->bqhd", ops.softmax(scores), v)
    return layers.Dense(DIM, name=f"{name}_out")(ops.reshape(mixed, (-1, t, DIM)))


def convolution(x, valid, name):
    h = layers.Dense(2 * DIM, name=f"{name}_expand")(norm(f"{name}_norm")(x))
    a, b = ops.split(h, 2, axis=-1)
    h = a * ops.sigmoid(b)
    h = ops.where(valid[:, :, None], h, 0.0)
    h = layers.DepthwiseConv1D(KERNEL, padding="same", name=f"{name}_depthwise")(h)
    h = layers.BatchNormalization(epsilon=1e-5, name=f"{name}_bn")(h)
    return layers.Dense(DIM, name=f"{name}_project")(ops.silu(h))


def block(x, valid, name):
    x = x + feed_forward(x, f"{name}_ff1") / 2
    x = x + attention(norm(f"{name}_att_norm")(x), valid, f"{name}_att")
    x = x + convolution(x, valid, f"{name}_conv")
    x = x + feed_forward(x, f"{name}_ff2") / 2
    return norm(f"{name}_norm")(x)


def build():
    mels, lengths = keras.Input((TIME, MEL)), keras.Input((), dtype="int64")
    x = layers.ZeroPadding1D(1)(mels)
    x = layers.Conv1D(DIM, 3, strides=2, activation="relu", name="subsample")(x)
    valid = ops.less(ops.arange(TIME // 2, dtype="int64")[None], (lengths[:, None] + 1) // 2)
    for i in range(2):
        x = block(x, valid, f"block{i}")
    return keras.Model([mels, lengths], ops.log_softmax(layers.Dense(VOCAB, name="ctc")(x)))


def make(seed=0):
    net, rng = build(), np.random.default_rng(seed)
    for w in net.weights:
        noise = rng.normal(size=w.shape)
        if w.name == "moving_variance":
            w.assign(0.5 + abs(noise))
        elif len(w.shape) > 1:
            w.assign(noise * np.prod(w.shape[:-1]) ** -0.5)
        else:
            w.assign((w.name == "gamma") + 0.2 * noise)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (4, 24, MEL)).astype("float32"), np.array([24, 17, 11, 20])


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def put(name, key, change=lambda w: w.T):
        ported.get_layer(name).set_weights([change(sd[key + ".weight"]), sd[key + ".bias"]])

    put("subsample", "subsample", lambda w: w.transpose(2, 1, 0))
    put("ctc", "ctc")
    for i in range(2):
        n, k = f"block{i}", f"blocks.{i}"
        for ff in ("ff1", "ff2"):
            for part, index in (("norm", 0), ("up", 1), ("down", 3)):
                put(f"{n}_{ff}_{part}", f"{k}.{ff}.{index}")
        put(f"{n}_att_norm", f"{k}.att_norm"), put(f"{n}_norm", f"{k}.norm")
        w, b = sd[k + ".att.in_proj_weight"].reshape(3, DIM, DIM), sd[k + ".att.in_proj_bias"].reshape(3, DIM)
        for j, part in enumerate("qkv"):
            ported.get_layer(f"{n}_att_{part}").set_weights([w[j].T, b[j]])
        put(f"{n}_att_out", f"{k}.att.out_proj"), put(f"{n}_conv_norm", f"{k}.conv.norm")
        for part in ("expand", "project"):
            put(f"{n}_conv_{part}", f"{k}.conv.{part}", lambda w: w[:, :, 0].T)
        put(f"{n}_conv_depthwise", f"{k}.conv.depthwise", lambda w: w.transpose(2, 0, 1))
        bn = [sd[f"{k}.conv.bn.{x}"] for x in ("weight", "bias", "running_mean", "running_var")]
        ported.get_layer(f"{n}_conv_bn").set_weights(bn)
