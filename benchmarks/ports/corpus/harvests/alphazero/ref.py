"""AlphaZero: residual tower, averaged over the board's rotations, and the PUCT scores of a root."""
import parity  # noqa: F401  (chainer on this Python)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
PLANES, SIZE, CHANNELS, BLOCKS = 6, 5, 16, 2


class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(CHANNELS, CHANNELS, 3, pad=1, nobias=True)
            self.bn1 = L.BatchNormalization(CHANNELS)
            self.conv2 = L.Convolution2D(CHANNELS, CHANNELS, 3, pad=1, nobias=True)
            self.bn2 = L.BatchNormalization(CHANNELS)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return F.relu(x + h)


class AlphaZero(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(PLANES, CHANNELS, 3, pad=1, nobias=True)
            self.stem_bn = L.BatchNormalization(CHANNELS)
            self.tower = chainer.ChainList(*[Block() for _ in range(BLOCKS)])
            self.p_conv = L.Convolution2D(CHANNELS, 2, 1)
            self.p_bn = L.BatchNormalization(2)
            self.p_out = L.Linear(2 * SIZE * SIZE, SIZE * SIZE + 1)
            self.v_conv = L.Convolution2D(CHANNELS, 1, 1)
            self.v_bn = L.BatchNormalization(1)
            self.v_hidden = L.Linear(SIZE * SIZE, 20)
            self.v_out = L.Linear(20, 1)

    def evaluate(self, boards):
        h = F.relu(self.stem_bn(self.stem(boards)))
        for block in self.tower:
            h = block(h)
        p = self.p_out(F.relu(self.p_bn(self.p_conv(h))))
        v = F.relu(self.v_hidden(F.relu(self.v_bn(self.v_conv(h)))))
        return p, F.tanh(self.v_out(v))[:, 0]

    def forward(self, boards, legal, noise, visits, totals):
        b = len(boards)
        moves, passing, value = 0, 0, 0
        for k in range(4):
            p, v = self.evaluate(self.xp.rot90(boards, k, axes=(2, 3)).copy())
            grid = F.reshape(p[:, :-1], (b, SIZE, SIZE))
            for _ in range(k):                          # a quarter turn back
                grid = F.flip(F.transpose(grid, (0, 2, 1)), 2)
            moves += F.reshape(grid, (b, -1)) / 4
            passing += p[:, -1:] / 4
            value += v / 4
        logits = F.concat([moves, passing], axis=1)
        logits = F.where(legal, logits, self.xp.full(legal.shape, -1e9, "float32"))
        prior = F.softmax(logits)
        root = 0.75 * prior + 0.25 * noise
        n = visits.sum(axis=1, keepdims=True)
        c = np.log((1 + n + 1000) / 1000) + 1.25
        q = totals / np.maximum(visits, 1)
        score = q + F.broadcast_to(c * np.sqrt(n), visits.shape) * root / (1 + visits)
        score = F.where(legal, score, self.xp.full(legal.shape, -1e9, "float32"))
        return prior, value, score


def make(seed=17):
    rng = np.random.RandomState(seed)
    net = AlphaZero()
    for name, p in net.namedparams():
        if name.endswith("gamma"):
            p.array[...] = rng.uniform(0.6, 1.4, p.shape)
        elif p.ndim == 1:
            p.array[...] = rng.normal(0, 0.2, p.shape)
        else:
            p.array[...] = rng.normal(0, 1.2 / np.sqrt(np.prod(p.shape[1:])), p.shape)
    for link in net.links():
        if isinstance(link, L.BatchNormalization):
            link.avg_mean[...] = rng.normal(0, 0.3, link.avg_mean.shape)
            link.avg_var[...] = rng.uniform(0.5, 1.5, link.avg_var.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    boards = (rng.random((4, PLANES, SIZE, SIZE)) < 0.4).astype("float32")
    legal = rng.random((4, SIZE * SIZE + 1)) < 0.7
    legal[:, -1] = True
    noise = rng.dirichlet(np.full(26, 0.3), 4).astype("float32")
    visits = (rng.integers(0, 30, (4, 26)) * legal).astype("float32")
    totals = (visits * rng.uniform(-1, 1, (4, 26))).astype("float32")
    return boards, legal, noise, visits, totals
