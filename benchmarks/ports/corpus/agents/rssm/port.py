import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class Dense(keras.layers.Dense):
    def __init__(self, units, act=None, **kw):
        super().__init__(units, activation=act, bias_initializer=keras.initializers.RandomUniform(-0.2, 0.2), **kw)


class GRU(keras.layers.Layer):
    """A GRU whose three gates are normalised together."""

    def __init__(self, units):
        super().__init__()
        self.units = units
        self.gates = keras.layers.Dense(3 * units, use_bias=False)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, h):
        r, n, z = tf.split(self.norm(self.gates(tf.concat([x, h], axis=-1))), 3, axis=-1)
        n = tf.tanh(tf.sigmoid(r) * n)
        z = tf.sigmoid(z - 1.0)
        return h + z * (n - h)


class WorldModel(keras.Model):
    def __init__(self, stoch=6, deter=20, hidden=24):
        super().__init__()
        self.n_stoch, self.n_deter = stoch, deter
        self.pre = Dense(hidden, "elu")
        self.gru = GRU(deter)
        self.prior_hidden, self.prior_stats = Dense(hidden, "elu"), Dense(2 * stoch)
        self.post_hidden, self.post_stats = Dense(hidden, "elu"), Dense(2 * stoch)

    @staticmethod
    def gaussian(stats):
        mean, raw = tf.split(stats, 2, axis=-1)
        return mean, 2.0 * tf.sigmoid(0.5 * raw) + 0.1

    def imagine(self, stoch, deter, action):
        deter = self.gru(self.pre(tf.concat([stoch, action], -1)), deter)
        return deter, self.gaussian(self.prior_stats(self.prior_hidden(deter)))

    def observe(self, stoch, deter, action, embed, eps):
        new, prior = self.imagine(stoch, deter, action)
        features = tf.concat([new, embed], -1)
        mean, std = self.gaussian(self.post_stats(self.post_hidden(features)))
        return new, mean + std * eps, prior, (mean, std)

    @staticmethod
    def kl(p, q):
        (mp, sp), (mq, sq) = p, q
        per_dim = tf.math.log(sq) - tf.math.log(sp) + (sp**2 + (mp - mq) ** 2) / (2.0 * sq**2) - 0.5
        return tf.reduce_sum(per_dim, axis=-1)

    def call(self, embed, action, is_first, noise):
        rows = tf.shape(embed)[0]
        state = (tf.zeros((rows, self.n_stoch)), tf.zeros((rows, self.n_deter)))
        deters, stochs, means, stds, kls = [], [], [], [], []
        steps = (tf.unstack(tensor, axis=1) for tensor in (embed, action, is_first, noise))
        for e, a, first, eps in zip(*steps):
            running = tf.expand_dims(1.0 - first, -1)
            stoch, deter, a = [running * tensor for tensor in (*state, a)]
            deter, stoch, prior, post = self.observe(stoch, deter, a, e, eps)
            state = stoch, deter
            deters.append(deter)
            stochs.append(stoch)
            means.append(prior[0])
            stds.append(prior[1])
            kls.append(self.kl(post, prior))
        kl = tf.maximum(tf.stack(kls, axis=1), 0.5)
        names = ("deter", "stoch", "prior_mean", "prior_std")
        columns = (deters, stochs, means, stds)
        return {**{name: tf.stack(column, axis=1) for name, column in zip(names, columns)}, "kl": kl}


def make():
    keras.utils.set_random_seed(2)
    model = WorldModel()
    model(tf.zeros((1, 1, 10)), tf.zeros((1, 1, 3)), tf.ones((1, 1)), tf.zeros((1, 1, 6)))
    return model


def load(model, reference):
    def dense(ours, theirs):
        ours.kernel.assign(theirs.weight.detach().numpy().T)
        if ours.use_bias:
            ours.bias.assign(theirs.bias.detach().numpy())

    dense(model.pre, reference.img_in[0])
    dense(model.gru.gates, reference.cell.layer)
    model.gru.norm.gamma.assign(reference.cell.norm.weight.detach().numpy())
    model.gru.norm.beta.assign(reference.cell.norm.bias.detach().numpy())
    dense(model.prior_hidden, reference.img_out[0])
    dense(model.prior_stats, reference.img_out[2])
    dense(model.post_hidden, reference.obs_out[0])
    dense(model.post_stats, reference.obs_out[2])
