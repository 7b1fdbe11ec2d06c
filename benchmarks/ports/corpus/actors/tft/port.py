"""TFT as a Keras functional model."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CONFIG = {"d": 8, "heads": 2, "cards": [5, 7, 4], "hist": 4, "fut": 3, "enc": 6, "dec": 3, "quantiles": 3}


class GatedAddNorm(layers.Layer):
    def __init__(self, d, **kw):
        super().__init__(**kw)
        self.lin = layers.Dense(2 * d)
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, skip):
        a, b = ops.split(self.lin(x), 2, axis=-1)
        return self.norm(skip + a * ops.sigmoid(b))


class GRN(layers.Layer):
    def __init__(self, d, dout=None, project=False, context=False, **kw):
        super().__init__(**kw)
        dout = dout or d
        self.skip = layers.Dense(dout) if project else None
        self.fc1 = layers.Dense(d)
        self.ctx = layers.Dense(d, use_bias=False) if context else None
        self.fc2 = layers.Dense(dout)
        self.gate = GatedAddNorm(dout)

    def call(self, x, c=None):
        h = self.fc1(x)
        if c is not None:
            h = h + self.ctx(c)
        h = self.fc2(ops.elu(h))
        return self.gate(h, self.skip(x) if self.skip is not None else x)


class VariableSelection(layers.Layer):
    def __init__(self, n, d, context, **kw):
        super().__init__(**kw)
        self.n, self.d = n, d
        self.flat = GRN(d, n, project=True, context=context)
        self.each = [GRN(d) for _ in range(n)]

    def call(self, x, c=None):
        shape = tuple(x.shape[1:-2])
        w = ops.softmax(self.flat(ops.reshape(x, (-1,) + shape + (self.n * self.d,)), c))
        y = ops.stack([g(x[..., i, :]) for i, g in enumerate(self.each)], axis=-2)
        return ops.sum(ops.expand_dims(w, -1) * y, axis=-2), w


class InterpretableAttention(layers.Layer):
    def __init__(self, d, heads, **kw):
        super().__init__(**kw)
        self.dk = d // heads
        self.q = [layers.Dense(self.dk) for _ in range(heads)]
        self.k = [layers.Dense(self.dk) for _ in range(heads)]
        self.v = layers.Dense(self.dk)
        self.out = layers.Dense(d, use_bias=False)

    def call(self, x):
        n = x.shape[1]
        bias = np.triu(np.full((n, n), -1e9, "float32"), k=1)
        weights = []
        for q, k in zip(self.q, self.k):
            s = ops.einsum("btd,bsd->bts", q(x), k(x)) / self.dk ** 0.5
            weights.append(ops.softmax(s + bias, axis=-1))
        mean_w = ops.mean(ops.stack(weights), axis=0)
        return self.out(ops.matmul(mean_w, self.v(x))), mean_w


def embed_scalars(x, d, prefix):
    n = x.shape[-1]
    parts = [layers.Dense(d, name=f"{prefix}_{i}")(x[..., i:i + 1]) for i in range(n)]
    return ops.stack(parts, axis=2)


def build(cfg):
    d = cfg["d"]
    static = keras.Input((len(cfg["cards"]),), dtype="int64", name="static")
    hist = keras.Input((cfg["enc"], cfg["hist"]), name="hist")
    fut = keras.Input((cfg["dec"], cfg["fut"]), name="fut")
    s = ops.stack([layers.Embedding(c, d, name=f"cat_{i}")(static[:, i])
                   for i, c in enumerate(cfg["cards"])], axis=1)
    s, w_static = VariableSelection(len(cfg["cards"]), d, False, name="vs_static")(s)
    ctx = {k: GRN(d, name="ctx_" + k)(s) for k in ("select", "h", "c", "enrich")}
    sel = ctx["select"][:, None]
    h, w_hist = VariableSelection(cfg["hist"], d, True, name="vs_hist")(embed_scalars(hist, d, "hist_emb"), sel)
    f, w_fut = VariableSelection(cfg["fut"], d, True, name="vs_fut")(embed_scalars(fut, d, "fut_emb"), sel)
    enc, sh, sc = layers.LSTM(d, return_sequences=True, return_state=True, name="encoder")(
        h, initial_state=[ctx["h"], ctx["c"]])
    dec = layers.LSTM(d, return_sequences=True, name="decoder")(f, initial_state=[sh, sc])
    temporal = GatedAddNorm(d, name="post_lstm")(ops.concatenate([enc, dec], 1), ops.concatenate([h, f], 1))
    enriched = GRN(d, context=True, name="enrich")(temporal, ctx["enrich"][:, None])
    a, weights = InterpretableAttention(d, cfg["heads"], name="attn")(enriched)
    x = GatedAddNorm(d, name="post_attn")(a, enriched)
    x = GatedAddNorm(d, name="post_ff")(GRN(d, name="ff")(x), temporal)
    q = layers.Dense(cfg["quantiles"], name="head")(x[:, cfg["enc"]:])
    return keras.Model({"static": static, "hist": hist, "fut": fut},
                       {"quantiles": q, "attention": weights, "w_static": w_static,
                        "w_hist": w_hist, "w_fut": w_fut})


def make():
    return build(CONFIG)


def load(port_model, ref_model):
    get = port_model.get_layer

    def num(t):
        return t.detach().cpu().numpy()

    def lin(dst, src):
        dst.set_weights([num(src.weight).T] + ([num(src.bias)] if src.bias is not None else []))

    def gan(dst, src):
        lin(dst.lin, src.lin)
        dst.norm.set_weights([num(src.norm.weight), num(src.norm.bias)])

    def grn(dst, src):
        for n in ("skip", "fc1", "ctx", "fc2"):
            if getattr(src, n) is not None:
                lin(getattr(dst, n), getattr(src, n))
        gan(dst.gate, src.gate)

    def lstm(dst, src):
        dst.set_weights([num(src.weight_ih_l0).T, num(src.weight_hh_l0).T,
                         num(src.bias_ih_l0) + num(src.bias_hh_l0)])

    for i, e in enumerate(ref_model.cat):
        get(f"cat_{i}").set_weights([num(e.weight)])
    for pre, mods in (("hist_emb", ref_model.hist_emb), ("fut_emb", ref_model.fut_emb)):
        for i, m in enumerate(mods):
            lin(get(f"{pre}_{i}"), m)
    for k, m in ref_model.vs.items():
        v = get("vs_" + k)
        grn(v.flat, m.flat)
        for dst, src in zip(v.each, m.each):
            grn(dst, src)
    for k, m in ref_model.ctx.items():
        grn(get("ctx_" + k), m)
    lstm(get("encoder"), ref_model.encoder)
    lstm(get("decoder"), ref_model.decoder)
    for k in ("post_lstm", "post_attn", "post_ff"):
        gan(get(k), getattr(ref_model, k))
    grn(get("enrich"), ref_model.enrich)
    grn(get("ff"), ref_model.ff)
    attn = get("attn")
    for side in ("q", "k"):
        for dst, src in zip(getattr(attn, side), getattr(ref_model.attn, side)):
            lin(dst, src)
    lin(attn.v, ref_model.attn.v)
    lin(attn.out, ref_model.attn.out)
    lin(get("head"), ref_model.head)
