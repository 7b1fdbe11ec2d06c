"""SegFormer in Keras 3, functional API, channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
STAGES = (dict(dim=8, heads=1, sr=2, patch=7, stride=2), dict(dim=16, heads=2, sr=1, patch=3, stride=2))
EMBED, CLASSES = 12, 5


def patch_embed(x, dim, patch, stride, name):
    x = layers.ZeroPadding2D(patch // 2)(x)
    x = layers.Conv2D(dim, patch, strides=stride, padding="valid", name=name + "_proj")(x)
    return layers.LayerNormalization(epsilon=1e-5, name=name + "_norm")(x)


def attention(x, dim, heads, sr, name):
    h, w = x.shape[1], x.shape[2]
    context = x
    if sr > 1:
        context = layers.Conv2D(dim, sr, strides=sr, name=name + "_sr")(context)
        context = layers.LayerNormalization(epsilon=1e-5, name=name + "_srnorm")(context)
    query = layers.Reshape((h * w, dim))(x)
    context = layers.Reshape((-1, dim))(context)
    y = layers.MultiHeadAttention(heads, dim // heads, name=name + "_mha")(query, context)
    return layers.Reshape((h, w, dim))(y)


def mix_ffn(x, dim, hidden, name):
    x = layers.Dense(hidden, name=name + "_fc1")(x)
    x = layers.DepthwiseConv2D(3, padding="same", name=name + "_dw")(x)
    x = ops.gelu(x, approximate=False)
    return layers.Dense(dim, name=name + "_fc2")(x)


def block(x, dim, heads, sr, name):
    y = layers.LayerNormalization(epsilon=1e-6, name=name + "_norm1")(x)
    x = layers.Add()([x, attention(y, dim, heads, sr, name)])
    y = layers.LayerNormalization(epsilon=1e-6, name=name + "_norm2")(x)
    return layers.Add()([x, mix_ffn(y, dim, 2 * dim, name)])


def build():
    image = keras.Input((16, 16, 3))
    x, feats = image, []
    for i, s in enumerate(STAGES):
        x = patch_embed(x, s["dim"], s["patch"], s["stride"], f"embed{i}")
        x = block(x, s["dim"], s["heads"], s["sr"], f"block{i}")
        x = layers.LayerNormalization(epsilon=1e-6, name=f"norm{i}")(x)
        feats.append(x)
    fine = layers.Dense(EMBED, name="linear_c0")(feats[0])
    coarse = layers.Dense(EMBED, name="linear_c1")(feats[1])
    coarse = layers.UpSampling2D(2, interpolation="bilinear")(coarse)
    y = layers.Concatenate()([coarse, fine])
    y = layers.Conv2D(EMBED, 1, use_bias=False, name="fuse")(y)
    y = layers.BatchNormalization(epsilon=1e-5, name="bn")(y)
    y = layers.ReLU()(y)
    return keras.Model(image, layers.Conv2D(CLASSES, 1, name="pred")(y))


def make():
    model = build()
    rs = np.random.RandomState(2)
    for w in model.weights:
        v = rs.randn(*w.shape) * 0.3
        if w.path.endswith(("gamma", "moving_variance")):
            v = 1 + np.abs(v)
        w.assign(v.astype("float32"))
    return model


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 16, 16).astype("float32").transpose(0, 2, 3, 1).copy(),)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    get = ported.get_layer

    def conv(name, key, bias=True):
        w = [sd[key + ".weight"].transpose(2, 3, 1, 0)]
        get(name).set_weights(w + ([sd[key + ".bias"]] if bias else []))

    def dense(name, key):
        get(name).set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    def norm(name, key):
        get(name).set_weights([sd[key + ".weight"], sd[key + ".bias"]])

    for i, s in enumerate(STAGES):
        d, h = s["dim"], s["heads"]
        conv(f"embed{i}_proj", f"embeds.{i}.proj")
        norm(f"embed{i}_norm", f"embeds.{i}.norm")
        b, n = f"blocks.{i}", f"block{i}"
        norm(n + "_norm1", b + ".norm1")
        norm(n + "_norm2", b + ".norm2")
        if s["sr"] > 1:
            conv(n + "_sr", b + ".attn.sr")
            if n + "_srnorm" in [layer.name for layer in ported.layers]:
                norm(n + "_srnorm", b + ".attn.norm")
        wkv, bkv = sd[b + ".attn.kv.weight"], sd[b + ".attn.kv.bias"]
        parts = [(sd[b + ".attn.q.weight"], sd[b + ".attn.q.bias"]), (wkv[:d], bkv[:d]), (wkv[d:], bkv[d:])]
        ws = []
        for w, c in parts:
            ws += [w.T.reshape(d, h, d // h), c.reshape(h, d // h)]
        ws += [sd[b + ".attn.proj.weight"].T.reshape(h, d // h, d), sd[b + ".attn.proj.bias"]]
        get(n + "_mha").set_weights(ws)
        dense(n + "_fc1", b + ".mlp.fc1")
        get(n + "_dw").set_weights([sd[b + ".mlp.dwconv.weight"].transpose(2, 3, 0, 1), sd[b + ".mlp.dwconv.bias"]])
        dense(n + "_fc2", b + ".mlp.fc2")
        norm(f"norm{i}", f"norms.{i}")
        dense(f"linear_c{i}", f"linear_c.{i}")
    conv("fuse", "fuse", bias=False)
    get("bn").set_weights([sd["bn.weight"], sd["bn.bias"], sd["bn.running_mean"], sd["bn.running_var"]])
    conv("pred", "pred")
