"""XLNet two-stream attention in Keras."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
VOCAB, D, HEADS, DH, FF, LAYERS = 14, 12, 2, 6, 20, 2
B, L, TGT = 4, 7, 3


def position_code(n):
    inv = 1.0 / 10000 ** (np.arange(0, D, 2) / D)
    ang = np.arange(n, -n, -1)[:, None] * inv[None]
    return ops.convert_to_tensor(np.concatenate([np.sin(ang), np.cos(ang)], -1).astype("float32"))


def relative_shift(x):
    b, n, q, r = x.shape
    x = ops.reshape(x, (-1, n, r, q))
    x = ops.reshape(x[:, :, 1:], (-1, n, q, r - 1))
    return x[..., :q]


class TwoStreamAttention(layers.Layer):
    def build(self, *_):
        def w(name, *shape):
            return self.add_weight(name=name, shape=shape, initializer="random_normal")

        self.wq, self.wk, self.wv = w("q", D, HEADS, DH), w("k", D, HEADS, DH), w("v", D, HEADS, DH)
        self.wo, self.wr = w("o", D, HEADS, DH), w("r", D, HEADS, DH)
        self.b_content, self.b_pos = w("b_content", HEADS, DH), w("b_pos", HEADS, DH)
        self.b_seg, self.seg = w("b_seg", HEADS, DH), w("seg", 2, HEADS, DH)

    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization(epsilon=1e-12)

    def attend(self, q, k, v, kr, differs, mask):
        content = ops.einsum("bind,bjnd->bnij", q + self.b_content, k)
        position = ops.einsum("bind,jnd->bnij", q + self.b_pos, kr)
        position = relative_shift(position)
        seg = ops.einsum("bind,snd->bnis", q + self.b_seg, self.seg)
        segment = ops.where(differs[:, None], seg[..., 1:2], seg[..., 0:1])
        logits = (content + position + segment) / np.sqrt(DH).astype("float32")
        logits = logits - 65500.0 * mask[:, None]
        return ops.einsum("bnij,bjnd->bind", ops.softmax(logits, -1), v)

    def finish(self, x, vec):
        return self.norm(x + ops.einsum("bind,hnd->bih", vec, self.wo))

    def call(self, h, g, mask_h, mask_g, pos, differs, target):
        k = ops.einsum("bih,hnd->bind", h, self.wk)
        v = ops.einsum("bih,hnd->bind", h, self.wv)
        kr = ops.einsum("jh,hnd->jnd", pos, self.wr)
        qh = ops.einsum("bih,hnd->bind", h, self.wq)
        qg = ops.einsum("bmh,hnd->bmnd", g, self.wq)
        qg = ops.einsum("bmnd,bml->blnd", qg, target)
        vh = self.attend(qh, k, v, kr, differs, mask_h)
        vg = self.attend(qg, k, v, kr, differs, mask_g)
        vg = ops.einsum("blnd,bml->bmnd", vg, target)
        return self.finish(h, vh), self.finish(g, vg)


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attn = TwoStreamAttention()
        self.fc1 = layers.Dense(FF)
        self.fc2 = layers.Dense(D)
        self.norm = layers.LayerNormalization(epsilon=1e-12)

    def ff(self, x):
        return self.norm(x + self.fc2(ops.gelu(self.fc1(x), approximate=False)))

    def call(self, h, g, *rest):
        h, g = self.attn(h, g, *rest)
        return self.ff(h), self.ff(g)


class XLNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, D)
        self.mask_emb = self.add_weight(name="mask_emb", shape=(1, 1, D))
        self.blocks = [Block() for _ in range(LAYERS)]
        self.out_bias = self.add_weight(name="out_bias", shape=(VOCAB,))

    def call(self, ids, perm, target, seg):
        n = ids.shape[1]
        mask_h = perm * (1.0 - ops.eye(n))
        differs = ops.not_equal(seg[:, :, None], seg[:, None, :])
        h = self.embed(ids)
        g = ops.tile(self.mask_emb, (ids.shape[0], target.shape[1], 1))
        pos = position_code(n)
        for blk in self.blocks:
            h, g = blk(h, g, mask_h, perm, pos, differs, target)
        logits = ops.matmul(g, ops.transpose(self.embed.embeddings)) + self.out_bias
        return logits, h


def make():
    keras.utils.set_random_seed(2)
    m = XLNet()
    m(*inputs(0))
    r = np.random.RandomState(2)
    for v in m.weights:
        v.assign(r.normal(1.0 if "gamma" in v.path else 0.0, 0.35, v.shape))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = r.randint(0, VOCAB, (B, L)).astype("int64")
    perm = np.zeros((B, L, L), "float32")
    target = np.zeros((B, TGT, L), "float32")
    for b in range(B):
        order = r.permutation(L)
        rank = np.argsort(order)
        perm[b] = (rank[None, :] >= rank[:, None])
        perm[b][:, order[0]] = 0.0
        for t in range(TGT):
            target[b, t, order[L - TGT + t]] = 1.0
    seg = (np.arange(L)[None] >= np.array([[3], [4], [2], [5]])).astype("int64")
    return ids, perm, target, seg


def load(ported, original):
    s = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.embed.set_weights([s["word_embedding.weight"]])
    ported.mask_emb.assign(s["mask_emb"])
    ported.out_bias.assign(s["lm_bias"])
    for i, b in enumerate(ported.blocks):
        p = "layer.%d.rel_attn." % i
        a = b.attn
        for v, n in ((a.wq, "q"), (a.wk, "k"), (a.wv, "v"), (a.wo, "o"), (a.wr, "r"),
                     (a.b_content, "r_w_bias"), (a.b_pos, "r_r_bias"), (a.b_seg, "r_s_bias"),
                     (a.seg, "seg_embed")):
            v.assign(s[p + n])
        a.norm.set_weights([s[p + "layer_norm.weight"], s[p + "layer_norm.bias"]])
        p = "layer.%d.ff." % i
        b.fc1.set_weights([s[p + "layer_1.weight"].T, s[p + "layer_1.bias"]])
        b.fc2.set_weights([s[p + "layer_2.weight"].T, s[p + "layer_2.bias"]])
        b.norm.set_weights([s[p + "layer_norm.weight"], s[p + "layer_norm.bias"]])
