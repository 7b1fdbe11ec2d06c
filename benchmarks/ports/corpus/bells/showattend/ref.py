"""Show, Attend and Tell captioning decoder (Xu et al. 2015) in Chainer."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
B, P, D, E, H, A, V, T = 4, 6, 8, 7, 10, 9, 15, 5


class Attention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.enc = L.Linear(D, A)
            self.dec = L.Linear(H, A, nobias=True)
            self.full = L.Linear(A, 1)

    def forward(self, feats, h):
        b, p, d = feats.shape
        e = self.enc(feats, n_batch_axes=2)
        s = F.broadcast_to(F.expand_dims(self.dec(h), 1), e.shape)
        score = F.squeeze(self.full(F.tanh(e + s), n_batch_axes=2), axis=2)
        alpha = F.softmax(score, axis=1)
        ctx = F.sum(feats * F.broadcast_to(F.expand_dims(alpha, 2), feats.shape), axis=1)
        return ctx, alpha


class Decoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(V, E)
            self.attention = Attention()
            self.init_h = L.Linear(D, H)
            self.init_c = L.Linear(D, H)
            self.f_beta = L.Linear(H, D)
            self.lstm = L.StatelessLSTM(E + D, H)
            self.l_h = L.Linear(H, E)
            self.l_z = L.Linear(D, E)
            self.l_o = L.Linear(E, V)

    def forward(self, feats, caption):
        mean = F.mean(feats, axis=1)
        h = F.tanh(self.init_h(mean))
        c = F.tanh(self.init_c(mean))
        words = self.embed(caption)
        logits, alphas = [], []
        for t in range(caption.shape[1]):
            y = words[:, t]
            ctx, alpha = self.attention(feats, h)
            gate = F.sigmoid(self.f_beta(h))
            ctx = gate * ctx
            c, h = self.lstm(c, h, F.concat([y, ctx], axis=1))
            out = F.tanh(y + self.l_h(h) + self.l_z(ctx))
            logits.append(self.l_o(out))
            alphas.append(alpha)
        return F.stack(logits, axis=1), F.stack(alphas, axis=1)


def make():
    chainer.global_config.train = False
    m = Decoder()
    r = np.random.RandomState(12)
    for _, p in sorted(m.namedparams()):
        if p.array is None:
            continue
        p.array[...] = 0.5 * r.randn(*p.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(B, P, D).astype("float32"), r.randint(0, V, (B, T)).astype("int32"))
