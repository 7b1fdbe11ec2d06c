"""GTrXL in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
OBS, D, HEADS, LAYERS, MEM, T, ACTIONS = 9, 16, 2, 2, 4, 6, 5
HD = D // HEADS


def relative_positions(length):
    pos = np.arange(length)[::-1]
    inv = 10000.0 ** (-np.arange(0, D, 2) / D)
    angle = np.outer(pos, inv)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype("float32")


def rel_shift(x):
    b, h, i, j = x.shape
    x = ops.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
    x = ops.reshape(x, (b, h, j + 1, i))[:, :, 1:, :]
    return ops.reshape(x, (b, h, i, j))


class XLAttention(layers.Layer):
    def build(self, shape):
        init = keras.initializers.RandomNormal(stddev=0.3)
        self.wq = self.add_weight(shape=(D, HEADS, HD), initializer=init, name="wq")
        self.wk = self.add_weight(shape=(D, HEADS, HD), initializer=init, name="wk")
        self.wv = self.add_weight(shape=(D, HEADS, HD), initializer=init, name="wv")
        self.wr = self.add_weight(shape=(D, HEADS, HD), initializer=init, name="wr")
        self.content_bias = self.add_weight(shape=(HEADS, HD), initializer=init, name="u")
        self.position_bias = self.add_weight(shape=(HEADS, HD), initializer=init, name="v")
        self.wo = self.add_weight(shape=(HEADS, HD, D), initializer=init, name="wo")
        self.bo = self.add_weight(shape=(D,), initializer=init, name="bo")

    def call(self, x, context, pos):
        q = ops.einsum("btd,dhk->bhtk", x, self.wq)
        k = ops.einsum("bsd,dhk->bhsk", context, self.wk)
        v = ops.einsum("bsd,dhk->bhsk", context, self.wv)
        r = ops.einsum("sd,dhk->hsk", pos, self.wr)
        ac = ops.einsum("bhtk,bhsk->bhts", q + self.content_bias[:, None], k)
        bd = ops.einsum("bhtk,hsk->bhts", q + self.position_bias[:, None], r)
        bd = rel_shift(bd)
        logits = (ac + bd) * HD**-0.5
        t, s = logits.shape[-2:]
        visible = np.arange(s)[None, :] <= np.arange(t)[:, None] + MEM
        logits = ops.where(visible, logits, -1e9)
        att = ops.softmax(logits, axis=-1)
        return ops.einsum("bhts,bhsk,hkd->btd", att, v, self.wo) + self.bo


class Gate(layers.Layer):
    def build(self, *_):
        mat = lambda n: self.add_weight(shape=(D, D), initializer="glorot_uniform", name=n)
        self.wr, self.ur = mat("wr"), mat("ur")
        self.wz, self.uz = mat("wz"), mat("uz")
        self.wg, self.ug = mat("wg"), mat("ug")
        self.bg = self.add_weight(shape=(D,), initializer="ones", name="bg")

    def call(self, x, y):
        r = ops.sigmoid(y @ self.wr + x @ self.ur)
        z = ops.sigmoid(y @ self.wz + x @ self.uz - self.bg)
        h = ops.tanh(y @ self.wg + (r * x) @ self.ug)
        return (1.0 - z) * x + z * h


class GatedBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm_a = layers.LayerNormalization(epsilon=1e-5)
        self.norm_b = layers.LayerNormalization(epsilon=1e-5)
        self.mha = XLAttention()
        self.gate_a, self.gate_b = Gate(), Gate()
        self.up = layers.Dense(32, activation="gelu")
        self.down = layers.Dense(D, activation="relu")

    def call(self, x, mem, pos):
        context = self.norm_a(ops.concatenate([mem, x], axis=1))
        att = self.mha(context[:, MEM:], context, pos)
        x = self.gate_a(x, ops.relu(att))
        return self.gate_b(x, self.down(self.up(self.norm_b(x))))


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Dense(D)
        self.stack = [GatedBlock() for _ in range(LAYERS)]
        self.pi = layers.Dense(ACTIONS)
        self.vf = layers.Dense(1)

    def call(self, obs, memory):
        x = self.embed(obs)
        pos = ops.convert_to_tensor(relative_positions(MEM + x.shape[1]))
        new = []
        for i, block in enumerate(self.stack):
            mem = memory[:, i]
            new.append(ops.concatenate([mem, x], axis=1)[:, -MEM:])
            x = block(x, mem, pos)
        return ops.log_softmax(self.pi(x)), self.vf(x)[..., 0], ops.stack(new, axis=1)


def make():
    keras.utils.set_random_seed(9)
    net = Agent()
    net(*inputs(0))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, T, OBS)).astype("float32")
    memory = rng.normal(size=(4, LAYERS, MEM, D)).astype("float32")
    return obs, memory


def load(ported, original):
    n = lambda p: p.detach().numpy()
    for mine, theirs in ((ported.embed, original.embed), (ported.pi, original.policy), (ported.vf, original.value)):
        mine.set_weights([n(theirs.weight).T, n(theirs.bias)])
    for mine, theirs in zip(ported.stack, original.blocks):
        a, t = mine.mha, theirs.attn
        wk, wv = np.split(n(t.kv.weight), 2)
        for var, w in ((a.wq, n(t.q.weight)), (a.wk, wk), (a.wv, wv), (a.wr, n(t.r.weight))):
            var.assign(w.T.reshape(D, HEADS, HD))
        a.content_bias.assign(n(t.u))
        a.position_bias.assign(n(t.v))
        a.wo.assign(n(t.out.weight).T.reshape(HEADS, HD, D))
        a.bo.assign(n(t.out.bias))
        for g, tg in ((mine.gate_a, theirs.gate1), (mine.gate_b, theirs.gate2)):
            wr, wz, wg = np.split(n(tg.w.weight), 3)
            ur, uz = np.split(n(tg.u.weight), 2)
            for var, w in zip((g.wr, g.wz, g.wg, g.ur, g.uz, g.ug), (wr, wz, wg, ur, uz, n(tg.ug.weight))):
                var.assign(w.T)
            g.bg.assign(n(tg.bias))
        mine.norm_a.set_weights([n(theirs.ln1.weight), n(theirs.ln1.bias)])
        mine.norm_b.set_weights([n(theirs.ln2.weight), n(theirs.ln2.bias)])
        mine.up.set_weights([n(theirs.ff[0].weight).T, n(theirs.ff[0].bias)])
        mine.down.set_weights([n(theirs.ff[2].weight).T, n(theirs.ff[2].bias)])
