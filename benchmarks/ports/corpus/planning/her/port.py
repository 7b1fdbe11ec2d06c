"""HER + SAC in Keras 3. The policy's noise comes from a SeedGenerator; heads are one Dense layer."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LOG_2PI = float(np.log(2.0 * np.pi))


class Whiten(layers.Layer):
    def __init__(self, size, clip=5.0, **kw):
        super().__init__(**kw)
        self.clip = clip
        self.mean = self.add_weight(shape=(size,), initializer="zeros", trainable=False, name="mean")
        self.std = self.add_weight(shape=(size,), initializer="ones", trainable=False, name="std")

    def call(self, x):
        return ops.clip((x - self.mean) / self.std, -self.clip, self.clip)


class TanhGaussian(layers.Layer):
    def __init__(self, n, **kw):
        super().__init__(**kw)
        self.hidden = [layers.Dense(32, activation="relu") for _ in range(2)]
        self.out = layers.Dense(2 * n)
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        mu, log_std = ops.split(self.out(x), 2, axis=-1)
        log_std = ops.minimum(ops.maximum(log_std, -1.5), 0.5)
        noise = keras.random.normal(ops.shape(mu), seed=self.seed)
        pre = mu + ops.exp(log_std) * noise
        log_normal = -0.5 * ops.square(noise) - log_std - 0.5 * LOG_2PI
        squash = 2.0 * (float(np.log(2.0)) - pre - ops.softplus(-2.0 * pre))
        return ops.tanh(pre), ops.sum(log_normal - squash, axis=-1)


class Agent(keras.Model):
    def __init__(self, n_act=3, heads=4, discount=0.98):
        super().__init__()
        self.discount = discount
        self.obs_norm, self.goal_norm = Whiten(9), Whiten(3)
        self.actor = TanhGaussian(n_act)
        self.body = []
        for _ in range(2):
            self.body += [layers.Dense(48), layers.LayerNormalization(epsilon=1e-5), layers.Activation("selu")]
        self.q = layers.Dense(heads)
        self.log_alpha = self.add_weight(shape=(), initializer="zeros", name="log_alpha")

    def call(self, obs, achieved, desired, future, relabel):
        m = ops.expand_dims(relabel, -1)
        goal = m * future + (1.0 - m) * desired
        gap = ops.sqrt(ops.sum(ops.square(achieved - goal), axis=-1))
        reward = -ops.cast(gap > 1.2, "float32")
        x = ops.concatenate([self.obs_norm(obs), self.goal_norm(goal)], axis=-1)
        action, log_prob = self.actor(x)
        h = ops.concatenate([x, action], axis=-1)
        for layer in self.body:
            h = layer(h)
        q = self.q(h)
        low = ops.mean(ops.sort(q, axis=-1)[:, :2], axis=-1)
        soft = low - ops.exp(self.log_alpha) * log_prob
        target = ops.clip(reward + self.discount * soft, -50.0, 0.0)
        return action, log_prob, q, target - 0.1 * ops.std(q, axis=-1)


def make():
    keras.utils.set_random_seed(13)
    net = Agent()
    z = lambda *s: np.zeros(s, "float32")
    net(z(2, 9), z(2, 3), z(2, 3), z(2, 3), z(2))
    return net


def load(port, ref):
    n = lambda t: t.detach().numpy()
    put = lambda d, m: d.set_weights([n(m.weight).T, n(m.bias)])
    for mine, theirs in ((port.obs_norm, ref.o_norm), (port.goal_norm, ref.g_norm)):
        mine.mean.assign(n(theirs.mean)), mine.std.assign(n(theirs.std))
    a, c = ref.actor, ref.critic
    put(port.actor.hidden[0], a.body[0]), put(port.actor.hidden[1], a.body[2])
    port.actor.out.set_weights([np.concatenate([n(a.mu.weight), n(a.log_std.weight)]).T,
                                np.concatenate([n(a.mu.bias), n(a.log_std.bias)])])
    put(port.body[0], c.l1), put(port.body[3], c.l2)
    port.body[1].set_weights([n(c.ln1.weight), n(c.ln1.bias)])
    port.body[4].set_weights([n(c.ln2.weight), n(c.ln2.bias)])
    port.q.set_weights([np.concatenate([n(h.weight) for h in c.heads]).T, np.concatenate([n(h.bias) for h in c.heads])])
    port.log_alpha.assign(n(ref.log_alpha))
