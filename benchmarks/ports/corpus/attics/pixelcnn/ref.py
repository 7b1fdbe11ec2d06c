"""Conditional gated PixelCNN (van den Oord et al., 2016b) with bare TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LEVELS, CLASSES, CH = 8, 5, 10


def causal_mask(kh, kw, kind):
    m = np.ones((kh, kw, 1, 1), "float32")
    ch, cw = kh // 2, kw // 2
    if kind == "vertical_a":
        m[ch:] = 0
    elif kind == "vertical_b":
        m[ch + 1:] = 0
    elif kind == "horizontal_a":
        m[:, cw:] = 0
    elif kind == "horizontal_b":
        m[:, cw + 1:] = 0
    return tf.constant(m)


class MaskedConv(tf.Module):
    def __init__(self, kh, kw, n_in, n_out, kind=None, name=None):
        super().__init__(name=name)
        self.kernel = tf.Variable(tf.zeros([kh, kw, n_in, n_out]), name="kernel")
        self.bias = tf.Variable(tf.zeros([n_out]), name="bias")
        self.mask = causal_mask(kh, kw, kind)

    def __call__(self, x):
        return tf.nn.conv2d(x, self.kernel * self.mask, 1, "SAME") + self.bias


def gated(x):
    a, b = tf.split(x, 2, axis=-1)
    return tf.tanh(a) * tf.sigmoid(b)


class GatedLayer(tf.Module):
    def __init__(self, n_in, first=False, name=None):
        super().__init__(name=name)
        ab = "a" if first else "b"
        self.first = first
        self.vert = MaskedConv(3, 3, n_in, 2 * CH, "vertical_" + ab)
        self.horiz = MaskedConv(1, 3, n_in, 2 * CH, "horizontal_" + ab)
        self.v_to_h = MaskedConv(1, 1, 2 * CH, 2 * CH)
        self.h_out = MaskedConv(1, 1, CH, CH)
        self.cond_v = tf.Variable(tf.zeros([CLASSES, 2 * CH]), name="cond_v")
        self.cond_h = tf.Variable(tf.zeros([CLASSES, 2 * CH]), name="cond_h")

    def __call__(self, v, h, label):
        pre_v = self.vert(v)
        new_v = gated(pre_v + tf.gather(self.cond_v, label)[:, None, None])
        pre_h = self.horiz(h) + self.v_to_h(pre_v)
        new_h = gated(pre_h + tf.gather(self.cond_h, label)[:, None, None])
        new_h = self.h_out(new_h)
        if not self.first:
            new_h = new_h + h
        return new_v, new_h


class PixelCNN(tf.Module):
    def __init__(self, layers=3, name=None):
        super().__init__(name=name)
        self.layers = [GatedLayer(1 if i == 0 else CH, first=i == 0) for i in range(layers)]
        self.out1 = MaskedConv(1, 1, CH, 16)
        self.out2 = MaskedConv(1, 1, 16, LEVELS)

    def __call__(self, image, label):
        x = tf.cast(image, tf.float32) / (LEVELS - 1) * 2.0 - 1.0
        v = h = x
        for layer in self.layers:
            v, h = layer(v, h, label)
        return self.out2(tf.nn.relu(self.out1(tf.nn.relu(h))))


def make(seed=13):
    net = PixelCNN()
    rng = np.random.default_rng(seed)
    for var in net.trainable_variables:
        z = rng.standard_normal(var.shape)
        if len(var.shape) == 4:
            z = 1.6 * z / np.sqrt(np.prod(var.shape[:3]))
        else:
            z = 0.4 * z
        var.assign(z)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:12, :12]
    imgs = [3.5 + 3.5 * np.sin(x * a + y * b + c) for a, b, c in rng.uniform(0.2, 1.2, (5, 3))]
    imgs = np.clip(np.round(np.array(imgs) + rng.normal(0, 0.6, (5, 12, 12))), 0, 7)
    return imgs[..., None].astype("int32"), np.array([3, 0, 4, 1, 2], "int32")
