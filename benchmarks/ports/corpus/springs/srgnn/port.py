"""SR-GNN in Chainer."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_ITEMS, NODES, SEQ = 12, 5, 7


class GatedGraphCell(chainer.Chain):
    def __init__(self, h):
        super().__init__()
        with self.init_scope():
            self.edge_in = L.Linear(h, h)
            self.edge_out = L.Linear(h, h)
            self.b_in = chainer.Parameter(0.0, (h,))
            self.b_out = chainer.Parameter(0.0, (h,))
            self.wx = L.Linear(2 * h, 3 * h)
            self.wh = L.Linear(h, 3 * h)

    def aggregate(self, adj, h, edge, bias):
        m = F.matmul(adj, edge(h, n_batch_axes=2))
        return m + F.broadcast_to(bias, m.shape)

    def forward(self, A, h):
        n = A.shape[1]
        a_in, a_out = A[:, :, :n], A[:, :, n:]
        m = F.concat([self.aggregate(a_in, h, self.edge_in, self.b_in),
                      self.aggregate(a_out, h, self.edge_out, self.b_out)], axis=2)
        xr, xz, xn = F.split_axis(self.wx(m, n_batch_axes=2), 3, axis=2)
        hr, hz, hn = F.split_axis(self.wh(h, n_batch_axes=2), 3, axis=2)
        r = F.sigmoid(xr + hr)
        z = F.sigmoid(xz + hz)
        n_ = F.tanh(xn + r * hn)
        return (1 - z) * n_ + z * h


class SRGNN(chainer.Chain):
    def __init__(self, h=8, steps=2):
        super().__init__()
        self.steps = steps
        with self.init_scope():
            self.embed = L.EmbedID(N_ITEMS, h)
            self.cell = GatedGraphCell(h)
            self.l1 = L.Linear(h, h)
            self.l2 = L.Linear(h, h)
            self.l3 = L.Linear(h, 1, nobias=True)
            self.l4 = L.Linear(2 * h, h)

    def readout(self, seq, mask):
        rows = np.arange(seq.shape[0])
        ht = seq[rows, mask.sum(axis=1).astype("i") - 1]
        q = self.l2(seq, n_batch_axes=2)
        q = q + F.broadcast_to(F.expand_dims(self.l1(ht), 1), q.shape)
        alpha = self.l3(F.sigmoid(q), n_batch_axes=2)
        alpha = alpha * mask[:, :, None]
        s = F.sum(F.broadcast_to(alpha, seq.shape) * seq, axis=1)
        return self.l4(F.concat([s, ht], axis=1))

    def forward(self, items, A, alias, mask):
        h = self.embed(items)
        for _ in range(self.steps):
            h = self.cell(A, h)
        seq = h[np.arange(h.shape[0])[:, None], alias]
        return F.matmul(self.readout(seq, mask), self.embed.W[1:], transb=True)


def make():
    r = np.random.RandomState(9)
    m = SRGNN()
    for p in m.params():
        p.array[...] = r.normal(0, 0.5, p.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    items = r.randint(1, N_ITEMS, (6, NODES)).astype("i")
    A = r.rand(6, NODES, 2 * NODES).astype("float32") * (r.rand(6, NODES, 2 * NODES) < 0.6)
    alias = r.randint(0, NODES, (6, SEQ)).astype("i")
    lens = np.array([7, 4, 5, 3, 6, 2])
    mask = (np.arange(SEQ)[None] < lens[:, None]).astype("float32")
    return items, A.astype("float32"), alias, mask


def load(ported, original):
    s = {k: v.numpy() for k, v in original.state_dict().items()}
    c = ported.cell
    pairs = [(ported.embed.W, "embedding.weight"), (c.b_in, "gnn.b_iah"), (c.b_out, "gnn.b_oah"),
             (c.wx.W, "gnn.w_ih"), (c.wx.b, "gnn.b_ih"), (c.wh.W, "gnn.w_hh"), (c.wh.b, "gnn.b_hh"),
             (ported.l3.W, "linear_three.weight")]
    for l, n in ((c.edge_in, "gnn.linear_edge_in"), (c.edge_out, "gnn.linear_edge_out"),
                 (ported.l1, "linear_one"), (ported.l2, "linear_two"), (ported.l4, "linear_transform")):
        pairs += [(l.W, n + ".weight"), (l.b, n + ".bias")]
    for p, n in pairs:
        p.array[...] = s[n]
