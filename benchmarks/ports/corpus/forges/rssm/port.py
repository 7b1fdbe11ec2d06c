"""RSSM in plain TensorFlow: a tf.Module of variables, and functions."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
ACT, EMBED, DETER, GROUPS, CLASSES = 4, 16, 24, 6, 5
STOCH = GROUPS * CLASSES


def dense(params, x):
    return tf.matmul(x, params["kernel"]) + params["bias"]


def layer_norm(params, x, eps=1e-3):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    var = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) / tf.sqrt(var + eps) * params["scale"] + params["offset"]


def mlp(params, x):
    return dense(params["out"], tf.nn.silu(dense(params["hid"], x)))


class WorldModel(tf.Module):
    def __init__(self, unimix=0.05, free_nats=0.1, seed=1):
        super().__init__()
        self.unimix, self.free_nats = unimix, free_nats
        rng = np.random.default_rng(seed)

        def new(i, o):
            kernel = tf.Variable((rng.normal(size=(i, o)) / np.sqrt(i)).astype("float32"))
            return {"kernel": kernel, "bias": tf.Variable(rng.normal(size=o).astype("float32") * 0.1)}

        self.img_in = new(STOCH + ACT, 20)
        self.gru = {"kernel": tf.Variable(rng.normal(size=(20 + DETER, 3 * DETER)).astype("float32") * 0.2)}
        self.gru_norm = {"scale": tf.Variable(tf.ones(3 * DETER)), "offset": tf.Variable(tf.zeros(3 * DETER))}
        self.img_out = {"hid": new(DETER, 20), "out": new(20, STOCH)}
        self.obs_out = {"hid": new(DETER + EMBED, 20), "out": new(20, STOCH)}
        self.init_deter = tf.Variable(rng.normal(size=DETER).astype("float32"))

    def dist(self, logits):
        probs = tf.nn.softmax(tf.reshape(logits, [-1, GROUPS, CLASSES]))
        return probs * (1 - self.unimix) + self.unimix / CLASSES

    def sample(self, probs):
        onehot = tf.one_hot(tf.argmax(probs, -1), CLASSES)
        onehot = onehot + probs - tf.stop_gradient(probs)
        return tf.reshape(onehot, [-1, STOCH])

    def gru_step(self, x, h):
        parts = tf.concat([x, h], -1) @ self.gru["kernel"]
        reset, cand, update = tf.split(layer_norm(self.gru_norm, parts), 3, -1)
        cand = tf.tanh(tf.sigmoid(reset) * cand)
        update = tf.sigmoid(update - 1)
        return update * cand + (1 - update) * h

    def start(self, batch):
        deter = tf.tile(tf.tanh(self.init_deter)[None], [batch, 1])
        return deter, self.sample(self.dist(mlp(self.img_out, deter)))

    def obs_step(self, state, action, embed, is_first):
        init = self.start(action.shape[0])
        state = [tf.where(is_first > 0, new, old) for old, new in zip(state, init)]
        action = tf.where(is_first > 0, tf.zeros_like(action), action)
        deter, stoch = state
        x = tf.nn.silu(dense(self.img_in, tf.concat([stoch, action], -1)))
        deter = self.gru_step(x, deter)
        prior = self.dist(mlp(self.img_out, deter))
        post = self.dist(mlp(self.obs_out, tf.concat([deter, embed], -1)))
        return (deter, self.sample(post)), prior, post

    def kl(self, post, prior):
        each = tf.reduce_sum(post * (tf.math.log(post) - tf.math.log(prior)), -1)
        return tf.maximum(tf.reduce_sum(each, -1), self.free_nats)

    def __call__(self, embeds, actions, is_first):
        state = self.start(embeds.shape[0])
        feats, losses = [], []
        for embed, action, first in zip(
            tf.unstack(embeds, axis=1), tf.unstack(actions, axis=1), tf.unstack(is_first, axis=1)
        ):
            state, prior, post = self.obs_step(state, action, embed, first[:, None])
            feats.append(tf.concat(state, -1))
            losses.append(self.kl(post, prior))
        return tf.stack(feats, 1), tf.stack(losses, 1)


def make():
    return WorldModel()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    embeds = rng.normal(size=(b, t, EMBED)).astype("float32")
    actions = rng.normal(size=(b, t, ACT)).astype("float32")
    first = np.zeros((b, t), "float32")
    first[:, 0] = 1
    first[1, 3] = first[2, 2] = 1
    return embeds, actions, first


def load(ported, original):
    def linear(params, layer):
        params["kernel"].assign(layer.weight.detach().numpy().T)
        if "bias" in params:
            params["bias"].assign(layer.bias.detach().numpy())

    linear(ported.img_in, original.inp)
    linear(ported.gru, original.cell.linear)
    ported.gru_norm["scale"].assign(original.cell.norm.weight.detach().numpy())
    ported.gru_norm["offset"].assign(original.cell.norm.bias.detach().numpy())
    for mine, theirs in ((ported.img_out, original.prior), (ported.obs_out, original.post)):
        linear(mine["hid"], theirs[0])
        linear(mine["out"], theirs[2])
    ported.init_deter.assign(original.deter0.detach().numpy())
