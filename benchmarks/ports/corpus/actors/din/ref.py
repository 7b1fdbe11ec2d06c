"""Deep Interest Network with a DCN cross tower and Dice activations (Chainer)."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
N_USER, N_ITEM, N_CATE, E, MAXLEN, N_DENSE = 20, 40, 9, 4, 7, 3


class Dice(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(n, use_gamma=False, use_beta=False)
            self.alpha = chainer.Parameter(np.zeros(n, "f"))

    def __call__(self, x):
        p = F.sigmoid(self.bn(x))
        return p * x + F.broadcast_to(self.alpha, x.shape) * (1.0 - p) * x


class AttentionUnit(chainer.Chain):
    def __init__(self, d):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4 * d, 12)
            self.act = Dice(12)
            self.l2 = L.Linear(12, 1)

    def __call__(self, query, keys):
        b, n, d = keys.shape
        q = F.broadcast_to(query[:, None, :], keys.shape)
        x = F.concat([q, keys, q - keys, q * keys], axis=2)
        h = self.act(self.l1(F.reshape(x, (b * n, 4 * d))))
        return F.reshape(self.l2(h), (b, n))


class DIN(chainer.Chain):
    def __init__(self, cross_layers=3):
        super().__init__()
        self.cross_layers = cross_layers
        d = E + 2 * E + 2 * E + N_DENSE
        with self.init_scope():
            self.user = L.EmbedID(N_USER, E)
            self.item = L.EmbedID(N_ITEM, E)
            self.cate = L.EmbedID(N_CATE, E)
            self.attention = AttentionUnit(2 * E)
            self.dense_bn = L.BatchNormalization(N_DENSE)
            self.cross_w = chainer.Parameter(np.zeros((cross_layers, d), "f"))
            self.cross_b = chainer.Parameter(np.zeros((cross_layers, d), "f"))
            self.fc1 = L.Linear(d, 16)
            self.dice1 = Dice(16)
            self.fc2 = L.Linear(16, 8)
            self.dice2 = Dice(8)
            self.out = L.Linear(d + 8, 1)

    def __call__(self, user, item, cate, hist_items, hist_cates, hist_len, dense):
        target = F.concat([self.item(item), self.cate(cate)], axis=1)
        hist = F.concat([self.item(hist_items), self.cate(hist_cates)], axis=2)
        scores = self.attention(target, hist)
        lens = hist_len.array if isinstance(hist_len, chainer.Variable) else hist_len
        mask = np.arange(MAXLEN)[None] < lens[:, None]
        scores = F.where(mask, scores, np.zeros(mask.shape, "f"))
        interest = F.squeeze(F.matmul(scores[:, None, :], hist), 1)
        x0 = F.concat([self.user(user), target, interest, self.dense_bn(dense)], axis=1)
        x = x0
        for i in range(self.cross_layers):
            s = F.matmul(x, self.cross_w[i][:, None])
            x = x0 * F.broadcast_to(s, x0.shape) + F.broadcast_to(self.cross_b[i], x0.shape) + x
        deep = self.dice2(self.fc2(self.dice1(self.fc1(x0))))
        logit = F.squeeze(self.out(F.concat([x, deep], axis=1)), 1)
        return {"scores": scores, "interest": interest, "logit": logit, "ctr": F.sigmoid(logit)}


def make():
    chainer.global_config.train = False
    m = DIN()
    g = np.random.RandomState(9)
    for name, p in sorted(m.namedparams()):
        z = g.randn(*p.shape)
        if name.split("/")[1] in ("user", "item", "cate"):
            p.array[...] = 0.7 * z
        elif p.ndim == 2:
            p.array[...] = z / np.sqrt(p.shape[1])
        elif name.endswith("gamma"):
            p.array[...] = 1 + 0.2 * z
        else:
            p.array[...] = 0.3 * z
    for _, link in sorted(m.namedlinks()):
        if isinstance(link, L.BatchNormalization):
            link.avg_mean[...] = 0.3 * g.randn(*link.avg_mean.shape)
            link.avg_var[...] = g.uniform(0.4, 1.8, link.avg_var.shape)
    return m


def inputs(seed):
    g = np.random.RandomState(seed)
    n = 6
    return {
        "user": g.randint(0, N_USER, n).astype(np.int32),
        "item": g.randint(0, N_ITEM, n).astype(np.int32),
        "cate": g.randint(0, N_CATE, n).astype(np.int32),
        "hist_items": g.randint(0, N_ITEM, (n, MAXLEN)).astype(np.int32),
        "hist_cates": g.randint(0, N_CATE, (n, MAXLEN)).astype(np.int32),
        "hist_len": np.array([3, 7, 1, 5, 4, 6], np.int32),
        "dense": g.randn(n, N_DENSE).astype(np.float32),
    }
