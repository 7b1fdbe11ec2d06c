"""MobileNetV3-like inverted residuals with squeeze-excite, in Keras layers (NHWC)."""
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
CFG = [(16, 32, 16, 1, "relu", True), (16, 48, 24, 2, "hswish", True), (24, 72, 24, 1, "hswish", False)]


def hswish(x):
    return x * ops.relu6(x + 3.0) / 6.0


def make():
    inp = keras.Input((32, 32, 3))

    def bn(x, name, eps=1e-5):
        return layers.BatchNormalization(epsilon=eps, name=name)(x)

    x = layers.ZeroPadding2D(1)(inp)
    x = layers.Conv2D(16, 3, 2, use_bias=False, name="stem")(x)
    x = bn(x, "bn")
    x = layers.Activation(hswish)(x)
    for i, (cin, exp, cout, stride, act, se) in enumerate(CFG):
        y = layers.Conv2D(exp, 1, use_bias=False, name=f"b{i}_expand")(x)
        y = bn(y, f"b{i}_bn1")
        a = "relu" if act == "relu" else hswish
        y = layers.Activation(a)(y)
        y = layers.ZeroPadding2D(1)(y)
        y = layers.DepthwiseConv2D(3, stride, use_bias=False, name=f"b{i}_dw")(y)
        y = bn(y, f"b{i}_bn2")
        y = layers.Activation(a)(y)
        if se:
            s = layers.GlobalAveragePooling2D(keepdims=True)(y)
            s = layers.Conv2D(exp // 4, 1, activation="relu", name=f"b{i}_fc1")(s)
            s = layers.Conv2D(exp, 1, name=f"b{i}_fc2")(s)
            s = layers.Activation(lambda v: ops.relu6(v + 3.0) / 6.0)(s)
            y = layers.Multiply()([y, s])
        y = layers.Conv2D(cout, 1, use_bias=False, name=f"b{i}_project")(y)
        y = bn(y, f"b{i}_bn3")
        x = layers.Add()([x, y]) if stride == 1 and cin == cout else y
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(10, name="head")(x))


def load(net, ref):
    def g(t):
        return t.detach().numpy()

    def conv(name, m, dw=False):
        w = g(m.weight).transpose(2, 3, 0, 1) if dw else g(m.weight).transpose(2, 3, 1, 0)
        net.get_layer(name).set_weights([w] + ([g(m.bias)] if m.bias is not None else []))

    def bn(name, m):
        net.get_layer(name).set_weights([g(m.weight), g(m.bias), g(m.running_mean), g(m.running_var)])

    conv("stem", ref.stem), bn("bn", ref.bn)
    for i, b in enumerate(ref.blocks):
        conv(f"b{i}_expand", b.expand), conv(f"b{i}_dw", b.dw, True), conv(f"b{i}_project", b.project)
        bn(f"b{i}_bn1", b.bn1), bn(f"b{i}_bn2", b.bn2), bn(f"b{i}_bn3", b.bn3)
        if CFG[i][5]:
            conv(f"b{i}_fc1", b.se.fc1), conv(f"b{i}_fc2", b.se.fc2)
    net.get_layer("head").set_weights([g(ref.head.weight).T, g(ref.head.bias)])
