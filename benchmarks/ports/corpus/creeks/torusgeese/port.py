"""TensorFlow (tf.Module) port of the torus network, channels last."""
import importlib.util
import os
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C, PLANES, H, W, LAYERS, PLAYERS = 12, 9, 5, 7, 3, 3
_r = np.random.RandomState(21)


def var(*shape, scale=None, name=None):
    scale = 1 / np.sqrt(np.prod(shape[:-1])) if scale is None else scale
    return tf.Variable((_r.randn(*shape) * scale).astype("float32"), name=name)


class TorusConv(tf.Module):
    def __init__(self, cin, cout, k, name=None):
        super().__init__(name=name)
        self.edge = k // 2
        self.w = var(k, k, cin, cout, name="w")
        self.gamma = tf.Variable((1 + 0.2 * _r.randn(cout)).astype("float32"), name="gamma")
        self.beta = var(cout, scale=0.2, name="beta")
        self.mean = var(cout, scale=0.2, name="mean")
        self.variance = tf.Variable((0.5 + np.abs(_r.randn(cout))).astype("float32"), name="variance")

    def __call__(self, x):
        e = self.edge
        x = tf.concat([x[:, -e:], x, x[:, :e]], axis=1)
        x = tf.concat([x[:, :, -e:], x, x[:, :, :e]], axis=2)
        y = tf.nn.conv2d(x, self.w, strides=1, padding="VALID")
        return tf.nn.batch_normalization(y, self.mean, self.variance, self.beta, self.gamma, 1e-5)


class GeeseNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = TorusConv(PLANES, C, 3)
        self.blocks = [TorusConv(C, C, 3) for _ in range(LAYERS)]
        self.head_p = var(C, 4, name="head_p")
        self.v1_w = var(2 * C, 8, name="v1_w")
        self.v1_b = var(8, scale=0.2, name="v1_b")
        self.v2_w = var(8, 1, name="v2_w")

    def value(self, own, avg):
        z = tf.concat([own, avg], axis=-1) @ self.v1_w + self.v1_b
        z = tf.nn.leaky_relu(z, alpha=0.1)
        return tf.tanh(z @ self.v2_w)

    def __call__(self, x, legal):
        h = tf.nn.relu(self.conv0(x))
        for block in self.blocks:
            h = tf.nn.relu(h + block(h))
        avg = tf.reduce_mean(h, axis=[1, 2])
        heads = tf.einsum("bijc,bijp->bpc", h, x[..., :PLAYERS])
        logits = heads[:, 0] @ self.head_p
        logits -= (1.0 - legal) * 1e9
        p = tf.nn.softmax(logits)
        v = tf.concat([self.value(heads[:, i], avg) for i in range(PLAYERS)], axis=1)
        v -= tf.reduce_mean(v, axis=1, keepdims=True)
        entropy = -tf.reduce_sum(p * tf.math.log(p + 1e-8), axis=1, keepdims=True)
        return p, v, entropy


def make():
    _r.seed(21)
    return GeeseNet()


def inputs(seed):
    spec = importlib.util.spec_from_file_location("geese_ref", os.path.join(os.path.dirname(os.path.abspath(__file__)), "ref.py"))
    ref = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ref)
    x, legal = ref.inputs(seed)
    return x.transpose(0, 2, 3, 1).copy(), legal


def load(ported, original):
    def n(t):
        return t.detach().numpy()
    for a, b in zip([ported.conv0] + list(ported.blocks), [original.conv0] + list(original.blocks)):
        a.w.assign(n(b.conv.weight).transpose(2, 3, 1, 0))
        a.gamma.assign(n(b.bn.weight))
        a.beta.assign(n(b.bn.bias))
        a.mean.assign(n(b.bn.running_mean))
        a.variance.assign(n(b.bn.running_var))
    ported.head_p.assign(n(original.head_p.weight).T)
    ported.v1_w.assign(n(original.head_v1.weight).T)
    ported.v1_b.assign(n(original.head_v1.bias))
    ported.v2_w.assign(n(original.head_v2.weight).T)
