"""The recommender in Chainer."""
import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np

FRAMEWORK = "chainer"
U, I, E, N = 20, 15, 8, 5
X = 2 * E + N


class CRecommender(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.user, self.item = CL.EmbedID(U, E), CL.EmbedID(I, E)
            self.user_bias, self.item_bias = CL.EmbedID(U, 1), CL.EmbedID(I, 1)
            self.mu = chainer.Parameter(np.float32(0), ())
            self.bn = CL.BatchNormalization(N, eps=1e-5)
            self.cross0, self.cross1 = CL.Linear(X, X), CL.Linear(X, X)
            self.d1, self.d2 = CL.Linear(X, 24), CL.Linear(24, 10)
            self.head = CL.Linear(X + 10, 1)

    def forward(self, user, item, dense):
        u, i = self.user(user), self.item(item)
        dot = CF.sum(u * i, axis=1)
        bias = self.item_bias(item)
        mf = dot + self.user_bias(user)[:, 0] + bias[:, 0]
        mf = mf + CF.broadcast_to(self.mu, mf.shape)
        d = CF.log1p(dense)
        x0 = CF.concat([u, i, self.bn(d)], axis=1)
        x = x0
        for layer in (self.cross0, self.cross1):
            x = x0 * layer(x) + x
        deep = CF.relu(self.d2(CF.relu(self.d1(x0))))
        h = CF.concat([x, deep], axis=1)
        s = CF.sigmoid(self.head(h)[:, 0] + mf)
        return {"rating": 1 + 4 * s, "mf": mf}


def make():
    return CRecommender()


def load(k, t):
    n = lambda p: p.detach().numpy()
    for e in ("user", "item", "user_bias", "item_bias"):
        getattr(k, e).W.array[...] = n(getattr(t, e).weight)
    k.mu.array = n(t.mu).copy()
    k.bn.gamma.array[...], k.bn.beta.array[...] = n(t.bn.weight), n(t.bn.bias)
    k.bn.avg_mean[...], k.bn.avg_var[...] = t.bn.running_mean.numpy(), t.bn.running_var.numpy()
    for a, b in zip((*t.cross, t.deep[0], t.deep[2], t.head), (k.cross0, k.cross1, k.d1, k.d2, k.head)):
        b.W.array[...], b.b.array[...] = n(a.weight), n(a.bias)
