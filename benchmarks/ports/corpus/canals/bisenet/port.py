import keras
import numpy as np
from keras import layers

FRAMEWORK = "tensorflow"
N_CLASSES = 7


def bn(x, name):
    return layers.BatchNormalization(epsilon=1e-5, name=name + "_bn")(x)


def cbr(x, filters, name, k=3, s=1):
    if k > 1:
        x = layers.ZeroPadding2D(k // 2)(x)
    x = layers.Conv2D(filters, k, strides=s, use_bias=False, name=name)(x)
    return layers.ReLU()(bn(x, name))


def attention_refine(x, filters, name):
    feat = cbr(x, filters, name + "_in")
    gate = layers.GlobalAveragePooling2D(keepdims=True)(feat)
    gate = bn(layers.Conv2D(filters, 1, use_bias=False, name=name + "_att")(gate), name + "_att")
    gate = layers.Activation("sigmoid")(gate)
    return layers.Multiply()([feat, gate])


def fuse(sp, cp, filters, name="ffm"):
    both = layers.Concatenate()([sp, cp])
    feat = cbr(both, filters, name, k=1)
    gate = layers.GlobalAveragePooling2D(keepdims=True)(feat)
    gate = layers.Conv2D(filters // 4, 1, activation="relu", use_bias=False, name=name + "_sq")(gate)
    gate = layers.Conv2D(filters, 1, activation="sigmoid", use_bias=False, name=name + "_ex")(gate)
    scaled = layers.Multiply()([feat, gate])
    return layers.Add()([scaled, feat])


def head(x, mid, factor, name):
    x = cbr(x, mid, name)
    x = layers.Conv2D(N_CLASSES, 1, name=name + "_out")(x)
    return layers.UpSampling2D(factor, interpolation="bilinear")(x)


def build(h=64, w=96):
    img = keras.Input((h, w, 3))

    # spatial path
    sp = cbr(img, 16, "sp1", k=7, s=2)
    sp = cbr(sp, 16, "sp2", s=2)
    sp = cbr(sp, 16, "sp3", s=2)
    sp = cbr(sp, 24, "sp_out", k=1)

    # context path
    c = cbr(img, 12, "stem", s=2)
    c = layers.MaxPooling2D(3, strides=1, padding="same")(c)
    c4 = cbr(c, 16, "layer1", s=2)
    c8 = cbr(c4, 20, "layer2", s=2)
    c16 = cbr(c8, 28, "layer3", s=2)
    c32 = cbr(c16, 32, "layer4", s=2)
    tail = layers.GlobalAveragePooling2D(keepdims=True)(c32)
    tail = cbr(tail, 24, "avg", k=1)
    tail = layers.UpSampling2D((h // 32, w // 32))(tail)

    p32 = layers.Add()([attention_refine(c32, 24, "arm32"), tail])
    p32 = layers.UpSampling2D(2)(p32)
    p32 = cbr(p32, 24, "head32")
    p16 = layers.Add()([attention_refine(c16, 24, "arm16"), p32])
    p16 = layers.UpSampling2D(2)(p16)
    p16 = cbr(p16, 24, "head16")

    out = head(fuse(sp, p16, 32), 32, 8, "main")
    aux = head(p32, 16, 16, "aux")
    return keras.Model(img, [out, aux])


def make():
    keras.utils.set_random_seed(11)
    net = build()
    g = np.random.default_rng(11)
    for v in net.weights:
        if v.name not in ("kernel", "moving_variance"):
            v.assign(g.normal(1.0 if v.name == "gamma" else 0.0, .1, v.shape))
    return net


PAIRS = {"sp1": "sp.conv1", "sp2": "sp.conv2", "sp3": "sp.conv3", "sp_out": "sp.conv_out", "stem": "cp.stem",
         "layer1": "cp.layer1", "layer2": "cp.layer2", "layer3": "cp.layer3", "layer4": "cp.layer4",
         "avg": "cp.conv_avg", "arm32_in": "cp.arm32.conv", "arm16_in": "cp.arm16.conv",
         "head32": "cp.conv_head32", "head16": "cp.conv_head16", "ffm": "ffm.convblk",
         "main": "head.conv", "aux": "aux.conv"}


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    hwio = lambda k: sd[k + ".weight"].transpose(2, 3, 1, 0)
    stats = lambda k: [sd[f"{k}.{n}"] for n in ("weight", "bias", "running_mean", "running_var")]
    for mine, theirs in PAIRS.items():
        ported.get_layer(mine).set_weights([hwio(theirs + ".conv")])
        ported.get_layer(mine + "_bn").set_weights(stats(theirs + ".bn"))
    for arm in ("arm16", "arm32"):
        ported.get_layer(arm + "_att").set_weights([hwio(f"cp.{arm}.conv_atten")])
        ported.get_layer(arm + "_att_bn").set_weights(stats(f"cp.{arm}.bn_atten"))
    ported.get_layer("ffm_sq").set_weights([hwio("ffm.conv1")])
    ported.get_layer("ffm_ex").set_weights([hwio("ffm.conv2")])
    for h, t in (("main", "head"), ("aux", "aux")):
        ported.get_layer(h + "_out").set_weights([hwio(t + ".conv_out"), sd[t + ".conv_out.bias"]])


def inputs(seed=0):
    x = np.random.default_rng(seed).standard_normal((4, 3, 64, 96)).astype("float32")
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))
