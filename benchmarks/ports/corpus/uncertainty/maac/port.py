"""MAAC's critic in Chainer: all heads at once, agents along an axis, the diagonal masked."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS = (6, 6, 8)
ACTS = (3, 3, 5)
HIDDEN, HEADS = 24, 3
SLOPE = 0.01


class Head(chainer.Chain):
    def __init__(self, n_actions):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(2 * HIDDEN, HIDDEN)
            self.l2 = L.Linear(HIDDEN, n_actions)

    def __call__(self, x):
        return self.l2(F.leaky_relu(self.l1(x), SLOPE))


class AttentionCritic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.sa = chainer.ChainList(*[L.Linear(s + a, HIDDEN) for s, a in zip(OBS, ACTS)])
            self.s = chainer.ChainList(*[L.Linear(s, HIDDEN) for s in OBS])
            self.heads = chainer.ChainList(*[Head(a) for a in ACTS])
            self.key = L.Linear(HIDDEN, HIDDEN, nobias=True)
            self.query = L.Linear(HIDDEN, HIDDEN, nobias=True)
            self.value = L.Linear(HIDDEN, HIDDEN)

    def split_heads(self, x, batch):
        """(batch * agents, hidden) to (batch, heads, agents, depth)"""
        x = F.reshape(x, (batch, len(OBS), HEADS, HIDDEN // HEADS))
        return F.transpose(x, (0, 2, 1, 3))

    def attend(self, queries, keys, values):
        batch, agents = queries.shape[:2]
        flat = (batch * agents, HIDDEN)
        q = self.split_heads(self.query(F.reshape(queries, flat)), batch)
        k = self.split_heads(self.key(F.reshape(keys, flat)), batch)
        v = self.split_heads(F.leaky_relu(self.value(F.reshape(values, flat)), SLOPE), batch)
        logits = F.matmul(q, k, transb=True)
        scaled = logits / np.sqrt(HIDDEN // HEADS).astype("f")
        others = np.broadcast_to(~np.eye(agents, dtype=bool), logits.shape)
        masked = F.where(others, scaled, np.full(logits.shape, -1e9, "f"))
        weights = F.softmax(masked, axis=-1)
        read = F.transpose(F.matmul(weights, v), (0, 2, 1, 3))
        squares = F.where(others, logits**2, np.zeros(logits.shape, "f"))
        penalty = 1e-3 * F.sum(squares) / (batch * (agents - 1))
        return F.reshape(read, (batch, agents, HIDDEN)), penalty

    def __call__(self, obs0, obs1, obs2, act0, act1, act2):
        obs = [obs0, obs1, obs2]
        actions = [np.eye(n, dtype="f")[a] for n, a in zip(ACTS, (act0, act1, act2))]
        s = [F.leaky_relu(link(o), SLOPE) for link, o in zip(self.s, obs)]
        sa = [
            F.leaky_relu(link(F.concat((o, a), axis=1)), SLOPE)
            for link, o, a in zip(self.sa, obs, actions)
        ]
        sa = F.stack(sa, axis=1)
        read, penalty = self.attend(F.stack(s, axis=1), sa, sa)
        outputs = []
        for i, head in enumerate(self.heads):
            q_all = head(F.concat((s[i], read[:, i]), axis=1))
            q = F.sum(q_all * actions[i], axis=1, keepdims=True)
            outputs += [q, q - F.mean(q_all, axis=1, keepdims=True)]
        return (*outputs, penalty)


def make():
    np.random.seed(0)
    return AttentionCritic()


def load(model, reference):
    def put(link, *linears):
        link.W.array[...] = np.concatenate([x.weight.detach().numpy() for x in linears])
        if link.b is not None:
            link.b.array[...] = np.concatenate([x.bias.detach().numpy() for x in linears])

    for i in range(len(OBS)):
        put(model.sa[i], reference.encoders[i][0])
        put(model.s[i], reference.state_encoders[i][0])
        put(model.heads[i].l1, reference.critics[i][0])
        put(model.heads[i].l2, reference.critics[i][2])
    put(model.key, *reference.keys)
    put(model.query, *reference.selectors)
    put(model.value, *[v[0] for v in reference.values])
