"""Truncated quantile critics: one update's forward pass, plain TensorFlow."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, HID = 11, 3, 40


class EnsembleLinear(tf.Module):
    def __init__(self, members, d_in, d_out, rng, name=None):
        super().__init__(name=name)
        s = 1.0 / math.sqrt(d_in)
        self.w = tf.Variable(rng.uniform(-s, s, (members, d_in, d_out)).astype("float32"), name="w")
        self.b = tf.Variable(rng.uniform(-s, s, (members, 1, d_out)).astype("float32"), name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Policy(tf.Module):
    def __init__(self, rng):
        super().__init__(name="policy")
        def var(*shape):
            s = 1.0 / math.sqrt(shape[0])
            return tf.Variable(rng.uniform(-s, s, shape).astype("float32"))
        self.w1, self.b1 = var(OBS, HID), var(HID)
        self.w2, self.b2 = var(HID, HID), var(HID)
        self.w3, self.b3 = var(HID, 2 * ACT), var(2 * ACT)

    def __call__(self, obs, noise):
        h = tf.nn.relu(obs @ self.w1 + self.b1)
        h = tf.nn.relu(h @ self.w2 + self.b2)
        mean, log_std = tf.split(h @ self.w3 + self.b3, 2, axis=-1)
        log_std = tf.clip_by_value(log_std * 3.0 - 1.0, -2.0, 2.0)
        pre = mean + tf.exp(log_std) * noise
        gauss = -0.5 * tf.square(noise) - log_std - 0.5 * math.log(2 * math.pi)
        action = tf.tanh(pre)
        squash = 2.0 * (math.log(2.0) - pre - tf.nn.softplus(-2.0 * pre))
        return action, tf.reduce_sum(gauss - squash, axis=-1, keepdims=True)


class TQC(tf.Module):
    def __init__(self, rng, members=5, quantiles=9, drop=2, alpha=0.2, gamma=0.98):
        super().__init__(name="tqc")
        self.e, self.n, self.alpha, self.gamma = members, quantiles, alpha, gamma
        self.keep = members * (quantiles - drop)
        self.policy = Policy(rng)
        self.critic = [EnsembleLinear(members, *d, rng) for d in ((OBS + ACT, HID), (HID, HID), (HID, quantiles))]
        self.target = [EnsembleLinear(members, *d, rng) for d in ((OBS + ACT, HID), (HID, HID), (HID, quantiles))]
        self.tau = (tf.range(quantiles, dtype=tf.float32) + 0.5) / quantiles

    def quantiles(self, net, obs, act):
        x = tf.concat([obs, act], axis=-1)
        x = tf.repeat(x[None], self.e, axis=0)
        x = tf.nn.relu(net[0](x))
        x = tf.nn.relu(net[1](x))
        return tf.transpose(net[2](x), (1, 0, 2))            # B, E, N

    def __call__(self, obs, act, rew, done, next_obs, noise):
        z = self.quantiles(self.critic, obs, act)
        a2, logp = self.policy(next_obs, noise)
        z2 = self.quantiles(self.target, next_obs, a2)
        pool = tf.sort(tf.reshape(z2, (-1, self.e * self.n)), axis=-1)
        kept = pool[:, : self.keep]
        y = rew + (1.0 - done) * self.gamma * (kept - self.alpha * logp)
        delta = y[:, None, None, :] - z[:, :, :, None]        # B, E, N, M
        mag = tf.abs(delta)
        huber = tf.where(mag > 1.0, mag - 0.5, 0.5 * delta ** 2)
        asym = tf.abs(self.tau[None, None, :, None] - tf.cast(delta < 0.0, tf.float32))
        loss = tf.reduce_mean(asym * huber, axis=(1, 2, 3))
        return z, y, loss


def make(seed=0):
    return TQC(np.random.default_rng(seed))


def inputs(seed=0):
    r = np.random.default_rng(seed)
    b = 6
    f = lambda a: a.astype(np.float32)
    return (f(r.normal(size=(b, OBS))), f(r.uniform(-1, 1, (b, ACT))), f(r.normal(size=(b, 1))),
            f(np.arange(b)[:, None] % 3 == 1), f(r.normal(size=(b, OBS))), f(r.normal(size=(b, ACT))))
