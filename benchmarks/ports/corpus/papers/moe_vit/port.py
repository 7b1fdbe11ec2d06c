"""V-MoE in Keras 3: dense dispatch, experts stacked in one tensor."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class MoE(layers.Layer):
    def __init__(self, dim, hidden, experts=4, k=2, **kw):
        super().__init__(**kw)
        self.n, self.k = experts, k
        self.router = layers.Dense(experts)
        self.w1 = self.add_weight(shape=(experts, dim, hidden), name="w1")
        self.b1 = self.add_weight(shape=(experts, hidden), name="b1")
        self.w2 = self.add_weight(shape=(experts, hidden, dim), name="w2")
        self.b2 = self.add_weight(shape=(experts, dim), name="b2")

    def call(self, x):
        logits = self.router(x)
        values, index = ops.top_k(logits, self.k)
        weights = ops.softmax(values, axis=-1)
        choice = ops.one_hot(index, self.n)
        combine = ops.sum(choice * weights[..., None], axis=-2)
        h = ops.einsum("btd,edf->btef", x, self.w1) + self.b1
        h = ops.gelu(h, approximate=False)
        y = ops.einsum("btef,efd->bted", h, self.w2) + self.b2
        out = ops.einsum("bte,bted->btd", combine, y)
        importance = ops.mean(ops.softmax(logits, axis=-1), axis=(0, 1))
        fraction = ops.mean(choice[:, :, 0], axis=(0, 1))
        return out, self.n * ops.sum(fraction * importance)


class EncoderBlock(layers.Layer):
    def __init__(self, dim, heads, hidden, **kw):
        super().__init__(**kw)
        self.n1 = layers.LayerNormalization(epsilon=1e-5)
        self.n2 = layers.LayerNormalization(epsilon=1e-5)
        self.mha = layers.MultiHeadAttention(heads, dim // heads)
        self.moe = MoE(dim, hidden)

    def call(self, x):
        y = self.n1(x)
        x = x + self.mha(y, y)
        y, aux = self.moe(self.n2(x))
        return x + y, aux


class VMoE(keras.Model):
    def __init__(self, size=12, patch=4, dim=16, heads=2, depth=2, classes=6):
        super().__init__()
        self.patch, self.side = patch, size // patch
        self.embed = layers.Dense(dim)
        self.cls = self.add_weight(shape=(1, 1, dim), name="cls")
        self.pos = self.add_weight(shape=(1, self.side ** 2 + 1, dim), name="pos")
        self.encoder = [EncoderBlock(dim, heads, 24) for _ in range(depth)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.head = layers.Dense(classes)

    def patchify(self, images):
        b, s, p = images.shape[0], self.side, self.patch
        x = ops.reshape(images, (b, s, p, s, p, 3))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (b, s * s, p * p * 3))

    def call(self, images):
        x = self.embed(self.patchify(images))
        cls = ops.repeat(self.cls, x.shape[0], axis=0)
        x = ops.concatenate([cls, x], axis=1) + self.pos
        losses = []
        for block in self.encoder:
            x, aux = block(x)
            losses.append(aux)
        x = self.norm(x[:, 0])
        return self.head(x), ops.mean(ops.stack(losses))


def make():
    keras.utils.set_random_seed(6)
    model = VMoE()
    model(inputs(0)[0])
    return model


def _np(t):
    return t.detach().numpy()


def _attention(mha, src, heads=2):
    dim = src.embed_dim
    wq, wk, wv = np.split(_np(src.in_proj_weight), 3)
    bq, bk, bv = np.split(_np(src.in_proj_bias), 3)
    weights = []
    for w, b in ((wq, bq), (wk, bk), (wv, bv)):
        weights += [w.T.reshape(dim, heads, -1), b.reshape(heads, -1)]
    out = _np(src.out_proj.weight).T.reshape(heads, -1, dim)
    mha.set_weights(weights + [out, _np(src.out_proj.bias)])


def load(model, reference):
    kernel = _np(reference.patch_embed.weight).transpose(2, 3, 1, 0).reshape(-1, 16)
    model.embed.set_weights([kernel, _np(reference.patch_embed.bias)])
    model.cls.assign(_np(reference.cls))
    model.pos.assign(_np(reference.pos))
    for dst, src in zip(model.encoder, reference.blocks):
        dst.n1.set_weights([_np(src.ln1.weight), _np(src.ln1.bias)])
        dst.n2.set_weights([_np(src.ln2.weight), _np(src.ln2.bias)])
        _attention(dst.mha, src.attn)
        dst.moe.router.set_weights([_np(src.moe.router.weight).T, _np(src.moe.router.bias)])
        dst.moe.w1.assign(np.stack([_np(e[0].weight).T for e in src.moe.experts]))
        dst.moe.b1.assign(np.stack([_np(e[0].bias) for e in src.moe.experts]))
        dst.moe.w2.assign(np.stack([_np(e[2].weight).T for e in src.moe.experts]))
        dst.moe.b2.assign(np.stack([_np(e[2].bias) for e in src.moe.experts]))
    model.norm.set_weights([_np(reference.norm.weight), _np(reference.norm.bias)])
    model.head.set_weights([_np(reference.head.weight).T, _np(reference.head.bias)])


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 3, 12, 12)).astype(np.float32)
    return (np.ascontiguousarray(np.moveaxis(x, 1, -1)),)
