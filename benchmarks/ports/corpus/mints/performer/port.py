"""Performer in Chainer."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


def gelu(x):
    return 0.5 * x * (1.0 + F.erf(x * 2**-0.5))


def favor_features(x, omega, query, eps=1e-4):
    m, d = omega.shape
    x = x * d**-0.25
    u = F.einsum("bhtd,md->bhtm", x, omega)
    half_norm = 0.5 * F.sum(x * x, axis=-1, keepdims=True)
    shift = F.max(u, axis=-1 if query else (2, 3), keepdims=True)
    u = u - F.broadcast_to(half_norm, u.shape) - F.broadcast_to(shift, u.shape)
    return (F.exp(u) + eps) * m**-0.5


def causal_attention(q, k, v):
    b, h, t, m = k.shape
    e = v.shape[-1]
    normaliser = F.sum(q * (F.cumsum(k, axis=2) + 1e-6), axis=-1, keepdims=True)
    outer = F.broadcast_to(k[:, :, :, :, None], (b, h, t, m, e)) * F.broadcast_to(v[:, :, :, None], (b, h, t, m, e))
    memory = F.cumsum(outer, axis=2)
    read = F.einsum("bhtm,bhtme->bhte", q, memory)
    return read / F.broadcast_to(normaliser, read.shape)


class LayerNorm(L.LayerNormalization):
    def __init__(self, size):
        super().__init__(size, eps=1e-5)

    def forward(self, x):
        return F.reshape(super().forward(F.reshape(x, (-1, x.shape[-1]))), x.shape)


class FavorAttention(chainer.Chain):
    def __init__(self, dim, heads, features):
        super().__init__()
        self.heads = heads
        self.add_persistent("omega", np.random.randn(features, dim // heads).astype("float32"))
        with self.init_scope():
            self.qkv = L.Linear(dim, 3 * dim, nobias=True)
            self.out = L.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        h = F.reshape(self.qkv(x, n_batch_axes=2), (b, t, 3, self.heads, d // self.heads))
        q, k, v = (y[0] for y in F.split_axis(F.transpose(h, (2, 0, 3, 1, 4)), 3, axis=0))
        q = favor_features(q, self.omega, query=True)
        k = favor_features(k, self.omega, query=False)
        y = F.transpose(causal_attention(q, k, v), (0, 2, 1, 3))
        return self.out(F.reshape(y, (b, t, d)), n_batch_axes=2)


class Block(chainer.Chain):
    def __init__(self, dim, heads, features):
        super().__init__()
        with self.init_scope():
            self.ln_a, self.ln_f = LayerNorm(dim), LayerNorm(dim)
            self.attn = FavorAttention(dim, heads, features)
            self.up, self.down = L.Linear(dim, 2 * dim), L.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.attn(self.ln_a(x))
        h = gelu(self.up(self.ln_f(x), n_batch_axes=2))
        return x + self.down(h, n_batch_axes=2)


def position_code(length, dim):
    angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, dim, 2) / dim)
    code = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return code.reshape(length, dim).astype("float32")


class Performer(chainer.Chain):
    def __init__(self, vocab=20, dim=8, heads=2, features=6, depth=2):
        super().__init__()
        self.dim = dim
        with self.init_scope():
            self.embed = L.EmbedID(vocab, dim)
            self.blocks = chainer.ChainList(*[Block(dim, heads, features) for _ in range(depth)])
            self.ln = LayerNorm(dim)
            self.head = L.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + F.broadcast_to(chainer.as_variable(position_code(ids.shape[1], self.dim)), x.shape)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x), n_batch_axes=2)


def make():
    np.random.seed(6)
    net = Performer()
    for _, p in sorted(net.namedparams()):
        if p.ndim == 1:
            p.array[...] += np.random.randn(*p.shape) * 0.2
    return net


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, 20, size=(4, 9)).astype("int32"),)


def load(ported, original):
    def arr(t):
        return t.detach().numpy()

    def lin(c, t):
        c.W.array[...] = arr(t.weight)
        c.b.array[...] = arr(t.bias)

    def ln(c, t):
        c.gamma.array[...] = arr(t.weight)
        c.beta.array[...] = arr(t.bias)

    ported.embed.W.array[...] = arr(original.token_emb.weight)
    for c, t in zip(ported.blocks, original.blocks):
        ln(c.ln_a, t.norm1)
        ln(c.ln_f, t.norm2)
        c.attn.qkv.W.array[...] = np.concatenate([arr(f.weight) for f in (t.attn.to_q, t.attn.to_k, t.attn.to_v)])
        lin(c.attn.out, t.attn.to_out)
        c.attn.omega[...] = arr(t.attn.projection)
        lin(c.up, t.ff1)
        lin(c.down, t.ff2)
    ln(ported.ln, original.norm)
    lin(ported.head, original.to_logits)
