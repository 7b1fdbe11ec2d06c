"""DipNet-style policy: graph convolutions with FiLM over the board, LSTM order decoder. Keras, subclassed."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LOCS, FEATS, PREV, DIM, POWERS, SEASONS, STEPS, ORDERS = 8, 6, 4, 12, 3, 2, 3, 9
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6), (6, 7), (0, 7), (0, 3)]


def preprocess_adjacency():
    a = np.eye(LOCS, dtype=np.float32)
    for i, j in EDGES:
        a[i, j] = a[j, i] = 1
    d = a.sum(1) ** -0.5
    return a * d[:, None] * d[None, :]


class GraphConv(layers.Layer):
    """a linear map for each location, then the neighbours' sum"""

    def __init__(self, n_out, **kw):
        super().__init__(**kw)
        self.n_out = n_out

    def build(self, shape):
        self.w = self.add_weight(shape=(LOCS, shape[-1], self.n_out), name="w")
        self.b = self.add_weight(shape=(self.n_out,), name="b")
        self.A = preprocess_adjacency()

    def call(self, x):
        x = ops.transpose(x, (1, 0, 2))
        x = ops.matmul(x, self.w)
        x = ops.transpose(x, (1, 0, 2))
        return ops.matmul(self.A, x) + self.b


class FilmGraphBlock(layers.Layer):
    def __init__(self, residual, **kw):
        super().__init__(**kw)
        self.residual = residual
        self.gcn = GraphConv(DIM)
        self.bn = layers.BatchNormalization()
        self.film = layers.Dense(2 * DIM)

    def call(self, x, cond):
        y = self.bn(self.gcn(x), training=False)
        gamma, beta = ops.split(self.film(cond)[:, None, :], 2, axis=-1)
        y = ops.relu(gamma * y + beta)
        return x + y if self.residual else y


class DipNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.power_emb = layers.Dense(4, use_bias=False)
        self.season_emb = layers.Dense(4, use_bias=False)
        self.board = [FilmGraphBlock(False), FilmGraphBlock(True)]
        self.prev = [FilmGraphBlock(False)]
        self.merge = FilmGraphBlock(True)
        self.join = layers.Dense(DIM)
        self.order_emb = layers.Embedding(ORDERS + 1, 6)
        self.cell = layers.LSTMCell(DIM)
        self.out = layers.Dense(ORDERS)
        self.v1 = layers.Dense(DIM, activation="relu")
        self.v2 = layers.Dense(POWERS)

    def call(self, board, prev_orders, power, season, align, valid):
        cond = ops.concatenate([self.power_emb(power), self.season_emb(season)], -1)
        x, p = board, prev_orders
        for block in self.board:
            x = block(x, cond)
        for block in self.prev:
            p = block(p, cond)
        enc = self.merge(self.join(ops.concatenate([x, p], -1)), cond)

        b = board.shape[0]
        h = c = ops.zeros((b, DIM))
        last = ops.full((b,), ORDERS, dtype="int32")
        out = []
        for t in range(STEPS):
            loc = ops.einsum("bl,bld->bd", align[:, t], enc)
            loc = loc / ops.sum(align[:, t], axis=-1, keepdims=True)
            inp = ops.concatenate([loc, self.order_emb(last), self.power_emb(power)], -1)
            h, (h, c) = self.cell(inp, [h, c])
            logits = self.out(h)
            logits = ops.where(valid[:, t] > 0, logits, -1e9)
            last = ops.argmax(logits, -1)
            out.append(ops.softmax(logits))
        v = ops.softmax(self.v2(self.v1(ops.mean(enc, axis=1))))
        return ops.stack(out, 1), v


def make():
    keras.utils.set_random_seed(13)
    model = DipNet()
    model(*[ops.convert_to_tensor(v) for v in inputs(0)])
    rng = np.random.RandomState(13)
    for w in model.weights:
        s = w.shape
        if w.name in ("gamma", "moving_variance"):
            v = rng.uniform(0.5, 1.5, s)
        elif len(s) == 1:
            v = 0.3 * rng.randn(*s)
        else:
            v = rng.randn(*s) * 1.3 / np.sqrt(s[-2])
        w.assign(v.astype(np.float32))
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    b = 5
    board = (rng.rand(b, LOCS, FEATS) < 0.4).astype(np.float32)
    prev = rng.randn(b, LOCS, PREV).astype(np.float32)
    power = np.eye(POWERS, dtype=np.float32)[rng.randint(0, POWERS, b)]
    season = np.eye(SEASONS, dtype=np.float32)[rng.randint(0, SEASONS, b)]
    align = (rng.rand(b, STEPS, LOCS) < 0.3).astype(np.float32)
    align[np.arange(b)[:, None], np.arange(STEPS)[None], rng.randint(0, LOCS, (b, STEPS))] = 1
    valid = (rng.rand(b, STEPS, ORDERS) < 0.5).astype(np.float32)
    valid[:, :, 0] = 1
    return board, prev, power, season, align, valid
