import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
VS, VT, PAD, D, H, K = 15, 13, 0, 8, 12, 3
SCALE05 = 0.5 ** 0.5


def seq_linear(link, x):
    """A Linear over the last axis of (B, T, C)."""
    return link(x, n_batch_axes=2)


def glu(h):
    a, b = F.split_axis(h, 2, axis=1)
    return a * F.sigmoid(b)


class Embed(chainer.Chain):
    def __init__(self, vocab):
        super().__init__()
        with self.init_scope():
            self.word = L.EmbedID(vocab, D)
            self.position = L.EmbedID(20, D)

    def forward(self, ids):
        pos = np.arange(ids.shape[1], dtype=np.int32)[None]
        w = self.word(ids)
        return w + F.broadcast_to(self.position(pos), w.shape)


class Encoder(chainer.Chain):
    def __init__(self, layers=2):
        super().__init__()
        with self.init_scope():
            self.embed = Embed(VS)
            self.proj_in = L.Linear(D, H)
            self.convs = chainer.ChainList(*[L.Convolution1D(H, 2 * H, K, pad=K // 2) for _ in range(layers)])
            self.proj_out = L.Linear(H, D)

    def forward(self, src, keep):
        e = self.embed(src)
        h = F.transpose(seq_linear(self.proj_in, e), (0, 2, 1))
        for conv in self.convs:
            m = F.broadcast_to(keep[:, None, :], h.shape)
            h = (h + glu(conv(h * m))) * SCALE05
        out = seq_linear(self.proj_out, F.transpose(h, (0, 2, 1)))
        return out, (out + e) * SCALE05


class Attention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.query = L.Linear(H, D)
            self.context = L.Linear(D, H)

    def forward(self, h, e, keys, values, keep):
        q = (seq_linear(self.query, h) + e) * SCALE05
        score = F.matmul(q, keys, transb=True)
        valid = np.broadcast_to(keep[:, None, :] > 0, score.shape)
        score = F.where(valid, score, np.full(score.shape, -1e9, "f"))
        a = F.softmax(score, axis=2)
        c = F.matmul(a, values)
        n = keep.sum(axis=1).astype("f")
        c = c * np.sqrt(n)[:, None, None]
        return (h + seq_linear(self.context, c)) * SCALE05


class Decoder(chainer.Chain):
    def __init__(self, layers=2):
        super().__init__()
        with self.init_scope():
            self.embed = Embed(VT)
            self.proj_in = L.Linear(D, H)
            self.convs = chainer.ChainList(*[L.Convolution1D(H, 2 * H, K, pad=K - 1) for _ in range(layers)])
            self.attns = chainer.ChainList(*[Attention() for _ in range(layers)])
            self.proj_out = L.Linear(H, D)
            self.vocab = L.Linear(D, VT)

    def forward(self, tgt, keys, values, keep):
        length = tgt.shape[1]
        e = self.embed(tgt)
        x = seq_linear(self.proj_in, e)
        for conv, attn in zip(self.convs, self.attns):
            h = conv(F.transpose(x, (0, 2, 1)))
            h = h[:, :, :length]
            h = F.transpose(glu(h), (0, 2, 1))
            h = attn(h, e, keys, values, keep)
            x = (x + h) * SCALE05
        return F.log_softmax(seq_linear(self.vocab, seq_linear(self.proj_out, x)), axis=2)


class ConvS2S(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder()
            self.decoder = Decoder()

    def forward(self, src, tgt):
        ids = src.array if isinstance(src, chainer.Variable) else src
        keep = (ids != PAD).astype("f")
        keys, values = self.encoder(src, keep)
        return self.decoder(tgt, keys, values, keep)


def make():
    m = ConvS2S()
    r = np.random.RandomState(8)
    for _, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * 0.3
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    src = r.randint(1, VS, (4, 7)).astype("int64")
    for i, n in enumerate((7, 5, 6, 4)):
        src[i, n:] = PAD
    return src, r.randint(1, VT, (4, 6)).astype("int64")


def load(ported, original):
    def n(p):
        return p.detach().numpy()

    def wb(a, b):
        a.W.array[...] = n(b.weight)
        a.b.array[...] = n(b.bias)

    def emb(a, b):
        a.word.W.array[...] = n(b.tok.weight)
        a.position.W.array[...] = n(b.pos.weight)

    e, f = ported.encoder, original.encoder
    emb(e.embed, f.embed)
    wb(e.proj_in, f.fc1)
    wb(e.proj_out, f.fc2)
    for a, b in zip(e.convs, f.convs):
        wb(a, b)
    e, f = ported.decoder, original.decoder
    emb(e.embed, f.embed)
    wb(e.proj_in, f.fc1)
    wb(e.proj_out, f.fc2)
    wb(e.vocab, f.fc3)
    for a, b in zip(e.convs, f.convs):
        wb(a, b)
    for a, b in zip(e.attns, f.attn):
        wb(a.query, b.in_proj)
        wb(a.context, b.out_proj)
