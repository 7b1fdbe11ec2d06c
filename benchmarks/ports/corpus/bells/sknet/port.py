"""SKNet with the Keras functional API, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"


def conv_bn(x, filters, k, name, relu=True, **kw):
    x = layers.Conv2D(filters, k, use_bias=False, name=name + "_conv", **kw)(x)
    x = layers.BatchNormalization(epsilon=1e-5, name=name + "_bn")(x)
    if relu:
        x = layers.ReLU(name=name + "_relu")(x)
    return x


def sk_conv(x, features, name, M=2, G=4, r=2, L=6):
    d = max(features // r, L)
    branches = []
    for i in range(M):
        rate = 1 + i
        branches.append(conv_bn(x, features, 3, f"{name}_b{i}", padding="same", dilation_rate=rate, groups=G))
    u = layers.Add()(branches)
    s = layers.GlobalAveragePooling2D(keepdims=True)(u)
    z = conv_bn(s, d, 1, f"{name}_z")
    logits = [layers.Conv2D(features, 1, name=f"{name}_fc{i}")(z) for i in range(M)]
    logits = ops.stack(logits, axis=1)
    att = ops.softmax(logits, axis=1)
    return ops.sum(ops.stack(branches, axis=1) * att, axis=1)


def sk_unit(x, mid, cout, name):
    y = conv_bn(x, mid, 1, f"{name}_c1")
    y = sk_conv(y, mid, f"{name}_sk")
    y = conv_bn(y, cout, 1, f"{name}_c3", relu=False)
    if x.shape[-1] != cout:
        x = conv_bn(x, cout, 1, f"{name}_sc", relu=False)
    return layers.ReLU()(layers.Add()([y, x]))


def build(classes=7):
    inp = keras.Input((24, 24, 3))
    x = layers.ZeroPadding2D(1)(inp)
    x = conv_bn(x, 8, 3, "stem", strides=2, padding="valid")
    x = layers.ZeroPadding2D(1)(x)
    x = layers.MaxPooling2D(3, 2)(x)
    x = sk_unit(x, 8, 12, "u0")
    x = sk_unit(x, 8, 12, "u1")
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(classes, name="classifier")(x)
    return keras.Model(inp, x)


def make():
    m = build()
    r = np.random.RandomState(5)
    for w in m.weights:
        a = r.randn(*w.shape)
        if "variance" in w.name:
            a = 0.5 + np.abs(a)
        elif "gamma" in w.name:
            a = 1 + 0.2 * a
        else:
            a = 0.3 * a
        w.assign(a)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, 3, 24, 24).astype("float32").transpose(0, 2, 3, 1),)


def load(p, o):
    n = lambda t: t.detach().numpy()

    def cb(name, seq):
        p.get_layer(name + "_conv").set_weights([n(seq[0].weight).transpose(2, 3, 1, 0)])
        b = seq[1]
        p.get_layer(name + "_bn").set_weights([n(b.weight), n(b.bias), n(b.running_mean), n(b.running_var)])
    cb("stem", o.stem)
    for i, u in enumerate(o.stage):
        cb(f"u{i}_c1", u.conv1)
        cb(f"u{i}_c3", u.conv3)
        if len(u.shortcut):
            cb(f"u{i}_sc", u.shortcut)
        for j, c in enumerate(u.conv2_sk.convs):
            cb(f"u{i}_sk_b{j}", c)
        cb(f"u{i}_sk_z", u.conv2_sk.fc)
        for j, c in enumerate(u.conv2_sk.fcs):
            p.get_layer(f"u{i}_sk_fc{j}").set_weights([n(c.weight).transpose(2, 3, 1, 0), n(c.bias)])
    p.get_layer("classifier").set_weights([n(o.classifier.weight).T, n(o.classifier.bias)])
