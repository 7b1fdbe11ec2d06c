"""IQN as a tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACTIONS, N, COS = 10, 4, 8, 16


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable((rng.normal(size=(n_in, n_out)) / np.sqrt(n_in)).astype("float32"), name="w")
        self.b = tf.Variable(rng.normal(size=(n_out,)).astype("float32") * 0.1, name="b")

    def __call__(self, x):
        return tf.einsum("...i,io->...o", x, self.w) + self.b


class LayerNorm(tf.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gain = tf.Variable(tf.ones([width]) * 1.1)
        self.shift = tf.Variable(tf.ones([width]) * 0.1)
        self.eps = eps

    def __call__(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(var + self.eps) * self.gain + self.shift


class ImplicitQuantiles(tf.Module):
    def __init__(self, width=32, kappa=1.0, seed=7):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.kappa = kappa
        self.fc1 = Linear(rng, OBS, 24)
        self.fc2 = Linear(rng, 24, width)
        self.cos = Linear(rng, COS, width)
        self.fc3 = Linear(rng, width, 20)
        self.ln = LayerNorm(20)
        self.head = Linear(rng, 20, ACTIONS)

    def tau_embedding(self, taus):
        i = tf.range(1, COS + 1, dtype=tf.float32)
        basis = tf.cos(np.pi * i[None, None, :] * taus[:, :, None])
        return tf.nn.relu(self.cos(basis))

    def values(self, obs, taus):
        state = tf.nn.relu(self.fc2(tf.nn.silu(self.fc1(obs))))
        mixed = tf.einsum("bd,bnd->bnd", state, self.tau_embedding(taus))
        return self.head(tf.nn.relu(self.ln(self.fc3(mixed))))

    def __call__(self, obs, taus, actions, targets):
        z = self.values(obs, taus)
        q = tf.reduce_mean(z, axis=1)
        mask = tf.one_hot(actions, ACTIONS)
        picked = tf.reduce_sum(z * mask[:, None, :], axis=-1)
        delta = targets[:, None, :] - picked[:, :, None]
        size = tf.abs(delta)
        small = tf.minimum(size, self.kappa)
        huber = 0.5 * small**2 + self.kappa * (size - small)
        asym = tf.abs(taus[:, :, None] - tf.cast(delta < 0, tf.float32))
        loss = tf.reduce_sum(tf.reduce_mean(asym * huber / self.kappa, axis=2), axis=1)
        return q, loss


def make():
    return ImplicitQuantiles()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    obs = rng.normal(size=(b, OBS)).astype("float32")
    taus = rng.uniform(0.02, 0.98, size=(b, N)).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b,)).astype("int64")
    targets = (rng.normal(size=(b, N)) * 1.5).astype("float32")
    return obs, taus, actions, targets


def load(ported, original):
    pairs = [
        (ported.fc1, original.body[0]),
        (ported.fc2, original.body[2]),
        (ported.cos, original.phi.linear),
        (ported.fc3, original.hidden),
        (ported.head, original.out),
    ]
    for mine, theirs in pairs:
        mine.w.assign(theirs.weight.detach().numpy().T)
        mine.b.assign(theirs.bias.detach().numpy())
    ported.ln.gain.assign(original.norm.weight.detach().numpy())
    ported.ln.shift.assign(original.norm.bias.detach().numpy())
