"""Conv-KNRM (Dai et al., 2018): n-gram soft matching with kernel pooling for ad-hoc search. Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
VOCAB, EMB, FILTERS, NGRAMS, QLEN, DLEN = 30, 12, 8, 2, 5, 9
MUS = [1.0, 0.7, 0.3, -0.1, -0.5]
SIGMAS = [0.001, 0.1, 0.1, 0.1, 0.1]


class ConvKNRM(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, EMB)
            self.convs = chainer.ChainList(*[L.Convolution1D(EMB, FILTERS, n) for n in range(1, NGRAMS + 1)])
            self.dense = L.Linear(NGRAMS * NGRAMS * len(MUS), 1)

    def ngrams(self, tokens, mask):
        x = self.embed(tokens)
        x = x * F.broadcast_to(mask[:, :, None], x.shape)
        x = F.transpose(x, (0, 2, 1))
        grams = []
        for n, conv in enumerate(self.convs):
            h = F.pad(x, ((0, 0), (0, 0), (0, n)), "constant")
            h = F.transpose(F.relu(conv(h)), (0, 2, 1))
            grams.append(F.normalize(h, eps=1e-9, axis=2))
        return grams

    def kernel_pool(self, sim, qmask, dmask):
        B, Q, D = sim.shape
        dmask = F.broadcast_to(dmask[:, None, :], sim.shape)
        feats = []
        for mu, sigma in zip(MUS, SIGMAS):
            k = F.exp(-0.5 * (sim - mu) ** 2 / sigma ** 2) * dmask
            soft_tf = F.sum(k, axis=2)
            log_tf = F.log(F.clip(soft_tf, 1e-10, 1e10)) * 0.01
            feats.append(F.sum(log_tf * qmask, axis=1))
        return feats

    def forward(self, query, doc):
        qmask = F.cast(query > 0, "float32")
        dmask = F.cast(doc > 0, "float32")
        qs = self.ngrams(query, qmask)
        ds = self.ngrams(doc, dmask)
        feats = []
        for q in qs:
            for d in ds:
                sim = F.matmul(q, d, transb=True)
                feats += self.kernel_pool(sim, qmask, dmask)
        phi = F.stack(feats, axis=1)
        return F.tanh(self.dense(phi)), phi


def make():
    chainer.global_config.train = False
    chainer.config.train = False
    model = ConvKNRM()
    rs = np.random.RandomState(13)
    for name, p in sorted(model.namedparams()):
        scale = 1.0 if "embed" in name else 0.3
        p.array[...] = rs.randn(*p.shape) * scale
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    q = rs.randint(1, VOCAB, (4, QLEN))
    d = rs.randint(1, VOCAB, (4, DLEN))
    d[:, 1] = q[:, 0]
    d[:, 4:6] = q[:, 1:3]
    q[0, 4:] = 0
    q[2, 3:] = 0
    d[1, 7:] = 0
    d[2, 6:] = 0
    return q.astype("int32"), d.astype("int32")
