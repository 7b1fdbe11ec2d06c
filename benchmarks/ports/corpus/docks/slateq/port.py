"""SlateQ in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
DOCS, DIM, SLATE, HIST, USER = 15, 8, 4, 6, 5


class Interest(layers.Layer):
    """A weighted mean of what was clicked, newest first, padding left out."""

    def build(self, shape):
        self.decay = self.add_weight(shape=(HIST,), name="decay")

    def call(self, clicks, mask):
        w = ops.sigmoid(self.decay) * mask
        w = w / (ops.sum(w, axis=1, keepdims=True) + 1e-6)
        return ops.einsum("bh,bhd->bd", w, clicks)


class Bias(layers.Layer):
    def build(self, shape):
        self.value = self.add_weight(shape=(1,), name="value")

    def call(self, x):
        null = ops.broadcast_to(self.value, (ops.shape(x)[0], 1))
        return ops.concatenate([x, null], axis=1)


def unit(x):
    return x / (ops.norm(x, axis=-1, keepdims=True) + 1e-5)


class SlateQ(keras.Model):
    def __init__(self, temperature=0.5, gamma=0.9):
        super().__init__()
        self.temperature, self.gamma = temperature, gamma
        self.embed = layers.Embedding(DOCS, DIM)
        self.popularity = layers.Embedding(DOCS, 1)
        self.interest = Interest()
        self.user1 = layers.Dense(12, activation="tanh")
        self.user2 = layers.Dense(DIM)
        self.q1 = layers.Dense(12, activation="relu")
        self.q2 = layers.Dense(1)
        self.no_click = Bias()

    def call(self, history, profile, slate, rewards):
        mask = ops.cast(history > 0, "float32")
        interest = self.interest(self.embed(history), mask)
        user = self.user2(self.user1(ops.concatenate([interest, profile], axis=-1)))
        user = unit(user)
        docs = unit(self.embed(slate))

        match = ops.einsum("bd,bkd->bk", user, docs) / self.temperature
        match = match + ops.squeeze(self.popularity(slate), -1)
        p = ops.softmax(self.no_click(match), axis=-1)
        clicked = p[:, :SLATE]

        u = ops.repeat(user[:, None], SLATE, axis=1)
        pairs = ops.concatenate([u, docs, u * docs], axis=-1)
        q = ops.squeeze(self.q2(self.q1(pairs)), -1)

        value = clicked * q
        slate_q = ops.sum(value, axis=1)
        target = ops.sum(rewards * clicked, axis=1) + self.gamma * ops.max(value, axis=1)
        entropy = -ops.sum(p * ops.log(p + 1e-8), axis=1)
        return slate_q, target, q, entropy


def make():
    r = np.random.default_rng(17)
    m = SlateQ()
    m(*[ops.convert_to_tensor(x) for x in inputs(0)])
    for w in m.weights:
        w.assign(r.normal(size=w.shape) * 0.5)
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    history = r.integers(1, DOCS, size=(7, HIST)).astype("int32")
    for i, n in enumerate(r.integers(2, HIST, size=7)):
        history[i, n:] = 0
    slate = np.stack([r.choice(np.arange(1, DOCS), SLATE, replace=False) for _ in range(7)]).astype("int32")
    return history, f(7, USER), slate, np.abs(f(7, SLATE))


def load(m, o):
    dense = lambda k, l: k.set_weights([l.W.array.T, l.b.array])
    m.embed.set_weights([o.embed.W.array])
    m.popularity.set_weights([o.popularity.W.array])
    m.interest.set_weights([o.user.decay.array])
    m.no_click.set_weights([o.no_click.array])
    dense(m.user1, o.user.fc1), dense(m.user2, o.user.fc2)
    dense(m.q1, o.qnet.fc1), dense(m.q2, o.qnet.fc2)
