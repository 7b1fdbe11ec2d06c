"""SLAC's latent variable model (Lee et al. 2020): z = (z1, z2), filtered over a short clip."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
T, ACT, Z1, Z2, FEAT = 4, 3, 8, 12, 24


class Linear(tf.Module):
    def __init__(self, n_in, n_out, rng, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(rng.normal(0, 1.2 / np.sqrt(n_in), (n_in, n_out)), dtype=tf.float32)
        self.b = tf.Variable(rng.normal(0, 0.1, n_out), dtype=tf.float32)

    def __call__(self, x):
        return x @ self.w + self.b


class Normal(tf.Module):
    """A diagonal Gaussian given some tensors: two hidden layers, mean and softplus deviation."""

    def __init__(self, n_in, n_out, rng, name=None):
        super().__init__(name=name)
        self.hidden = [Linear(n_in, 32, rng), Linear(32, 32, rng)]
        self.out = Linear(32, 2 * n_out, rng)

    def __call__(self, *parts):
        x = tf.concat(parts, axis=-1)
        for layer in self.hidden:
            x = tf.nn.leaky_relu(layer(x))
        mean, raw = tf.split(self.out(x), 2, axis=-1)
        return mean, tf.nn.softplus(raw) + 1e-3


class Encoder(tf.Module):
    def __init__(self, rng):
        super().__init__()
        shapes = [(5, 5, 3, 8), (3, 3, 8, 16), (4, 4, 16, FEAT)]
        self.kernels = [tf.Variable(rng.normal(0, 1.3 / np.sqrt(np.prod(s[:3])), s), dtype=tf.float32)
                        for s in shapes]
        self.biases = [tf.Variable(rng.normal(0, 0.1, s[3]), dtype=tf.float32) for s in shapes]

    def __call__(self, image):
        lead = image.shape[:2]
        x = tf.reshape(image, (-1, 16, 16, 3)) / 255.0 - 0.5
        for i, (stride, pad) in enumerate([(2, "SAME"), (2, "SAME"), (1, "VALID")]):
            x = tf.nn.conv2d(x, self.kernels[i], stride, pad) + self.biases[i]
            x = tf.nn.leaky_relu(x)
        return tf.reshape(x, (lead[0], lead[1], FEAT))


def kl(p, q):
    (m1, s1), (m2, s2) = p, q
    d = tf.math.log(s2 / s1) + (s1 ** 2 + (m1 - m2) ** 2) / (2 * s2 ** 2) - 0.5
    return tf.reduce_sum(d, -1)


class SLAC(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.encoder = Encoder(rng)
        self.z1_first_posterior = Normal(FEAT, Z1, rng)
        self.z1_posterior = Normal(FEAT + Z2 + ACT, Z1, rng)
        self.z1_prior = Normal(Z2 + ACT, Z1, rng)
        self.z2_first = Normal(Z1, Z2, rng)
        self.z2_next = Normal(Z1 + Z2 + ACT, Z2, rng)
        self.reward = Normal(2 * (Z1 + Z2) + ACT, 1, rng)

    def __call__(self, images, actions, eps1, eps2):
        features = self.encoder(images)
        post = self.z1_first_posterior(features[:, 0])
        z1 = post[0] + post[1] * eps1[:, 0]
        m, s = self.z2_first(z1)
        z2 = m + s * eps2[:, 0]
        unit = (tf.zeros_like(post[0]), tf.ones_like(post[1]))
        divergence = kl(post, unit)
        latents = [tf.concat([z1, z2], -1)]
        for t in range(1, T):
            a = actions[:, t - 1]
            prior = self.z1_prior(z2, a)
            post = self.z1_posterior(features[:, t], z2, a)
            divergence += kl(post, prior)
            z1 = post[0] + post[1] * eps1[:, t]
            m, s = self.z2_next(z1, z2, a)
            z2 = m + s * eps2[:, t]
            latents.append(tf.concat([z1, z2], -1))
        z = tf.stack(latents, axis=1)
        reward, deviation = self.reward(z[:, :-1], actions[:, :-1], z[:, 1:])
        return z, divergence, reward[..., 0], deviation[..., 0]


def make(seed=21):
    return SLAC(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (4, T, 16, 16, 3)).astype("float32")
    actions = np.tanh(rng.normal(size=(4, T, ACT))).astype("float32")
    return (images, actions, rng.normal(size=(4, T, Z1)).astype("float32"),
            rng.normal(size=(4, T, Z2)).astype("float32"))
