"""MERLIN (Wayne et al. 2018): a memory-based predictor with retroactive writes, and its policy."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, T, OBS, ACT, Z, H, SLOTS, READS = 4, 4, 15, 3, 6, 24, 8, 2
WORD = 2 * Z


class Affine(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 1.1 / np.sqrt(n_in), (n_in, n_out)), dtype=tf.float32)
        self.b = tf.Variable(rng.normal(0, 0.15, n_out), dtype=tf.float32)

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class LSTM(tf.Module):
    """As in Sonnet 1: gates i, g, f, o, and one is added to the forget gate."""

    def __init__(self, rng, n_in, n):
        super().__init__()
        self.gates = Affine(rng, n_in + n, 4 * n)

    def __call__(self, x, h, c):
        i, g, f, o = tf.split(self.gates(tf.concat([x, h], 1)), 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c


class Merlin(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.embed = Affine(rng, OBS, 24)
        self.prior_net = [Affine(rng, H + READS * WORD, 24), Affine(rng, 24, 2 * Z)]
        self.post_net = [Affine(rng, 24 + H + READS * WORD + 2 * Z, 32), Affine(rng, 32, 2 * Z)]
        self.core = LSTM(rng, Z + ACT + READS * WORD, H)
        self.interface = Affine(rng, H, READS * WORD + READS)
        self.policy_net = [Affine(rng, Z + H + READS * WORD, 24), Affine(rng, 24, ACT)]
        self.retroactive = 0.9

    def two(self, net, *parts):
        return net[1](tf.tanh(net[0](tf.concat(parts, 1))))

    def read(self, memory, h):
        out = self.interface(h)
        keys = tf.reshape(out[:, :READS * WORD], (-1, READS, WORD))
        sharpness = 1.0 + tf.nn.softplus(out[:, READS * WORD:])
        keys = keys / (tf.norm(keys, axis=-1, keepdims=True) + 1e-6)
        words = memory / (tf.norm(memory, axis=-1, keepdims=True) + 1e-6)
        cosine = tf.einsum("brw,bsw->brs", keys, words)
        weights = tf.nn.softmax(sharpness[..., None] * cosine, axis=-1)
        return tf.reshape(tf.einsum("brs,bsw->brw", weights, memory), (-1, READS * WORD))

    def __call__(self, observations, last_actions, memory, eps):
        b = observations.shape[0]
        h, c = tf.zeros((b, H)), tf.zeros((b, H))
        m = tf.zeros((b, READS * WORD))
        trace = tf.zeros(SLOTS)
        previous = tf.zeros(SLOTS)
        logits, costs = [], []
        for t in range(T):
            e = tf.nn.relu(self.embed(observations[:, t]))
            prior = self.two(self.prior_net, h, m)
            post = prior + self.two(self.post_net, e, h, m, prior)
            (pm, ps), (qm, qs) = tf.split(prior, 2, 1), tf.split(post, 2, 1)
            kl = ps - qs + 0.5 * (tf.exp(2 * (qs - ps)) + (qm - pm) ** 2 * tf.exp(-2 * ps) - 1)
            costs.append(tf.reduce_sum(kl, axis=1))
            z = qm + tf.exp(qs) * eps[:, t]
            h, c = self.core(tf.concat([z, last_actions[:, t], m], 1), h, c)
            m = self.read(memory, h)
            logits.append(self.two(self.policy_net, z, h, m))
            # z goes into its slot; and slowly into those written before, next to what was known
            trace = self.retroactive * trace + (1 - self.retroactive) * previous
            now = tf.one_hot(t, SLOTS)
            empty = tf.zeros_like(z)
            memory += now[None, :, None] * tf.concat([z, empty], 1)[:, None]
            memory += trace[None, :, None] * tf.concat([empty, z], 1)[:, None]
            previous = now
        return tf.stack(logits, 1), tf.stack(costs, 1), memory, m


def make(seed=30):
    return Merlin(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(B, T, OBS)).astype("float32")
    last = np.eye(ACT, dtype="float32")[rng.integers(0, ACT, (B, T))]
    memory = 0.7 * rng.normal(size=(B, SLOTS, WORD)).astype("float32")
    return obs, last, memory, rng.normal(size=(B, T, Z)).astype("float32")
