"""Probabilistic ensemble dynamics (PETS, MBPO): batched weights in TensorFlow, elites, sampled next states."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, HID, NETS = 6, 2, 24, 5


class FC(tf.Module):
    def __init__(self, n_in, n_out, activation, rng):
        super().__init__()
        std = 1 / (2 * np.sqrt(n_in))
        self.w = tf.Variable(rng.normal(scale=2 * std, size=(NETS, n_in, n_out)).astype("float32"))
        self.b = tf.Variable(rng.normal(scale=0.2, size=(NETS, 1, n_out)).astype("float32"))
        self.activation = activation

    def __call__(self, x):
        y = tf.matmul(x, self.w) + self.b
        return self.activation(y) if self.activation else y


class BNN(tf.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.out_dim = OBS + 1
        self.layers = [
            FC(OBS + ACT, HID, tf.nn.silu, rng),
            FC(HID, HID, tf.nn.silu, rng),
            FC(HID, 2 * self.out_dim, None, rng),
        ]
        self.mu = tf.constant(rng.normal(size=(1, OBS + ACT)).astype("float32"))
        self.sigma = tf.constant(rng.uniform(0.5, 2, (1, OBS + ACT)).astype("float32"))
        self.max_logvar = tf.Variable(tf.ones([1, self.out_dim]) * 0.5)
        self.min_logvar = tf.Variable(tf.ones([1, self.out_dim]) * -3.0)
        self.elites = tf.constant([4, 0, 3])

    def compile_outputs(self, x):
        h = (x - self.mu) / self.sigma
        h = tf.tile(h[None], [NETS, 1, 1])
        for layer in self.layers:
            h = layer(h)
        mean, logvar = h[..., :self.out_dim], h[..., self.out_dim:]
        logvar = self.max_logvar - tf.nn.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + tf.nn.softplus(logvar - self.min_logvar)
        return mean, logvar

    def __call__(self, obs, act):
        mean, logvar = self.compile_outputs(tf.concat([obs, act], axis=-1))
        mean = tf.concat([mean[..., :1], mean[..., 1:] + obs], axis=-1)  # reward first, then deltas
        std = tf.sqrt(tf.exp(logvar))
        samples = mean + tf.random.normal(tf.shape(mean)) * std
        batch = tf.shape(obs)[0]
        pick = tf.random.uniform([batch], maxval=tf.size(self.elites), dtype=tf.int32)
        nets = tf.gather(self.elites, pick)
        chosen = tf.gather_nd(samples, tf.stack([nets, tf.range(batch)], axis=1))
        return {"mean": mean, "logvar": logvar, "reward": chosen[:, 0], "next_obs": chosen[:, 1:]}


def make():
    return BNN(2)


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(16, OBS)).astype("float32"),
        "act": rng.uniform(-1, 1, (16, ACT)).astype("float32"),
    }
