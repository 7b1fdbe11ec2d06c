"""CGCNN in Chainer."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
B, A, M, F0, FN, FA, HF, CONVS = 4, 6, 4, 7, 5, 8, 10, 2


class ConvLayer(chainer.Chain):
    def __init__(self, fa, fn):
        super().__init__()
        self.fa = fa
        with self.init_scope():
            self.fc_full = L.Linear(2 * fa + fn, 2 * fa)
            self.bn1 = L.BatchNormalization(2 * fa, eps=1e-5)
            self.bn2 = L.BatchNormalization(fa, eps=1e-5)

    def forward(self, atoms, edges, idx):
        n, m = idx.shape
        nbrs = F.embed_id(idx, atoms)
        centre = F.broadcast_to(F.expand_dims(atoms, 1), (n, m, self.fa))
        total = F.concat([centre, nbrs, edges], axis=2)
        gated = self.bn1(self.fc_full(F.reshape(total, (n * m, -1))))
        filt, core = F.split_axis(gated, 2, axis=1)
        msg = F.sigmoid(filt) * F.softplus(core)
        summed = F.sum(F.reshape(msg, (n, m, self.fa)), axis=1)
        summed = self.bn2(summed)
        return F.softplus(atoms + summed)


class CGCNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embedding = L.Linear(F0, FA)
            self.convs = chainer.ChainList(*[ConvLayer(FA, FN) for _ in range(CONVS)])
            self.conv_to_fc = L.Linear(FA, HF)
            self.fc_out = L.Linear(HF, 3)

    def forward(self, atom_fea, nbr_fea, nbr_idx, mask):
        b, a, m = nbr_idx.shape
        offset = (np.arange(b) * a)[:, None, None]
        idx = F.reshape(nbr_idx + offset, (b * a, m))
        x = self.embedding(F.reshape(atom_fea, (b * a, F0)))
        edges = F.reshape(nbr_fea, (b * a, m, FN))
        for conv in self.convs:
            x = conv(x, edges, idx)
        x = F.reshape(x, (b, a, FA))
        total = F.sum(x * F.broadcast_to(F.expand_dims(mask, 2), x.shape), axis=1)
        count = F.sum(F.cast(mask, "float32"), axis=1, keepdims=True)
        crys = total / F.broadcast_to(count, total.shape)
        hidden = F.softplus(self.conv_to_fc(F.softplus(crys)))
        return self.fc_out(hidden)


def make():
    chainer.global_config.train = False
    m = CGCNN()
    r = np.random.RandomState(5)
    for p in m.params():
        p.array[...] = 0.4 * r.randn(*p.shape)
    for k in m.links():
        if isinstance(k, L.BatchNormalization):
            k.gamma.array += 1
            k.avg_mean[...] = 0.3 * r.randn(*k.avg_mean.shape)
            k.avg_var[...] = 0.5 + r.rand(*k.avg_var.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.ones((B, A), "float32")
    sizes = [6, 4, 5, 3]
    idx = np.zeros((B, A, M), "int64")
    for i, s in enumerate(sizes):
        mask[i, s:] = 0
        idx[i] = r.randint(0, s, (A, M))
    return (r.randn(B, A, F0).astype("float32"), np.exp(-r.rand(B, A, M, FN) * 2).astype("float32"), idx, mask)


def load(p, o):
    n = lambda t: t.detach().numpy()

    def lin(a, b):
        a.W.array[...] = n(b.weight)
        a.b.array[...] = n(b.bias)

    def bn(a, b):
        a.gamma.array[...] = n(b.weight)
        a.beta.array[...] = n(b.bias)
        a.avg_mean[...] = n(b.running_mean)
        a.avg_var[...] = n(b.running_var)
    lin(p.embedding, o.embedding)
    lin(p.conv_to_fc, o.conv_to_fc)
    lin(p.fc_out, o.fc_out)
    for a, b in zip(p.convs, o.convs):
        lin(a.fc_full, b.fc_full)
        bn(a.bn1, b.bn1)
        bn(a.bn2, b.bn2)
