"""KataGo-like net in Keras 3 (NHWC)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
C, CG = 12, 6


def mish(x):
    return x * ops.tanh(ops.softplus(x))


def conv(c, k, bias=False, name=None):
    return layers.Conv2D(c, k, padding="same", use_bias=bias, name=name)


def spread(v):
    return v[:, None, None, :]


class BoardNorm(layers.Layer):
    """batch norm, activation, both on board only"""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.bn = layers.BatchNormalization(epsilon=1e-4)

    def call(self, x, mask):
        return mish(self.bn(x, training=False) * mask)


def global_pool(x, mask, n):
    off = ops.sqrt(n) - 7.0
    mean = ops.sum(x, axis=[1, 2]) / n
    peak = ops.max(x - (1.0 - mask) * 50.0, axis=[1, 2])
    return ops.concatenate([mean, mean * off / 5.0, peak], axis=-1)


def value_pool(x, mask, n):
    off = ops.sqrt(n) - 7.0
    mean = ops.sum(x, axis=[1, 2]) / n
    return ops.concatenate([mean, mean * off / 5.0, mean * (ops.square(off) / 10.0 - 0.5)], axis=-1)


class Block(layers.Layer):
    def __init__(self, c, cg=None, **kw):
        super().__init__(**kw)
        self.norm1, self.norm2 = BoardNorm(), BoardNorm()
        self.conv1, self.conv2 = conv(c, 3), conv(c, 3)
        self.cg = cg
        if cg:
            self.convg, self.normg = conv(cg, 3), BoardNorm()
            self.lin = layers.Dense(c, use_bias=False)

    def call(self, x, mask, n):
        a = self.norm1(x, mask)
        h = self.conv1(a)
        if self.cg:
            pooled = global_pool(self.normg(self.convg(a), mask), mask, n)
            h = h + spread(self.lin(pooled))
        return x + self.conv2(self.norm2(h, mask))


class KataNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv_in = conv(C, 3)
        self.lin_in = layers.Dense(C, use_bias=False)
        self.trunk = [Block(C), Block(C, CG), Block(C)]
        self.norm_out = BoardNorm()
        self.p_conv, self.g_conv = conv(8, 1), conv(CG, 1)
        self.g_norm, self.p_norm = BoardNorm(), BoardNorm()
        self.g_lin = layers.Dense(8, use_bias=False)
        self.p_out = conv(2, 1)
        self.pass_lin = layers.Dense(2)
        self.v_conv, self.v_norm = conv(5, 1), BoardNorm()
        self.v_lin1, self.v_lin2 = layers.Dense(16, activation=mish), layers.Dense(3)
        self.own = conv(1, 1, bias=True)

    def call(self, planes, feats):
        mask = planes[..., :1]
        n = ops.sum(mask, axis=[1, 2])
        x = (self.conv_in(planes) + spread(self.lin_in(feats))) * mask
        for b in self.trunk:
            x = b(x, mask, n)
        x = self.norm_out(x, mask)

        g = global_pool(self.g_norm(self.g_conv(x), mask), mask, n)
        p = self.p_norm(self.p_conv(x) + spread(self.g_lin(g)), mask)
        p = self.p_out(p) - (1.0 - mask) * 50.0
        board = ops.transpose(ops.reshape(p, (-1, 49, 2)), (0, 2, 1))
        policy = ops.softmax(ops.concatenate([board, self.pass_lin(g)[:, :, None]], axis=-1), axis=-1)

        v = self.v_norm(self.v_conv(x), mask)
        value = self.v_lin2(self.v_lin1(value_pool(v, mask, n)))
        owner = ops.squeeze(ops.tanh(self.own(v)) * mask, axis=-1)
        return policy, value, owner


def make():
    m = KataNet()
    m(*inputs(0))
    r = np.random.default_rng(12)
    for w in m.weights:
        s = w.shape
        if "variance" in w.path:
            v = r.uniform(0.6, 1.6, s)
        elif "gamma" in w.path:
            v = 1 + 0.2 * r.normal(size=s)
        elif len(s) == 1:
            v = 0.2 * r.normal(size=s)
        else:
            v = r.normal(size=s) / np.sqrt(np.prod(s[:-1]))
        w.assign(v.astype("float32"))
    return m


def inputs(seed):
    from importlib import util
    import os
    spec = util.spec_from_file_location("katago_ref", os.path.join(os.path.dirname(os.path.abspath(__file__)), "ref.py"))
    mod = util.module_from_spec(spec)
    spec.loader.exec_module(mod)
    x, g = mod.inputs(seed)
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)), g


def load(ported, original):
    n = lambda t: t.detach().numpy()

    def cv(k, t):
        k.set_weights([n(t.weight).transpose(2, 3, 1, 0)] + ([n(t.bias)] if t.bias is not None else []))

    def ln(k, t):
        k.set_weights([n(t.weight).T] + ([n(t.bias)] if t.bias is not None else []))

    def bn(k, t):
        k.bn.set_weights([n(t.bn.weight), n(t.bn.bias), n(t.bn.running_mean), n(t.bn.running_var)])

    for a in ("conv_in", "p_conv", "g_conv", "p_out", "v_conv", "own"):
        cv(getattr(ported, a), getattr(original, a))
    for a in ("lin_in", "g_lin", "pass_lin", "v_lin1", "v_lin2"):
        ln(getattr(ported, a), getattr(original, a))
    for a in ("norm_out", "g_norm", "p_norm", "v_norm"):
        bn(getattr(ported, a), getattr(original, a))
    for k, t in zip(ported.trunk, original.blocks):
        for a in ("norm1", "norm2"):
            bn(getattr(k, a), getattr(t, a))
        for a in ("conv1", "conv2"):
            cv(getattr(k, a), getattr(t, a))
        if k.cg:
            cv(k.convg, t.convg), bn(k.normg, t.normg), ln(k.lin, t.lin)
