"""NARM (Li et al. 2017): neural attentive session-based recommendation, in Chainer."""
import parity  # noqa: F401  (makes chainer importable here)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
ITEMS, LENGTH = 40, 9


class GRUCell(chainer.Chain):
    def __init__(self, n_in, units):
        super().__init__()
        with self.init_scope():
            self.wz = L.Linear(n_in, units)
            self.uz = L.Linear(units, units, nobias=True)
            self.wr = L.Linear(n_in, units)
            self.ur = L.Linear(units, units, nobias=True)
            self.wh = L.Linear(n_in, units)
            self.uh = L.Linear(units, units, nobias=True)

    def forward(self, x, h):
        z = F.sigmoid(self.wz(x) + self.uz(h))
        r = F.sigmoid(self.wr(x) + self.ur(h))
        new = F.tanh(self.wh(x) + self.uh(r * h))
        return z * h + (1 - z) * new


class NARM(chainer.Chain):
    def __init__(self, dim=16, units=20):
        super().__init__()
        self.units = units
        with self.init_scope():
            self.embed = L.EmbedID(ITEMS + 1, dim)
            self.global_gru = GRUCell(dim, units)
            self.local_gru = GRUCell(dim, units)
            self.a1 = L.Linear(units, units, nobias=True)
            self.a2 = L.Linear(units, units, nobias=True)
            self.v = L.Linear(units, 1, nobias=True)
            self.bilinear = L.Linear(2 * units, dim, nobias=True)

    def encode(self, gru, x, mask):
        """All states; a padded step keeps the state before it."""
        h = self.xp.zeros((x.shape[0], self.units), "float32")
        states = []
        for t in range(x.shape[1]):
            new = gru(x[:, t], h)
            keep = self.xp.broadcast_to(mask[:, t, None], new.shape)
            h = F.where(keep, new, chainer.as_variable(h))
            states.append(h)
        return F.stack(states, axis=1)

    def forward(self, items):
        mask = items != 0
        x = self.embed(items)
        last = self.encode(self.global_gru, x, mask)[:, -1]
        states = self.encode(self.local_gru, x, mask)
        batch, steps, units = states.shape
        q = F.broadcast_to(F.expand_dims(self.a1(last), 1), states.shape)
        k = self.a2(states, n_batch_axes=2)
        alpha = self.v(F.sigmoid(q + k), n_batch_axes=2)
        alpha = alpha * mask[:, :, None].astype("float32")
        local = F.sum(F.broadcast_to(alpha, states.shape) * states, axis=1)
        session = self.bilinear(F.concat([last, local], axis=1))
        logits = F.matmul(session, self.embed.W[1:], transb=True)
        return F.softmax(logits, axis=1)


def make(seed=0):
    rng = np.random.RandomState(seed)
    net = NARM()
    for name, p in net.namedparams():
        scale = 0.3 if p.ndim == 1 else 1.0 if "embed" in name else 1.2 / p.shape[1] ** 0.5
        p.array[...] = rng.normal(0, scale, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    items = rng.integers(1, ITEMS + 1, size=(6, LENGTH)).astype("int32")
    for row, n in enumerate((9, 4, 6, 2, 7, 5)):
        items[row, n:] = 0
    return items
