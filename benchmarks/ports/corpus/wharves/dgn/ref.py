"""DGN: graph convolutional reinforcement learning (Jiang et al. 2020), Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, OBS, HID, HEADS, ACTIONS = 5, 10, 24, 4, 6


class RelationKernel(chainer.Chain):
    """Multi-head dot-product attention limited to the neighbourhood."""

    def __init__(self, n_hid, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d = n_hid // n_heads
        with self.init_scope():
            self.query = L.Linear(n_hid, n_hid)
            self.key = L.Linear(n_hid, n_hid)
            self.value = L.Linear(n_hid, n_hid)
            self.out = L.Linear(n_hid, n_hid)

    def split(self, x):
        b, n, _ = x.shape
        return F.transpose(F.reshape(x, (b, n, self.n_heads, self.d)), (0, 2, 1, 3))

    def forward(self, x, adj):
        b, n, f = x.shape
        q = self.split(F.relu(self.query(x, n_batch_axes=2)))
        k = self.split(F.relu(self.key(x, n_batch_axes=2)))
        v = self.split(F.relu(self.value(x, n_batch_axes=2)))
        att = F.matmul(q, k, transb=True) / self.d ** 0.5
        mask = F.broadcast_to(F.expand_dims(adj, 1), att.shape)
        att = F.softmax(att * mask - 1e6 * (1 - mask), axis=3)
        h = F.matmul(att, v)
        h = F.reshape(F.transpose(h, (0, 2, 1, 3)), (b, n, f))
        return F.relu(self.out(h, n_batch_axes=2))


class DGN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.enc1 = L.Linear(OBS, 32)
            self.enc2 = L.Linear(32, HID)
            self.conv1 = RelationKernel(HID, HEADS)
            self.conv2 = RelationKernel(HID, HEADS)
            self.q = L.Linear(3 * HID, ACTIONS)

    def forward(self, obs, adj):
        h0 = F.relu(self.enc1(obs, n_batch_axes=2))
        h0 = F.relu(self.enc2(h0, n_batch_axes=2))
        h1 = self.conv1(h0, adj)
        h2 = self.conv2(h1, adj)
        return self.q(F.concat((h0, h1, h2), axis=2), n_batch_axes=2)


def make(seed=0):
    rng = np.random.RandomState(seed)
    model = DGN()
    for p in sorted(model.namedparams(), key=lambda kv: kv[0]):
        a = p[1].array
        scale = 1.4 / a.shape[1] ** 0.5 if a.ndim == 2 else 0.2
        a[...] = rng.randn(*a.shape) * scale
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    adj = (rng.rand(6, N, N) < 0.45).astype("f")      # directed: who hears whom
    adj = np.maximum(adj, np.eye(N, dtype="f"))
    return rng.randn(6, N, OBS).astype("f"), adj
