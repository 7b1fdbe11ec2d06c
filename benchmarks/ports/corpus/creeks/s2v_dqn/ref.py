"""structure2vec Q-network for max-cut with a greedy rollout of a few steps."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, P, ROUNDS, STEPS = 6, 8, 3, 2


class S2V(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.th1 = L.Linear(2, P, nobias=True)
            self.th2 = L.Linear(P, P)
            self.th3 = L.Linear(P, P, nobias=True)
            self.th4 = L.Linear(1, P)
            self.th6 = L.Linear(P, P)
            self.th7 = L.Linear(P, P)
            self.th5 = L.Linear(2 * P, 1)

    def edge_term(self, w, adj):
        b = w.shape[0]
        e = F.relu(self.th4(F.reshape(w, (b, N, N, 1)), n_batch_axes=3))
        e = e * F.broadcast_to(F.expand_dims(adj, 3), e.shape)
        return self.th3(F.sum(e, axis=2), n_batch_axes=2)

    def embed(self, feats, adj, edge):
        base = self.th1(feats, n_batch_axes=2) + edge
        mu = F.relu(base)
        for _ in range(ROUNDS):
            msg = F.matmul(adj, mu)
            mu = F.relu(base + self.th2(msg, n_batch_axes=2))
        return mu

    def q_values(self, mu, tag):
        pooled = self.th6(F.sum(mu, axis=1))
        pooled = F.broadcast_to(F.expand_dims(pooled, 1), mu.shape)
        local = self.th7(mu, n_batch_axes=2)
        h = F.relu(F.concat([pooled, local], axis=2))
        q = F.squeeze(self.th5(h, n_batch_axes=2), axis=2)
        return q - 1e4 * tag

    def forward(self, w, degree):
        adj = (w > 0).astype("float32")
        edge = self.edge_term(w, adj)
        tag = self.xp.zeros(degree.shape, dtype="float32")
        qs, rewards = [], []
        for _ in range(STEPS):
            feats = F.stack([chainer.as_variable(tag), chainer.as_variable(degree)], axis=2)
            q = self.q_values(self.embed(feats, adj, edge), tag)
            qs.append(q * (1 - tag))
            pick = self.xp.eye(N, dtype="float32")[q.array.argmax(axis=1)]
            side = 1 - 2 * tag
            gain = F.sum(F.matmul(w, pick[:, :, None])[:, :, 0] * side, axis=1)
            rewards.append(gain)
            tag = tag + pick
        feats = F.stack([chainer.as_variable(tag), chainer.as_variable(degree)], axis=2)
        q = self.q_values(self.embed(feats, adj, edge), tag)
        target = rewards[-1] + 0.9 * F.max(q, axis=1)
        return F.stack(qs, axis=1), F.stack(rewards + [target], axis=1)


def make():
    m = S2V()
    r = np.random.RandomState(71)
    for _, p in sorted(m.namedparams()):
        a = r.randn(*p.shape)
        p.array[...] = a / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.3 * a
    m.th2.W.array[...] *= 0.4
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    w = np.triu(r.rand(4, N, N) * (r.rand(4, N, N) < 0.6), 1)
    w = (w + w.transpose(0, 2, 1)).astype("float32")
    return w, (w > 0).sum(2).astype("float32") / N
