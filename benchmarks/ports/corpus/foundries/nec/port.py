"""NEC on tf.Variables; all actions' dictionaries are looked up at once."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
A, K, M, P = 4, 8, 30, 5
GAMMA, STEPS, ALPHA = 0.9, 3, 0.3


class EpisodicControl(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)

        def new(*shape, mean=0.0, std=0.3):
            return tf.Variable(rng.normal(mean, std, shape).astype("float32"))

        self.filters, self.filters_b = new(4, 3, 6), new(6)
        self.w1, self.b1 = new(42, 32), new(32)
        self.scale, self.offset = new(32, mean=1.0), new(32)
        self.w2, self.b2 = new(32, K), new(K)
        self.keys = tf.Variable(rng.normal(size=(A, M, K)).astype("float32"), trainable=False)
        self.values = tf.Variable(rng.normal(size=(A, M)).astype("float32"), trainable=False)
        self.filled = tf.Variable([30, 30, 30, 30], trainable=False, dtype=tf.int32)

    def embed(self, lidar):
        x = tf.transpose(lidar, [0, 2, 1])
        x = tf.nn.relu(tf.nn.conv1d(x, self.filters, stride=2, padding="VALID") + self.filters_b)
        x = tf.reshape(tf.transpose(x, [0, 2, 1]), [-1, 42])
        x = tf.matmul(x, self.w1) + self.b1
        mean, var = tf.nn.moments(x, axes=[1], keepdims=True)
        x = tf.nn.batch_normalization(x, mean, var, self.offset, self.scale, 1e-5)
        return tf.matmul(tf.nn.relu(x), self.w2) + self.b2

    def lookup(self, h):
        """Q (B, A), and the squared distance of the nearest key (B, A)."""
        diff = h[:, tf.newaxis, tf.newaxis, :] - self.keys[tf.newaxis]
        dist = tf.reduce_sum(tf.square(diff), axis=-1)
        used = tf.sequence_mask(self.filled, M)
        dist = tf.where(used[tf.newaxis], dist, 1e6)
        negated, idx = tf.math.top_k(-dist, k=P)
        kernel = 1.0 / (0.01 - negated)
        weights = kernel / tf.reduce_sum(kernel, axis=-1, keepdims=True)
        table = tf.broadcast_to(self.values[tf.newaxis], [tf.shape(h)[0], A, M])
        found = tf.gather(table, idx, batch_dims=2)
        return tf.reduce_sum(weights * found, axis=-1), -negated[..., 0]

    def __call__(self, lidar, last_lidar, rewards, action):
        h = self.embed(lidar)
        q, nearest = self.lookup(h)
        q_last, _ = self.lookup(self.embed(last_lidar))

        target = tf.reduce_max(q_last, axis=1)
        for k in reversed(range(STEPS)):
            target = rewards[:, k] + GAMMA * target

        rows = tf.one_hot(action, A)
        q_a = tf.reduce_sum(q * rows, axis=1)
        closest = tf.reduce_sum(nearest * rows, axis=1)
        updated = (1.0 - ALPHA) * q_a + ALPHA * target
        novelty = tf.math.rsqrt(closest + 1e-3)
        return {"q": q, "key": h, "target": target, "updated": updated, "novelty": novelty}


def make(seed=9):
    return EpisodicControl(seed)


def inputs(seed=0):
    r = np.random.default_rng(seed)
    lidar = r.uniform(0, 2, size=(7, 3, 16)).astype("float32")
    last = r.uniform(0, 2, size=(7, 3, 16)).astype("float32")
    rewards = r.normal(size=(7, STEPS)).astype("float32")
    action = r.integers(0, A, size=7).astype("int32")
    return lidar, last, rewards, action


def load(ported, original):
    n = lambda p: p.detach().numpy()
    ported.filters.assign(n(original.conv.weight).transpose(2, 1, 0))
    ported.filters_b.assign(n(original.conv.bias))
    ported.w1.assign(n(original.hidden.weight).T)
    ported.b1.assign(n(original.hidden.bias))
    ported.scale.assign(n(original.norm.weight))
    ported.offset.assign(n(original.norm.bias))
    ported.w2.assign(n(original.key.weight).T)
    ported.b2.assign(n(original.key.bias))
    ported.keys.assign(np.stack([n(d.keys) for d in original.memory]))
    ported.values.assign(np.stack([n(d.values) for d in original.memory]))
    ported.filled.assign([int(d.size) for d in original.memory])
