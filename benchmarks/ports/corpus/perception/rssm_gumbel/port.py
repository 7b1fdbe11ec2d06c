"""The RSSM in plain TensorFlow: a scan over time with variables in one dictionary."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
GROUPS, CLASSES, DETER, HIDDEN, EMBED, ACTION = 4, 6, 24, 20, 14, 3
UNIMIX = 0.01
TEMPERATURE = 0.7
FREE_NATS = 0.05


def layer_norm(x, scale, offset, eps=1e-3):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, offset, scale, eps)


def gumbel(shape):
    u = tf.random.uniform(shape)
    return -tf.math.log(-tf.math.log(u + 1e-6) + 1e-6)


class WorldModel(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.p = {}

        def block(name, n_in, n_out, bias=True, norm=True):
            self.p[name + "/w"] = tf.Variable(rng.normal(size=(n_in, n_out), scale=0.2), dtype=tf.float32)
            if bias:
                self.p[name + "/b"] = tf.Variable(tf.zeros(n_out))
            if norm:
                self.p[name + "/scale"] = tf.Variable(tf.ones(n_out))
                self.p[name + "/offset"] = tf.Variable(tf.zeros(n_out))

        block("img_in", GROUPS * CLASSES + ACTION, HIDDEN)
        block("gru", HIDDEN + DETER, 3 * DETER, bias=False)
        block("img_out", DETER, HIDDEN)
        block("prior", HIDDEN, GROUPS * CLASSES, norm=False)
        block("obs_out", DETER + EMBED, HIDDEN)
        block("post", HIDDEN, GROUPS * CLASSES, norm=False)
        self.w0 = tf.Variable(tf.zeros(DETER))

    def hidden(self, name, x):
        p = self.p
        y = tf.matmul(x, p[name + "/w"]) + p[name + "/b"]
        return tf.nn.silu(layer_norm(y, p[name + "/scale"], p[name + "/offset"]))

    def logits(self, name, x):
        y = x @ self.p[name + "/w"] + self.p[name + "/b"]
        y = tf.reshape(y, [-1, GROUPS, CLASSES])
        probs = tf.nn.softmax(y)
        probs = (1 - UNIMIX) * probs + UNIMIX / CLASSES
        return tf.math.log(probs)

    def gru(self, x, h):
        parts = tf.matmul(tf.concat([x, h], axis=1), self.p["gru/w"])
        parts = layer_norm(parts, self.p["gru/scale"], self.p["gru/offset"])
        reset, candidate, update = tf.split(parts, 3, axis=-1)
        candidate = tf.tanh(tf.sigmoid(reset) * candidate)
        update = tf.sigmoid(update - 1.0)
        return h + update * (candidate - h)

    def prior(self, deter):
        return self.logits("prior", self.hidden("img_out", deter))

    def __call__(self, embed, action, is_first):
        batch = embed.shape[0]
        deter0 = tf.tile(tf.tanh(self.w0)[None], [batch, 1])
        stoch0 = tf.exp(self.prior(deter0))
        deter, stoch = deter0, stoch0
        history = []
        for t in range(embed.shape[1]):
            reset = is_first[:, t, None] > 0.5
            a = tf.where(reset, tf.zeros_like(action[:, t]), action[:, t])
            deter = tf.where(reset, deter0, deter)
            stoch = tf.where(reset[..., None], stoch0, stoch)
            flat = tf.reshape(stoch, [batch, GROUPS * CLASSES])
            deter = self.gru(self.hidden("img_in", tf.concat([flat, a], 1)), deter)
            prior = self.prior(deter)
            post = self.logits("post", self.hidden("obs_out", tf.concat([deter, embed[:, t]], 1)))
            noisy = post + gumbel(post.shape)
            stoch = tf.nn.softmax(noisy / TEMPERATURE, axis=-1)
            feature = tf.concat([tf.reshape(stoch, [batch, -1]), deter], axis=1)
            history.append((feature, post, prior))
        feature, post, prior = (tf.stack(values, axis=1) for values in zip(*history))
        kl = tf.reduce_sum(tf.exp(post) * (post - prior), axis=[-2, -1])
        loss = tf.reduce_mean(tf.maximum(kl, FREE_NATS))
        return feature, post, prior, loss


def make():
    return WorldModel()


def load(port_model, reference_model):
    sd = {k: v.detach().numpy() for k, v in reference_model.state_dict().items()}
    names = {
        "img_in": ("img_in.0", "img_in.1"),
        "gru": ("cell.layers", "cell.norm"),
        "img_out": ("img_out.0", "img_out.1"),
        "prior": ("ims_stat", None),
        "obs_out": ("obs_out.0", "obs_out.1"),
        "post": ("obs_stat", None),
    }
    for ours, (linear, norm) in names.items():
        port_model.p[ours + "/w"].assign(sd[linear + ".weight"].T)
        if linear + ".bias" in sd:
            port_model.p[ours + "/b"].assign(sd[linear + ".bias"])
        if norm:
            port_model.p[ours + "/scale"].assign(sd[norm + ".weight"])
            port_model.p[ours + "/offset"].assign(sd[norm + ".bias"])
    port_model.w0.assign(sd["W"])
