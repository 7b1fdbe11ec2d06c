"""ECAPA-TDNN in Keras, functional API, channels last."""
import numpy as np
import keras
from keras import layers as L
from keras import ops

FRAMEWORK = "tensorflow"
MELS, WIDTH, OUT, SCALE = 20, 32, 24, 4
EPS_BN = 1e-5


def conv_relu_bn(x, filters, name, kernel=1, rate=1):
    x = L.Conv1D(filters, kernel, dilation_rate=rate, padding="same", name=name + "_conv")(x)
    x = L.ReLU()(x)
    x = L.BatchNormalization(epsilon=EPS_BN, name=name + "_bn")(x)
    return x


def res2(x, rate, name):
    w = WIDTH // SCALE
    first, *rest = [x[:, :, k * w:(k + 1) * w] for k in range(SCALE)]
    ys = [first]
    prev = None
    for k, piece in enumerate(rest):
        if prev is not None:
            piece = L.Add()([piece, prev])
        prev = conv_relu_bn(piece, w, f"{name}_{k}", 3, rate)
        ys.append(prev)
    return L.Concatenate(axis=-1)(ys)


def squeeze_excite(x, name):
    g = L.GlobalAveragePooling1D(keepdims=True)(x)
    g = L.Dense(8, activation="relu", name=name + "_sq")(g)
    g = L.Dense(WIDTH, activation="sigmoid", name=name + "_ex")(g)
    return L.Multiply()([x, g])


def block(x, rate, name):
    h = conv_relu_bn(x, WIDTH, name + "_in")
    h = res2(h, rate, name + "_r")
    h = conv_relu_bn(h, WIDTH, name + "_out")
    h = squeeze_excite(h, name + "_se")
    return L.Add()([h, x])


def attentive_stats(x, name="asp"):
    ch = x.shape[-1]
    m = ops.mean(x, axis=1, keepdims=True)
    s = ops.sqrt(ops.maximum(ops.var(x, axis=1, keepdims=True), 1e-6))
    frames = x.shape[1]
    ctx = ops.concatenate([x, ops.repeat(m, frames, axis=1), ops.repeat(s, frames, axis=1)], axis=-1)
    a = conv_relu_bn(ctx, 16, name)
    a = L.Conv1D(ch, 1, name=name + "_score")(ops.tanh(a))
    a = ops.softmax(a, axis=1)
    m = ops.sum(a * x, axis=1)
    v = ops.sum(a * ops.square(x - ops.expand_dims(m, 1)), axis=1)
    return ops.concatenate([m, ops.sqrt(ops.maximum(v, 1e-6))], axis=-1)


def make(seed=17):
    keras.utils.set_random_seed(seed)
    inp = keras.Input((50, MELS))
    x = inp - ops.mean(inp, axis=1, keepdims=True)
    x = conv_relu_bn(x, WIDTH, "front", 5)
    outs = []
    for i, rate in enumerate((2, 3, 4)):
        x = block(x, rate, f"b{i}")
        outs.append(x)
    x = L.Concatenate()(outs)
    x = conv_relu_bn(x, 3 * WIDTH, "mfa")
    x = attentive_stats(x)
    x = L.BatchNormalization(epsilon=EPS_BN, name="pool_bn")(x)
    x = L.Dense(OUT, name="fc")(x)
    return keras.Model(inp, L.UnitNormalization(axis=-1)(x))


def inputs(seed=0):
    from importlib import util
    import pathlib
    spec = util.spec_from_file_location("ecapa_ref", pathlib.Path(__file__).with_name("ref.py"))
    ref = util.module_from_spec(spec)
    spec.loader.exec_module(ref)
    return (np.ascontiguousarray(ref.inputs(seed)[0].transpose(0, 2, 1)),)


def load(ported, original):
    def put(name, mod):
        w = mod.weight.detach().numpy()
        layer = ported.get_layer(name)
        if isinstance(layer, L.Dense):
            w = w.reshape(w.shape[0], -1).T
        else:
            w = w.transpose(2, 1, 0)
        layer.set_weights([w, mod.bias.detach().numpy()])

    def put_bn(name, bn):
        ported.get_layer(name).set_weights(
            [t.detach().numpy() for t in (bn.weight, bn.bias, bn.running_mean, bn.running_var)])

    def put_tdnn(name, mod):
        put(name + "_conv", mod.conv)
        put_bn(name + "_bn", mod.norm)

    put_tdnn("front", original.front)
    for i, b in enumerate(original.blocks):
        put_tdnn(f"b{i}_in", b.tdnn1)
        put_tdnn(f"b{i}_out", b.tdnn2)
        for k, t in enumerate(b.res2.blocks):
            put_tdnn(f"b{i}_r_{k}", t)
        put(f"b{i}_se_sq", b.se.squeeze)
        put(f"b{i}_se_ex", b.se.excite)
    put_tdnn("mfa", original.mfa)
    put_tdnn("asp", original.asp.tdnn)
    put("asp_score", original.asp.conv)
    put_bn("pool_bn", original.asp_bn)
    put("fc", original.fc)
