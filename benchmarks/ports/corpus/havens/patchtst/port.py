"""PatchTST in Chainer."""
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
LENGTH, VARS, STEPS = 40, 3, 6
SIZE, HOP, UNITS, N_HEAD = 8, 4, 12, 3
N_PATCH = (LENGTH - SIZE) // HOP + 2


def gelu(x):
    return 0.5 * x * (1 + F.erf(x * 2 ** -0.5))


class Attention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.q = L.Linear(UNITS, UNITS)
            self.k = L.Linear(UNITS, UNITS)
            self.v = L.Linear(UNITS, UNITS)
            self.o = L.Linear(UNITS, UNITS)

    def forward(self, rows, previous):
        d = UNITS // N_HEAD

        def heads(y):
            y = F.reshape(y, (-1, N_PATCH, N_HEAD, d))
            return F.reshape(F.transpose(y, (0, 2, 1, 3)), (-1, N_PATCH, d))

        q, k, v = heads(self.q(rows)), heads(self.k(rows)), heads(self.v(rows))
        scores = F.matmul(q, k, transb=True) / np.sqrt(d).astype("f")
        if previous is not None:
            scores += previous
        context = F.matmul(F.softmax(scores, axis=2), v)
        context = F.transpose(F.reshape(context, (-1, N_HEAD, N_PATCH, d)), (0, 2, 1, 3))
        return self.o(F.reshape(context, (-1, UNITS))), scores


class Layer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.attention = Attention()
            self.norm1 = L.BatchNormalization(UNITS, eps=1e-5)
            self.wide = L.Linear(UNITS, 2 * UNITS)
            self.narrow = L.Linear(2 * UNITS, UNITS)
            self.norm2 = L.BatchNormalization(UNITS, eps=1e-5)

    def forward(self, rows, previous):
        mixed, scores = self.attention(rows, previous)
        rows = self.norm1(rows + mixed)
        rows = self.norm2(rows + self.narrow(gelu(self.wide(rows))))
        return rows, scores


class PatchTST(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.scale = chainer.Parameter(1.0, (VARS,))
            self.offset = chainer.Parameter(0.0, (VARS,))
            self.patch = L.Linear(SIZE, UNITS)
            self.position = chainer.Parameter(chainer.initializers.Normal(0.02), (N_PATCH, UNITS))
            self.layer1 = Layer()
            self.layer2 = Layer()
            self.forecast = L.Linear(UNITS * N_PATCH, STEPS)

    def forward(self, series):
        series = chainer.as_variable(series)
        mean = F.mean(series, axis=1, keepdims=True)
        centred = series - F.broadcast_to(mean, series.shape)
        std = F.sqrt(F.mean(centred ** 2, axis=1, keepdims=True) + 1e-5)
        x = centred / F.broadcast_to(std, series.shape)
        x = F.bias(F.scale(x, self.scale, axis=2), self.offset, axis=2)
        x = F.transpose(x, (0, 2, 1))
        end = F.broadcast_to(x[:, :, -1:], (*x.shape[:2], HOP))
        x = F.concat([x, end], axis=2)
        index = np.arange(N_PATCH)[:, None] * HOP + np.arange(SIZE)
        patches = F.reshape(x[:, :, index], (-1, SIZE))
        tokens = F.reshape(self.patch(patches), (-1, N_PATCH, UNITS))
        rows = F.reshape(tokens + F.broadcast_to(self.position, tokens.shape), (-1, UNITS))
        rows, scores = self.layer1(rows, None)
        rows, scores = self.layer2(rows, scores)
        z = F.transpose(F.reshape(rows, (-1, N_PATCH, UNITS)), (0, 2, 1))
        y = self.forecast(F.reshape(z, (-1, UNITS * N_PATCH)))
        y = F.transpose(F.reshape(y, (-1, VARS, STEPS)), (0, 2, 1))
        y = F.bias(y, -self.offset, axis=2)
        y = F.scale(y, 1 / (self.scale + 1e-10), axis=2)
        return y * F.broadcast_to(std, y.shape) + F.broadcast_to(mean, y.shape)


def make():
    np.random.seed(5)
    return PatchTST()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(LENGTH)[None, :, None]
    wave = np.sin(t / rng.uniform(2, 6, (4, 1, VARS)) + rng.uniform(0, 6, (4, 1, VARS)))
    return (wave + 0.03 * t + 0.3 * rng.normal(size=(4, LENGTH, VARS)) + 2).astype("float32")


def load(ported, original):
    def dense(link, layer):
        kernel, bias = layer.get_weights()
        link.W.array[...] = kernel.T
        link.b.array[...] = bias

    def bn(link, layer):
        gamma, beta, mean, var = layer.get_weights()
        link.gamma.array[...], link.beta.array[...] = gamma, beta
        link.avg_mean[...], link.avg_var[...] = mean, var

    ported.scale.array[...] = np.asarray(original.revin.gain)
    ported.offset.array[...] = np.asarray(original.revin.shift)
    ported.position.array[...] = np.asarray(original.position)
    dense(ported.patch, original.embed)
    for ours, theirs in zip((ported.layer1, ported.layer2), original.encoders):
        for link, layer in zip((ours.attention.q, ours.attention.k, ours.attention.v), theirs.qkv):
            dense(link, layer)
        dense(ours.attention.o, theirs.out)
        dense(ours.wide, theirs.ff1)
        dense(ours.narrow, theirs.ff2)
        bn(ours.norm1, theirs.bn1)
        bn(ours.norm2, theirs.bn2)
    dense(ported.forecast, original.head)
