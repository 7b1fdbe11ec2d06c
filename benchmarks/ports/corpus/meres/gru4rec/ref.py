"""GRU4Rec with BPR-max and TOP1-max losses over sampled negatives."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
ITEMS, T, NEG, E, H = 20, 4, 6, 8, 12
BPREG = 0.5


class GRU4Rec(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(ITEMS, E)
            self.ln = L.LayerNormalization(E)
            self.gru1 = L.StatelessGRU(E, H)
            self.gru2 = L.StatelessGRU(H, H)
            self.proj = L.Linear(H, E)
            self.out_bias = L.EmbedID(ITEMS, 1)

    def score(self, h, items):
        """h [B, T, E], items [B, T, K] -> [B, T, K], tied with the input embedding."""
        w = self.embed(items)
        b = F.reshape(self.out_bias(items), items.shape)
        return F.sum(F.broadcast_to(h[:, :, None, :], w.shape) * w, axis=-1) + b

    def forward(self, session, mask, candidates):
        B = session.shape[0]
        x = self.embed(session)
        x = F.reshape(self.ln(F.reshape(x, (B * T, E))), (B, T, E))
        h1 = chainer.Variable(self.xp.zeros((B, H), "f"))
        h2 = chainer.Variable(self.xp.zeros((B, H), "f"))
        outs = []
        for t in range(T):
            m = F.broadcast_to(mask[:, t:t + 1], (B, H))
            n1 = self.gru1(h1, x[:, t])
            n2 = self.gru2(h2, n1)
            h1 = m * n1 + (1 - m) * h1
            h2 = m * n2 + (1 - m) * h2
            outs.append(F.elu(self.proj(h2), alpha=0.5))
        out = F.stack(outs, axis=1)
        scores = self.score(out, candidates)
        pos = F.broadcast_to(scores[:, :, :1], (B, T, NEG))
        neg = scores[:, :, 1:]
        w = F.softmax(neg, axis=2)
        bpr = -F.log(F.sum(w * F.sigmoid(pos - neg), axis=2) + 1e-24)
        bpr = bpr + BPREG * F.sum(w * neg ** 2, axis=2)
        top1 = F.sum(w * (F.sigmoid(neg - pos) + F.sigmoid(neg ** 2)), axis=2)
        count = F.broadcast_to(F.sum(F.cast(mask, "f"), axis=1, keepdims=True), mask.shape)
        return scores, bpr * mask / count, top1 * mask / count, h2


def make():
    m = GRU4Rec()
    rng = np.random.RandomState(8)
    for name, p in sorted(m.namedparams()):
        r = rng.normal(size=p.shape)
        if "embed" in name:
            p.array[...] = r * 0.7
        elif p.ndim > 1 and p.shape[-1] > 1:
            p.array[...] = r * 1.4 / np.sqrt(p.shape[-1])
        else:
            p.array[...] = 1 + 0.3 * r if name.endswith("gamma") else 0.4 * r
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    session = rng.integers(0, ITEMS, size=(6, T)).astype("int32")
    mask = (np.arange(T)[None] >= rng.integers(0, T - 1, size=(6, 1))).astype("float32")
    cand = np.stack([rng.permutation(ITEMS)[:NEG + 1] for _ in range(6 * T)]).reshape(6, T, NEG + 1).astype("int32")
    return session, mask, cand
