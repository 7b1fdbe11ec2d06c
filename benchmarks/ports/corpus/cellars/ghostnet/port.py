import math
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"


def bn(x, name):
    return layers.BatchNormalization(epsilon=1e-5, name=name)(x)


def depthwise(x, k, stride, name):
    x = layers.ZeroPadding2D(k // 2, name=name + "_pad")(x)
    return layers.DepthwiseConv2D(k, strides=stride, padding="valid", use_bias=False, name=name)(x)


def squeeze_excite(x, reduced, name):
    ch = x.shape[-1]
    s = layers.GlobalAveragePooling2D(keepdims=True, name=name + "_pool")(x)
    s = layers.Conv2D(reduced, 1, activation="relu", name=name + "_reduce")(s)
    s = layers.Conv2D(ch, 1, name=name + "_expand")(s)
    s = layers.Activation("hard_sigmoid", name=name + "_gate")(s)
    return layers.Multiply(name=name + "_scale")([x, s])


def ghost_module(x, oup, name, ratio=2, dw_size=3, relu=True):
    init = math.ceil(oup / ratio)
    x1 = layers.Conv2D(init, 1, use_bias=False, name=name + "_primary")(x)
    x1 = bn(x1, name + "_primary_bn")
    if relu:
        x1 = layers.ReLU(name=name + "_primary_relu")(x1)
    x2 = depthwise(x1, dw_size, 1, name + "_cheap")
    x2 = bn(x2, name + "_cheap_bn")
    if relu:
        x2 = layers.ReLU(name=name + "_cheap_relu")(x2)
    out = layers.Concatenate(name=name + "_cat")([x1, x2])
    return out[..., :oup]


def bottleneck(x, mid, oup, k, stride, se, name):
    inp = x.shape[-1]
    r = x
    x = ghost_module(x, mid, name + "_g1")
    if stride > 1:
        x = depthwise(x, k, stride, name + "_dw")
        x = bn(x, name + "_dw_bn")
    if se:
        x = squeeze_excite(x, max(2, mid // 4), name + "_se")
    x = ghost_module(x, oup, name + "_g2", relu=False)
    if inp != oup or stride != 1:
        r = depthwise(r, k, stride, name + "_sc_dw")
        r = bn(r, name + "_sc_bn1")
        r = layers.Conv2D(oup, 1, use_bias=False, name=name + "_sc_pw")(r)
        r = bn(r, name + "_sc_bn2")
    return layers.Add(name=name + "_add")([x, r])


CFG = [(16, 8, 3, 1, False), (20, 11, 3, 2, False), (24, 11, 3, 1, True), (24, 16, 5, 2, True)]


def make():
    keras.utils.set_random_seed(21)
    inp = keras.Input((32, 32, 3))
    x = layers.ZeroPadding2D(1, name="stem_pad")(inp)
    x = layers.Conv2D(8, 3, strides=2, use_bias=False, name="stem")(x)
    x = layers.ReLU(name="stem_relu")(bn(x, "stem_bn"))
    for i, (mid, oup, k, s, se) in enumerate(CFG):
        x = bottleneck(x, mid, oup, k, s, se, f"b{i}")
    x = layers.GlobalAveragePooling2D(keepdims=True, name="pool")(x)
    x = layers.Conv2D(24, 1, activation="relu", name="head")(x)
    x = layers.Flatten(name="flat")(x)
    out = layers.Dense(10, name="classifier")(x)
    m = keras.Model(inp, out)
    r = np.random.RandomState(22)
    for w in m.weights:
        if w.name in ("gamma", "moving_variance"):
            w.assign(r.rand(*w.shape) + 0.5)
        elif len(w.shape) == 1:
            w.assign(r.randn(*w.shape) * 0.3)
        else:
            w.assign(r.randn(*w.shape) * 0.3)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, 3, 32, 32).astype("float32").transpose(0, 2, 3, 1).copy(),)


def load(ported, original):
    def t(p):
        return p.detach().numpy()

    def conv(name, c):
        ws = [t(c.weight).transpose(2, 3, 1, 0)]
        if c.bias is not None:
            ws.append(t(c.bias))
        ported.get_layer(name).set_weights(ws)

    def dw(name, c):
        ported.get_layer(name).set_weights([t(c.weight).transpose(2, 3, 0, 1)])

    def norm(name, b):
        ported.get_layer(name).set_weights([t(b.weight), t(b.bias), t(b.running_mean), t(b.running_var)])

    def ghost(name, g):
        conv(name + "_primary", g.primary_conv[0])
        norm(name + "_primary_bn", g.primary_conv[1])
        dw(name + "_cheap", g.cheap_operation[0])
        norm(name + "_cheap_bn", g.cheap_operation[1])

    conv("stem", original.conv_stem)
    norm("stem_bn", original.bn1)
    for i, b in enumerate(original.blocks):
        n = f"b{i}"
        ghost(n + "_g1", b.ghost1)
        ghost(n + "_g2", b.ghost2)
        if b.stride > 1:
            dw(n + "_dw", b.conv_dw)
            norm(n + "_dw_bn", b.bn_dw)
        if b.se is not None:
            conv(n + "_se_reduce", b.se.conv_reduce)
            conv(n + "_se_expand", b.se.conv_expand)
        if len(b.shortcut):
            dw(n + "_sc_dw", b.shortcut[0])
            norm(n + "_sc_bn1", b.shortcut[1])
            conv(n + "_sc_pw", b.shortcut[2])
            norm(n + "_sc_bn2", b.shortcut[3])
    conv("head", original.conv_head)
    ported.get_layer("classifier").set_weights([t(original.classifier.weight).T, t(original.classifier.bias)])
