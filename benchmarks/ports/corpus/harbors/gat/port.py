"""GAT in Chainer: heads lie before the nodes, and products go through matmul."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
NODES, FEATURES, HEADS, DIM, CLASSES = 9, 8, 4, 6, 5


class GraphAttention(chainer.Chain):
    def __init__(self, n_in, concat=True):
        super().__init__()
        self.concat = concat
        with self.init_scope():
            self.w = L.Linear(n_in, HEADS * DIM, nobias=True)
            self.a_dst = chainer.Parameter(0, (HEADS, DIM, 1))
            self.a_src = chainer.Parameter(0, (HEADS, DIM, 1))
            self.b = chainer.Parameter(0, (HEADS * DIM if concat else DIM,))

    def logits(self, h, a):
        return F.matmul(h, F.broadcast_to(a, (len(h), HEADS, DIM, 1)))  # b h n 1

    def forward(self, x, adj):
        b, n = x.shape[:2]
        h = F.reshape(self.w(x, n_batch_axes=2), (b, n, HEADS, DIM)).transpose(0, 2, 1, 3)
        dst, src = self.logits(h, self.a_dst), self.logits(h, self.a_src)
        e = sum(F.broadcast(dst, src.transpose(0, 1, 3, 2)))
        e = F.leaky_relu(e, 0.2)
        keep = np.broadcast_to(adj[:, None] > 0, e.shape)
        e = F.where(keep, e, np.full(e.shape, -1e9, "f"))
        out = F.matmul(F.softmax(e, axis=3), h).transpose(0, 2, 1, 3)
        out = F.reshape(out, (b, n, HEADS * DIM)) if self.concat else F.mean(out, axis=2)
        return out + F.broadcast_to(self.b, out.shape)


class GAT(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.gat1 = GraphAttention(FEATURES)
            self.gat2 = GraphAttention(HEADS * DIM, concat=False)
            self.skip = L.Linear(FEATURES, DIM)
            self.out = L.Linear(DIM, CLASSES)

    def forward(self, x, adj, mask):
        h = F.elu(self.gat1(x, adj))
        h = F.elu(self.gat2(h, adj) + self.skip(x, n_batch_axes=2))
        kept = F.where(np.broadcast_to(mask[:, :, None] > 0, h.shape), h, np.zeros_like(h.array))
        count = mask.sum(axis=1, keepdims=True)
        pooled = F.sum(kept, axis=1) / F.broadcast_to(chainer.as_variable(count), (len(x), DIM))
        return self.out(pooled), h


def make(seed=0):
    net, rng = GAT(), np.random.default_rng(seed)
    for p in net.params():
        p.array[...] = rng.normal(0, 0.4, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, NODES, FEATURES))
    sizes = np.array([9, 6, 7, 5])
    present = np.arange(NODES) < sizes[:, None]
    edges = rng.random((4, NODES, NODES)) < 0.4
    edges = edges & present[:, None] & present[:, :, None] | np.eye(NODES, dtype=bool)
    return x.astype("float32"), edges.astype("float32"), present.astype("float32")


def load(ported, original):
    def put(param, tensor):
        param.array[...] = tensor.detach().numpy().reshape(param.shape)

    for mine, theirs in ((ported.gat1, original.first), (ported.gat2, original.second)):
        put(mine.w.W, theirs.project.weight), put(mine.b, theirs.bias)
        put(mine.a_dst, theirs.receiver), put(mine.a_src, theirs.sender)
    for mine, theirs in ((ported.skip, original.skip), (ported.out, original.classify)):
        put(mine.W, theirs.weight), put(mine.b, theirs.bias)
