"""XCiT in Keras, channels last."""
import math
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
HI, WI, D, HEADS, DEPTH, CLASSES = 16, 12, 16, 4, 2, 5


def fourier_grid(h, w, hidden=8):
    ys = np.arange(1, h + 1) / (h + 1e-6) * 2 * math.pi
    xs = np.arange(1, w + 1) / (w + 1e-6) * 2 * math.pi
    inv = 10000.0 ** (-2.0 * np.arange(hidden // 2) / hidden)
    enc = lambda p: np.stack([np.sin(p[:, None] * inv), np.cos(p[:, None] * inv)], -1).reshape(len(p), hidden)
    ey = np.repeat(enc(ys)[:, None], w, axis=1)
    ex = np.repeat(enc(xs)[None], h, axis=0)
    return np.concatenate([ey, ex], -1)[None].astype("float32")


class XCA(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.temperature = self.add_weight(shape=(HEADS, 1, 1), initializer="ones", name="temperature")
        self.qkv = layers.Dense(3 * D, name="qkv")
        self.proj = layers.Dense(D, name="proj")

    def call(self, x):
        n = x.shape[1]
        qkv = ops.reshape(self.qkv(x), (-1, n, 3, HEADS, D // HEADS))
        q, k, v = [qkv[:, :, i] for i in range(3)]             # B, N, h, d
        q = ops.normalize(q, axis=1, order=2, epsilon=1e-12)
        k = ops.normalize(k, axis=1, order=2, epsilon=1e-12)
        attn = ops.einsum("bnhd,bnhe->bhde", q, k) * self.temperature
        attn = ops.softmax(attn, axis=-1)
        out = ops.einsum("bhde,bnhe->bnhd", attn, v)
        return self.proj(ops.reshape(out, (-1, n, D)))


class LPI(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.conv1 = layers.DepthwiseConv2D(3, padding="same", name="conv1")
        self.bn = layers.BatchNormalization(epsilon=1e-5, name="bn")
        self.conv2 = layers.DepthwiseConv2D(3, padding="same", name="conv2")

    def call(self, x, h, w):
        x = ops.reshape(x, (-1, h, w, D))
        x = ops.gelu(self.conv1(x), approximate=False)
        x = self.conv2(self.bn(x, training=False))
        return ops.reshape(x, (-1, h * w, D))


class XCABlock(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        ln = lambda name: layers.LayerNormalization(epsilon=1e-5, name=name)
        self.ln1, self.ln2, self.ln3 = ln("ln1"), ln("ln2"), ln("ln3")
        self.xca, self.lpi = XCA(name="xca"), LPI(name="lpi")
        self.fc1, self.fc2 = layers.Dense(2 * D, name="fc1"), layers.Dense(D, name="fc2")
        self.scale_attn = self.add_weight(shape=(D,), initializer="ones", name="scale_attn")
        self.scale_mlp = self.add_weight(shape=(D,), initializer="ones", name="scale_mlp")
        self.scale_lpi = self.add_weight(shape=(D,), initializer="ones", name="scale_lpi")

    def call(self, x, h, w):
        x = x + self.scale_attn * self.xca(self.ln1(x))
        x = x + self.scale_lpi * self.lpi(self.ln3(x), h=h, w=w)
        y = ops.gelu(self.fc1(self.ln2(x)), approximate=False)
        return x + self.scale_mlp * self.fc2(y)


class ClassAttention(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.ln = layers.LayerNormalization(epsilon=1e-5, name="ln")
        self.qkv = layers.Dense(3 * D, name="qkv")
        self.proj = layers.Dense(D, name="proj")

    def call(self, x):
        n = x.shape[1]
        qkv = ops.reshape(self.qkv(self.ln(x)), (-1, n, 3, HEADS, D // HEADS))
        q, k, v = qkv[:, 0, 0], qkv[:, :, 1], qkv[:, :, 2]
        logits = ops.einsum("bhd,bnhd->bhn", q, k) / math.sqrt(D // HEADS)
        cls = ops.einsum("bhn,bnhd->bhd", ops.softmax(logits, axis=-1), v)
        return x[:, 0] + self.proj(ops.reshape(cls, (-1, D)))


class XCiT(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        bn = lambda name: layers.BatchNormalization(epsilon=1e-5, name=name)
        self.pad = layers.ZeroPadding2D(1)
        self.stem1 = layers.Conv2D(D // 2, 3, strides=2, use_bias=False, name="stem1")
        self.stem2 = layers.Conv2D(D, 3, strides=2, use_bias=False, name="stem2")
        self.bn1, self.bn2 = bn("bn1"), bn("bn2")
        self.pos = layers.Conv2D(D, 1, name="pos")
        self.blocks = [XCABlock(name=f"block{i}") for i in range(DEPTH)]
        self.cls = self.add_weight(shape=(1, 1, D), initializer="zeros", name="cls")
        self.cls_attn = ClassAttention(name="cls_attn")
        self.norm = layers.LayerNormalization(epsilon=1e-5, name="norm")
        self.head = layers.Dense(CLASSES, name="head")

    def call(self, x):
        x = self.bn1(self.stem1(self.pad(x)), training=False)
        x = ops.gelu(x, approximate=False)
        x = self.bn2(self.stem2(self.pad(x)), training=False)
        h, w = x.shape[1:3]
        x = x + self.pos(ops.convert_to_tensor(fourier_grid(h, w)))
        x = ops.reshape(x, (-1, h * w, D))
        for block in self.blocks:
            x = block(x, h=h, w=w)
        cls = ops.repeat(self.cls, x.shape[0], axis=0)
        x = self.cls_attn(ops.concatenate([cls, x], axis=1))
        return self.head(self.norm(x))


def make():
    m = XCiT()
    m(np.zeros((4, HI, WI, 3), "float32"))
    rng = np.random.RandomState(12)
    for w in m.weights:
        z = rng.randn(*w.shape).astype("float32")
        if "variance" in w.path:
            w.assign(0.6 + rng.rand(*w.shape))
        elif any(s in w.path for s in ("gamma", "scale", "temperature")):
            w.assign(1 + 0.2 * z)
        else:
            w.assign(0.3 * z)
    return m


def inputs(seed):
    x = np.random.RandomState(seed).randn(4, 3, HI, WI).astype("float32")
    return (np.ascontiguousarray(x.transpose(0, 2, 3, 1)),)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    def dense(d, s):
        d.kernel.assign(sd[s + ".weight"].T)
        d.bias.assign(sd[s + ".bias"])
    def ln(d, s):
        d.gamma.assign(sd[s + ".weight"])
        d.beta.assign(sd[s + ".bias"])
    def bn(d, s):
        ln(d, s)
        d.moving_mean.assign(sd[s + ".running_mean"])
        d.moving_variance.assign(sd[s + ".running_var"])
    def conv(d, s):
        w = sd[s + ".weight"]
        d.kernel.assign(w.transpose(2, 3, 0, 1) if w.shape[1] == 1 and "local_mp" in s else w.transpose(2, 3, 1, 0))
        if d.use_bias:
            d.bias.assign(sd[s + ".bias"])
    conv(ported.stem1, "patch_embed.proj.0")
    bn(ported.bn1, "patch_embed.proj.1")
    conv(ported.stem2, "patch_embed.proj.3")
    bn(ported.bn2, "patch_embed.proj.4")
    conv(ported.pos, "pos_embeder.token_projection")
    for i, b in enumerate(ported.blocks):
        s = f"blocks.{i}."
        ln(b.ln1, s + "norm1")
        ln(b.ln2, s + "norm2")
        ln(b.ln3, s + "norm3")
        b.xca.temperature.assign(sd[s + "attn.temperature"])
        dense(b.xca.qkv, s + "attn.qkv")
        dense(b.xca.proj, s + "attn.proj")
        conv(b.lpi.conv1, s + "local_mp.conv1")
        bn(b.lpi.bn, s + "local_mp.bn")
        conv(b.lpi.conv2, s + "local_mp.conv2")
        dense(b.fc1, s + "mlp.0")
        dense(b.fc2, s + "mlp.2")
        b.scale_attn.assign(sd[s + "gamma1"])
        b.scale_mlp.assign(sd[s + "gamma2"])
        b.scale_lpi.assign(sd[s + "gamma3"])
    ported.cls.assign(sd["cls_token"])
    ln(ported.cls_attn.ln, "cls_attn.norm")
    dense(ported.cls_attn.qkv, "cls_attn.qkv")
    dense(ported.cls_attn.proj, "cls_attn.proj")
    ln(ported.norm, "norm")
    dense(ported.head, "head")
