"""Behaviour transformer in plain TensorFlow: functions over a dict of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, WIDTH, HEADS, STEPS, BINS = 7, 3, 16, 2, 6, 5
OFFSET_SCALE = 3.0


def init_params(seed):
    rng = np.random.default_rng(seed)

    def var(*shape, mean=0.0, std=None):
        std = std or 1 / np.sqrt(shape[0])
        return tf.Variable((mean + std * rng.normal(size=shape)).astype("float32"))

    def dense(n_in, n_out):
        return {"w": var(n_in, n_out), "b": var(n_out, std=0.1)}

    def norm():
        return {"g": var(WIDTH, mean=1.0, std=0.2), "b": var(WIDTH, std=0.1)}

    return {
        "embed": dense(OBS, WIDTH),
        "wpe": var(STEPS, WIDTH, std=0.3),
        "blocks": [
            {"ln_1": norm(), "c_attn": dense(WIDTH, 3 * WIDTH), "c_proj": dense(WIDTH, WIDTH),
             "ln_2": norm(), "c_fc": dense(WIDTH, 2 * WIDTH), "c_out": dense(2 * WIDTH, WIDTH)}
            for _ in range(2)
        ],
        "ln_f": norm(),
        "head": var(WIDTH, BINS * (1 + ACT)),
        "centers": var(BINS, ACT, std=1.0),
    }


def linear(p, x):
    return tf.tensordot(x, p["w"], 1) + p["b"]


def layer_norm(p, x, eps=1e-5):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, p["b"], p["g"], eps)


def attention(p, x):
    b, t, c = x.shape
    qkv = tf.reshape(linear(p["c_attn"], x), [b, t, 3, HEADS, c // HEADS])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    scores = tf.einsum("bhqd,bhkd->bhqk", q, k) * (c // HEADS) ** -0.5
    causal = tf.linalg.band_part(tf.ones([t, t]), -1, 0)
    scores = tf.where(causal > 0, scores, -1e9)
    weights = tf.nn.softmax(scores)
    y = tf.einsum("bhqk,bhkd->bqhd", weights, v)
    return linear(p["c_proj"], tf.reshape(y, [b, t, c]))


def block(p, x):
    x = x + attention(p, layer_norm(p["ln_1"], x))
    h = tf.nn.gelu(linear(p["c_fc"], layer_norm(p["ln_2"], x)))
    return x + linear(p["c_out"], h)


def focal_loss(logits, onehot, gamma=2.0):
    log_p = tf.nn.log_softmax(logits)
    log_pt = tf.reduce_sum(onehot * log_p, -1)
    return -tf.pow(1.0 - tf.exp(log_pt), gamma) * log_pt


class BehaviorTransformer:
    def __init__(self, params):
        self.params = params

    def __call__(self, obs, actions):
        p = self.params
        b, t, _ = obs.shape
        x = linear(p["embed"], obs) + p["wpe"][:t]
        for layer in p["blocks"]:
            x = block(layer, x)
        out = layer_norm(p["ln_f"], x) @ p["head"]
        logits, offsets = tf.split(out, [BINS, BINS * ACT], axis=-1)
        offsets = tf.reshape(offsets, [b, t, BINS, ACT])

        centers = p["centers"]
        distance = tf.reduce_sum(tf.square(actions[:, :, None] - centers), -1)
        bins = tf.argmin(distance, -1)
        onehot = tf.one_hot(bins, BINS)
        chosen = tf.einsum("btk,btka->bta", onehot, offsets)
        residual = actions - tf.gather(centers, bins)
        offset_loss = tf.reduce_mean(tf.square(chosen - residual), -1)
        loss = focal_loss(logits, onehot) + OFFSET_SCALE * offset_loss

        best = tf.argmax(logits, -1)
        action = tf.gather(centers, best) + tf.gather(offsets, best, batch_dims=2)
        return logits, action, loss


def make():
    return BehaviorTransformer(init_params(8))


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, STEPS, OBS)).astype("float32"),
            rng.normal(size=(5, STEPS, ACT)).astype("float32"))


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    p = ported.params

    def dense(to, name):
        to["w"].assign(s[name + ".weight"].T)
        to["b"].assign(s[name + ".bias"])

    def norm(to, name):
        to["g"].assign(s[name + ".weight"])
        to["b"].assign(s[name + ".bias"])

    dense(p["embed"], "embed")
    p["wpe"].assign(s["pos"][0])
    for i, blk in enumerate(p["blocks"]):
        norm(blk["ln_1"], f"blocks.{i}.ln1")
        norm(blk["ln_2"], f"blocks.{i}.ln2")
        dense(blk["c_attn"], f"blocks.{i}.attn.qkv")
        dense(blk["c_proj"], f"blocks.{i}.attn.proj")
        dense(blk["c_fc"], f"blocks.{i}.mlp.0")
        dense(blk["c_out"], f"blocks.{i}.mlp.2")
    norm(p["ln_f"], "ln")
    p["head"].assign(s["head.weight"].T)
    p["centers"].assign(s["centers"])
