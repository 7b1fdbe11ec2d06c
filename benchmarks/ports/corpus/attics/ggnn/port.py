"""GGNN, Chainer version: one big linear map for all edge types, the GRU written out."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class GatedUpdate(chainer.Chain):
    def __init__(self, n_in, n_units):
        super().__init__()
        self.n_units = n_units
        with self.init_scope():
            self.W_r, self.W_z, self.W = (L.Linear(n_in, n_units) for _ in range(3))
            self.U_r, self.U_z, self.U = (L.Linear(n_units, n_units) for _ in range(3))

    def forward(self, m, h):
        r = F.sigmoid(self.W_r(m) + self.U_r(h))
        z = F.sigmoid(self.W_z(m) + self.U_z(h))
        cand = F.tanh(self.W(m) + r * self.U(h))
        return (1 - z) * cand + z * h


class GGNN(chainer.Chain):
    def __init__(self, n_annot=5, n_units=12, n_edges=3, n_steps=4, n_out=6):
        super().__init__()
        self.n_units, self.n_edges, self.n_steps = n_units, n_edges, n_steps
        with self.init_scope():
            self.fwd = L.Linear(n_units, n_edges * n_units)
            self.bwd = L.Linear(n_units, n_edges * n_units)
            self.update = GatedUpdate(2 * n_units, n_units)
            self.i_net = L.Linear(n_units + n_annot, n_units)
            self.j_net = L.Linear(n_units + n_annot, n_units)
            self.out = L.Linear(n_units, n_out)

    def messages(self, link, h, adj):
        b, n, d = h.shape
        m = link(h, n_batch_axes=2)
        m = F.transpose(F.reshape(m, (b, n, self.n_edges, d)), (0, 2, 1, 3))
        return F.sum(F.matmul(adj, m), axis=1)

    def readout(self, h, x, mask):
        hx = F.concat((h, x), axis=2)
        i = F.sigmoid(self.i_net(hx, n_batch_axes=2))
        j = F.tanh(self.j_net(hx, n_batch_axes=2))
        return F.tanh(F.sum(i * j * mask, axis=1))

    def forward(self, x, adj, mask):
        x, adj = chainer.as_variable(x), chainer.as_variable(adj)
        b, n, a = x.shape
        mask = F.broadcast_to(F.expand_dims(chainer.as_variable(mask), 2), (b, n, self.n_units))
        zeros = self.xp.zeros((b, n, self.n_units - a), dtype=np.float32)
        h = F.concat((x, zeros), axis=2)
        adj_t = F.transpose(adj, (0, 1, 3, 2))
        for _ in range(self.n_steps):
            a_in = self.messages(self.fwd, h, adj)
            a_out = self.messages(self.bwd, h, adj_t)
            m = F.reshape(F.concat((a_in, a_out), axis=2), (b * n, -1))
            flat = self.update(m, F.reshape(h, (b * n, self.n_units)))
            h = F.reshape(flat, (b, n, self.n_units)) * mask
        return self.out(self.readout(h, x, mask))


def make(seed=14):
    model = GGNN()
    r = np.random.RandomState(seed)
    for p in model.params():
        p.array[...] = (r.randn(*p.shape) * (0.3 if p.ndim > 1 else 0.2)).astype("f")
    return model


def inputs(seed):
    r = np.random.default_rng(seed)
    b, n, e = 5, 8, 3
    size = r.integers(5, n + 1, b)
    mask = (np.arange(n)[None] < size[:, None]).astype("float32")
    adj = (r.random((b, e, n, n)) < 0.18) * mask[:, None, :, None] * mask[:, None, None, :]
    annot = np.eye(5)[r.integers(0, 5, (b, n))] * mask[..., None]
    return annot.astype("float32"), adj.astype("float32"), mask


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def put(link, w, b):
        link.W.array[...] = w
        link.b.array[...] = b

    for link, name in ((ported.fwd, "msg_in"), (ported.bwd, "msg_out")):
        put(link, *(np.concatenate([sd[f"{name}.{e}.{s}"] for e in range(3)]) for s in ("weight", "bias")))
    for side, c in (("ih", "W"), ("hh", "U")):
        ws, bs = np.split(sd[f"gru.weight_{side}"], 3), np.split(sd[f"gru.bias_{side}"], 3)
        for suffix, w, b in zip(("_r", "_z", ""), ws, bs):
            put(getattr(ported.update, c + suffix), w, b)
    for link, name in ((ported.i_net, "gate"), (ported.j_net, "value"), (ported.out, "cls")):
        put(link, sd[name + ".weight"], sd[name + ".bias"])
