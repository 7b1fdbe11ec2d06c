"""PETS: a probabilistic ensemble rolled out over action sequences (TS-infinity), in TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
E, S, A, HORIZON, WIDTH = 5, 4, 2, 4, 20
ELITES = [0, 2, 3]


class EnsembleDense(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = tf.Variable((rng.normal(size=(E, n_in, n_out)) * 1.1 / np.sqrt(n_in)).astype("float32"))
        self.b = tf.Variable(rng.normal(size=(E, 1, n_out)).astype("float32") * 0.2)

    def __call__(self, x):
        return tf.einsum("ebi,eio->ebo", x, self.w) + self.b


class PETS(tf.Module):
    def __init__(self, seed=31):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.layers = [EnsembleDense(rng, S + 1 + A, WIDTH), EnsembleDense(rng, WIDTH, WIDTH)]
        self.head = EnsembleDense(rng, WIDTH, 2 * S)
        self.mu = tf.Variable(rng.normal(size=S + 1 + A).astype("float32") * 0.3)
        self.sigma = tf.Variable(rng.uniform(0.5, 1.5, size=S + 1 + A).astype("float32"))
        self.max_logvar = tf.Variable(rng.uniform(0.0, 0.5, size=S).astype("float32"))
        self.min_logvar = tf.Variable(rng.uniform(-4.0, -3.0, size=S).astype("float32"))

    def features(self, state):
        angle = state[..., :1]
        return tf.concat([tf.sin(angle), tf.cos(angle), state[..., 1:]], axis=-1)

    def predict(self, state, action):
        x = tf.concat([self.features(state), action], axis=-1)
        x = (x - self.mu) / self.sigma
        for layer in self.layers:
            x = tf.nn.silu(layer(x))
        mean, logvar = tf.split(self.head(x), 2, axis=-1)
        logvar = self.max_logvar - tf.nn.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + tf.nn.softplus(logvar - self.min_logvar)
        return mean, logvar

    def reward(self, state, action):
        return tf.cos(state[..., 0]) - 0.1 * tf.square(state[..., 1]) - 0.05 * tf.reduce_sum(action**2, axis=-1)

    def __call__(self, state, plans, noise):
        s = tf.tile(state[None], [E, 1, 1])
        total = tf.zeros(tf.shape(s)[:2])
        spread = []
        for h in range(HORIZON):
            a = tf.tile(plans[None, :, h], [E, 1, 1])
            mean, logvar = self.predict(s, a)
            total += 0.95**h * self.reward(s, a)
            spread.append(tf.math.reduce_std(mean, axis=0))
            s = s + mean + tf.exp(0.5 * logvar) * noise[h]
        returns = tf.reduce_mean(tf.gather(total, ELITES, axis=0), axis=0)
        disagreement = tf.reduce_max(tf.stack(spread, axis=1), axis=-1)
        return returns, s, disagreement


def make():
    return PETS()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    state = rng.normal(size=(b, S)).astype("float32")
    plans = rng.uniform(-1, 1, size=(b, HORIZON, A)).astype("float32")
    noise = rng.normal(size=(HORIZON, E, b, S)).astype("float32")
    return state, plans, noise
