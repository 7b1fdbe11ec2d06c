import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
UNITS, FEATS, GROUPS, DIM, STATE = 10, 12, 3, 32, 48
NEG = -1e8


def var(rng, *shape, scale=None):
    scale = shape[-2] ** -0.5 if scale is None else scale
    return tf.Variable(tf.constant(rng.normal(0, scale, shape), tf.float32))


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = var(rng, n_in, n_out)
        self.b = var(rng, n_out, scale=0.1)

    def __call__(self, x):
        return x @ self.w + self.b


class Units(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.first, self.second = Linear(rng, FEATS, DIM), Linear(rng, DIM, DIM)
        self.kernels = var(rng, GROUPS, DIM, DIM)
        self.biases = var(rng, GROUPS, DIM, scale=0.1)
        self.gain = tf.Variable(tf.ones(DIM) + 0.1)
        self.offset = var(rng, DIM, scale=0.1)

    def embed(self, units, group):
        x = tf.nn.relu(self.second(tf.nn.relu(self.first(units))))
        every = tf.einsum("bui,gio->bugo", x, self.kernels) + self.biases
        x = tf.gather(every, group, axis=2, batch_dims=2)
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.offset, self.gain, 1e-5)

    def pool(self, x, group, alive):
        out = []
        for g in range(GROUPS):
            member = tf.logical_and(alive, tf.equal(group, g))
            best = tf.reduce_max(tf.where(member[..., None], x, -1e9), axis=1)
            some = tf.reduce_any(member, axis=1, keepdims=True)
            out.append(tf.where(some, best, tf.zeros_like(best)))
        return tf.concat(out, axis=1)


class LSTM(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.wx, self.wh = var(rng, STATE, 4 * STATE), var(rng, STATE, 4 * STATE)
        self.b = var(rng, 4 * STATE, scale=0.1)

    def __call__(self, x, h, c):
        i, f, g, o = tf.split(x @ self.wx + h @ self.wh + self.b, 4, axis=-1)
        c = tf.nn.sigmoid(f) * c + tf.nn.sigmoid(i) * tf.nn.tanh(g)
        return tf.nn.sigmoid(o) * tf.nn.tanh(c), c


class FiveNet(tf.Module):
    def __init__(self, seed=2):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.units = Units(rng)
        self.scene = Linear(rng, 14, DIM)
        self.merge = Linear(rng, 4 * DIM, STATE)
        self.core = LSTM(rng)
        self.pi = Linear(rng, STATE, 8)
        self.embedding = var(rng, 8, DIM, scale=1.0)
        self.query, self.key = Linear(rng, STATE, DIM), Linear(rng, DIM, DIM)
        self.grid_x, self.grid_y = Linear(rng, STATE, 9), Linear(rng, STATE, 9)
        self.v = Linear(rng, STATE, 1)

    def __call__(self, units, group, alive, scene, legal, h, c):
        tokens = self.units.embed(units, group)
        pooled = self.units.pool(tokens, group, alive)
        x = tf.concat([tf.nn.relu(self.scene(scene)), pooled], 1)
        h, c = self.core(tf.nn.relu(self.merge(x)), h, c)

        logits = tf.where(legal, self.pi(h), NEG)
        pi = tf.nn.log_softmax(logits)
        gate = tf.sigmoid(tf.gather(self.embedding, tf.argmax(pi, axis=-1)))
        query = self.query(h) * gate
        score = tf.linalg.matvec(self.key(tokens), query) / np.sqrt(DIM)
        target = tf.nn.softmax(tf.where(alive, score, NEG))

        grid = self.grid_y(h)[:, :, None] + self.grid_x(h)[:, None, :]
        offset = tf.nn.log_softmax(tf.reshape(grid, (-1, 81)))
        return pi, target, offset, self.v(h)[:, 0], h, c


def make():
    return FiveNet()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    units = rng.randn(6, UNITS, FEATS).astype("float32")
    group = rng.randint(0, GROUPS, (6, UNITS)).astype("int64")
    group[2] = rng.randint(0, 2, UNITS)
    alive = rng.rand(6, UNITS) < 0.7
    alive[:, 0] = True
    scene = rng.randn(6, 14).astype("float32")
    legal = rng.rand(6, 8) < 0.6
    legal[:, 1] = True
    h, c = (0.6 * rng.randn(2, 6, STATE)).astype("float32")
    return units, group, alive, scene, legal, h, c


def load(ported, original):
    p = {k: v.detach().numpy() for k, v in original.named_parameters()}

    def linear(m, key):
        m.w.assign(p[key + ".weight"].T)
        m.b.assign(p[key + ".bias"])

    linear(ported.units.first, "units.fc1")
    linear(ported.units.second, "units.fc2")
    ported.units.kernels.assign(p["units.group_w"].transpose(0, 2, 1))
    ported.units.biases.assign(p["units.group_b"])
    ported.units.gain.assign(p["units.norm.weight"])
    ported.units.offset.assign(p["units.norm.bias"])
    ported.core.wx.assign(p["core.weight_ih"].T)
    ported.core.wh.assign(p["core.weight_hh"].T)
    ported.core.b.assign(p["core.bias_ih"] + p["core.bias_hh"])
    ported.embedding.assign(p["action_embed.weight"])
    for m, key in ((ported.scene, "globals"), (ported.merge, "merge"), (ported.pi, "action"), (ported.query, "query"),
                   (ported.key, "key"), (ported.grid_x, "dx"), (ported.grid_y, "dy"), (ported.v, "value")):
        linear(m, key)
