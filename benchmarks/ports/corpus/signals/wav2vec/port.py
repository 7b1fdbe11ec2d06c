"""wav2vec 2.0 in plain TensorFlow: a tf.Module over a dict of variables, channels last."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CHANNELS, DIM, HEADS, VOCAB, FFN = 24, 40, 4, 13, 80
GROUPS, KERNEL = 4, 8


def gelu(x):
    return 0.5 * x * (1.0 + tf.math.erf(x / np.sqrt(2.0).astype("float32")))


def layer_norm(x, scale, shift, eps=1e-5):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, shift, scale, eps)


class Wav2Vec(tf.Module):
    def __init__(self):
        super().__init__()
        shapes = {
            "conv0": (10, 1, CHANNELS), "conv1": (3, CHANNELS, CHANNELS),
            "conv2": (2, CHANNELS, CHANNELS), "gn_scale": (CHANNELS,), "gn_shift": (CHANNELS,),
            "fn_scale": (CHANNELS,), "fn_shift": (CHANNELS,), "proj": (CHANNELS, DIM),
            "proj_b": (DIM,), "pos_v": (KERNEL, DIM // GROUPS, DIM), "pos_g": (KERNEL, 1, 1),
            "pos_b": (DIM,), "en_scale": (DIM,), "en_shift": (DIM,), "head": (DIM, VOCAB),
            "head_b": (VOCAB,),
        }
        for i in range(2):
            for key in ("q", "k", "v", "o"):
                shapes[f"{i}{key}"], shapes[f"{i}{key}_b"] = (DIM, DIM), (DIM,)
            shapes[f"{i}up"], shapes[f"{i}up_b"] = (DIM, FFN), (FFN,)
            shapes[f"{i}down"], shapes[f"{i}down_b"] = (FFN, DIM), (DIM,)
            for key in ("n1", "n2"):
                shapes[f"{i}{key}_scale"], shapes[f"{i}{key}_shift"] = (DIM,), (DIM,)
        rng = np.random.default_rng(0)
        self.w = {
            k: tf.Variable(rng.normal(size=s).astype("float32") * 0.1, name=k)
            for k, s in shapes.items()
        }

    def extract(self, audio):
        w = self.w
        x = tf.nn.conv1d(audio[:, :, None], w["conv0"], stride=5, padding="VALID")
        mean = tf.reduce_mean(x, axis=1, keepdims=True)
        var = tf.reduce_mean(tf.square(x - mean), axis=1, keepdims=True)
        x = (x - mean) * tf.math.rsqrt(var + 1e-5) * w["gn_scale"] + w["gn_shift"]
        x = gelu(x)
        x = gelu(tf.nn.conv1d(x, w["conv1"], stride=2, padding="VALID"))
        return gelu(tf.nn.conv1d(x, w["conv2"], stride=2, padding="VALID"))

    def positions(self, x):
        v = self.w["pos_v"]
        norm = tf.sqrt(tf.reduce_sum(v * v, axis=[1, 2], keepdims=True))
        kernel = v * self.w["pos_g"] / norm
        padded = tf.pad(x, [[0, 0], [KERNEL // 2, KERNEL // 2 - 1], [0, 0]])
        parts = [
            tf.nn.conv1d(a, k, stride=1, padding="VALID")
            for a, k in zip(tf.split(padded, GROUPS, -1), tf.split(kernel, GROUPS, -1))
        ]
        return gelu(tf.concat(parts, -1) + self.w["pos_b"])

    def attention(self, x, i):
        b, t, hd = x.shape[0], x.shape[1], DIM // HEADS
        q, k, v = (
            tf.reshape(x @ self.w[f"{i}{key}"] + self.w[f"{i}{key}_b"], (b, t, HEADS, hd))
            for key in "qkv"
        )
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) * (hd**-0.5)
        mixed = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v)
        return tf.reshape(mixed, (b, t, DIM)) @ self.w[f"{i}o"] + self.w[f"{i}o_b"]

    def block(self, x, i):
        w = self.w
        x = layer_norm(x + self.attention(x, i), w[f"{i}n1_scale"], w[f"{i}n1_shift"])
        y = gelu(x @ w[f"{i}up"] + w[f"{i}up_b"]) @ w[f"{i}down"] + w[f"{i}down_b"]
        return layer_norm(x + y, w[f"{i}n2_scale"], w[f"{i}n2_shift"])

    def __call__(self, audio):
        w = self.w
        mean, var = tf.nn.moments(audio, axes=[1], keepdims=True)
        audio = (audio - mean) / tf.sqrt(var + 1e-7)
        features = layer_norm(self.extract(audio), w["fn_scale"], w["fn_shift"])
        hidden = features @ w["proj"] + w["proj_b"]
        hidden = layer_norm(hidden + self.positions(hidden), w["en_scale"], w["en_shift"])
        for i in range(2):
            hidden = self.block(hidden, i)
        return hidden @ w["head"] + w["head_b"], features


def make():
    return Wav2Vec()


def load(port, reference):
    s = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    new = {
        "gn_scale": s["extractor.norm0.weight"], "gn_shift": s["extractor.norm0.bias"],
        "fn_scale": s["feature_norm.weight"], "fn_shift": s["feature_norm.bias"],
        "proj": s["project.weight"].T, "proj_b": s["project.bias"],
        "en_scale": s["norm.weight"], "en_shift": s["norm.bias"],
        "head": s["lm_head.weight"].T, "head_b": s["lm_head.bias"],
        "pos_g": s["positions.conv.parametrizations.weight.original0"].transpose(2, 1, 0),
        "pos_v": s["positions.conv.parametrizations.weight.original1"].transpose(2, 1, 0),
        "pos_b": s["positions.conv.bias"],
    }
    for i in range(3):
        new[f"conv{i}"] = s[f"extractor.conv{i}.weight"].transpose(2, 1, 0)
    for i in range(2):
        at = f"layers.{i}."
        for j, key in enumerate("qkv"):
            new[f"{i}{key}"] = s[at + "self_attn.in_proj_weight"][j * DIM : (j + 1) * DIM].T
            new[f"{i}{key}_b"] = s[at + "self_attn.in_proj_bias"][j * DIM : (j + 1) * DIM]
        for key, name in (("o", "self_attn.out_proj"), ("up", "linear1"), ("down", "linear2")):
            new[f"{i}{key}"], new[f"{i}{key}_b"] = s[at + name + ".weight"].T, s[at + name + ".bias"]
        for key in ("1", "2"):
            new[f"{i}n{key}_scale"] = s[at + f"norm{key}.weight"]
            new[f"{i}n{key}_shift"] = s[at + f"norm{key}.bias"]
    for key, value in new.items():
        port.w[key].assign(value)
