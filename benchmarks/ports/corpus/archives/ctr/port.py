"""The DLRM with a DeepFM term in Chainer."""
import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
DENSE, DIM, FIELDS = 5, 6, (20, 15, 30)


def bag_of(table, ids, mode):
    e = table(ids)
    keep = (ids != 0).astype("float32")[:, :, None]
    total = CF.sum(e * keep, axis=1)
    if mode == "sum":
        return total
    return total / np.maximum(keep.sum(axis=1), 1.0)


class ChainerCTR(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bottom1, self.bottom2 = L.Linear(DENSE, 12), L.Linear(12, DIM)
            self.bags = chainer.ChainList(*[L.EmbedID(n, DIM) for n in FIELDS])
            self.first = chainer.ChainList(*[L.EmbedID(n, 1) for n in FIELDS])
            self.top1, self.top2 = L.Linear(DIM + 6, 10), L.Linear(10, 1)
            self.bias = chainer.Parameter(np.zeros(1, "float32"))

    def forward(self, dense, a, b, c):
        x = self.bottom2(CF.relu(self.bottom1(dense)))
        x = CF.relu(x)
        fields = [bag_of(t, i, "mean") for t, i in zip(self.bags, (a, b, c))]
        t = CF.stack([x] + fields, axis=1)
        gram = CF.matmul(t, t, transb=True)
        li, lj = np.tril_indices(t.shape[1], -1)
        inter = gram[:, li, lj]
        joined = CF.concat([x, inter], axis=1)
        deep = self.top2(CF.relu(self.top1(joined)))
        e = CF.stack(fields, axis=1)
        fm = CF.sum(CF.square(CF.sum(e, axis=1)) - CF.sum(CF.square(e), axis=1), axis=1, keepdims=True)
        fm = 0.5 * fm
        first = sum(bag_of(t, i, "sum") for t, i in zip(self.first, (a, b, c)))
        return CF.sigmoid(deep + fm + first + CF.broadcast_to(self.bias[None], deep.shape))


def make():
    return ChainerCTR()


def load(net, ref):
    for link, lin in ((net.bottom1, ref.bottom[0]), (net.bottom2, ref.bottom[2]), (net.top1, ref.top[0]), (net.top2, ref.top[2])):
        link.W.array[...] = lin.weight.detach().numpy()
        link.b.array[...] = lin.bias.detach().numpy()
    for ours, theirs in ((net.bags, ref.bags), (net.first, ref.first)):
        for o, t in zip(ours, theirs):
            o.W.array[...] = t.weight.detach().numpy()
    net.bias.array[...] = ref.bias.detach().numpy()
