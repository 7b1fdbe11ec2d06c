"""Gato-style generalist agent (Reed et al. 2022): mu-law tokens, local positions, pre-norm transformer with GEGLU."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
T, KO, KA, BINS, D, HEADS, DEPTH = 3, 4, 2, 32, 16, 2, 2
MU, M = 100.0, 256.0
STEP = KO + 1 + KA


def mu_law(x):
    x = ops.sign(x) * ops.log(ops.abs(x) * MU + 1.0) / np.log(M * MU + 1.0)
    return ops.clip(x, -1.0, 1.0)


def discretise(x):
    tok = ops.floor((x + 1.0) / 2.0 * BINS)
    return ops.cast(ops.clip(tok, 0, BINS - 1), "int32")


class Tokens(layers.Layer):
    """Interleaves observation tokens, the separator and action tokens of each time step."""

    def build(self, *shapes):
        self.table = self.add_weight(shape=(2 * BINS, D), name="table")
        self.local = self.add_weight(shape=(KO, D), name="local")
        self.action_pos = self.add_weight(shape=(1, D), name="action_pos")
        self.sep = self.add_weight(shape=(1, D), name="sep")

    def call(self, obs, act):
        o = ops.take(self.table, discretise(mu_law(obs)), axis=0) + self.local
        a = ops.take(self.table, discretise(ops.clip(act, -1.0, 1.0)) + BINS, axis=0) + self.action_pos
        sep = ops.broadcast_to(self.sep, (ops.shape(obs)[0], T, 1, D))
        seq = ops.concatenate([o, sep, a], axis=2)
        return ops.reshape(seq, (-1, T * STEP, D))


class Timing(layers.Layer):
    def build(self, shape):
        self.pos = self.add_weight(shape=(T * STEP, D), name="pos")

    def call(self, x):
        return x + self.pos


class GEGLU(layers.Layer):
    def build(self, shape):
        self.up = layers.Dense(4 * D)
        self.up.build(shape)
        self.down = layers.Dense(D)
        self.down.build((None, None, 2 * D))

    def call(self, x):
        value, gate = ops.split(self.up(x), 2, axis=-1)
        return self.down(value * ops.gelu(gate, approximate=False))


def block(x, i):
    h = layers.LayerNormalization(epsilon=1e-5, name=f"ln1_{i}")(x)
    h = layers.MultiHeadAttention(HEADS, D // HEADS, name=f"attn_{i}")(h, h, use_causal_mask=True)
    x = layers.Add(name=f"res1_{i}")([x, h])
    h = layers.LayerNormalization(epsilon=1e-5, name=f"ln2_{i}")(x)
    return layers.Add(name=f"res2_{i}")([x, GEGLU(name=f"ff_{i}")(h)])


class ActionSlots(layers.Layer):
    """Keeps the positions that predict action tokens: one before each action token."""

    def call(self, x):
        x = ops.reshape(x, (-1, T, STEP, D))
        return x[:, :, KO:STEP - 1]


def make():
    obs, act = keras.Input((T, KO)), keras.Input((T, KA))
    x = Tokens(name="tokens")(obs, act)
    x = Timing(name="timing")(x)
    for i in range(DEPTH):
        x = block(x, i)
    x = layers.LayerNormalization(epsilon=1e-5, name="ln_f")(x)
    x = ActionSlots(name="slots")(x)
    logits = layers.Dense(BINS, name="head")(x)
    m = keras.Model([obs, act], logits)
    r = np.random.RandomState(31)
    for w in m.weights:
        if "gamma" in w.path:
            v = 1 + 0.2 * r.randn(*w.shape)
        elif len(w.shape) > 1:
            v = r.randn(*w.shape) * 0.35
        else:
            v = r.randn(*w.shape) * 0.15
        w.assign(v.astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (2 * r.randn(4, T, KO)).astype("float32"), r.uniform(-1, 1, (4, T, KA)).astype("float32")
