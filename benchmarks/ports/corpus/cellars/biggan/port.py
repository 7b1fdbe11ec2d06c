import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
CLASSES, ZC, EMB, CH = 6, 4, 5, 8


class ConditionalBatchNorm(layers.Layer):
    def __init__(self, ch, **kw):
        super().__init__(**kw)
        self.norm = layers.BatchNormalization(center=False, scale=False, epsilon=1e-4)
        self.gain = layers.Dense(ch, use_bias=False)
        self.bias = layers.Dense(ch, use_bias=False)

    def call(self, x, cond):
        gain = 1.0 + self.gain(cond)[:, None, None, :]
        bias = self.bias(cond)[:, None, None, :]
        return self.norm(x, training=False) * gain + bias


class GBlock(layers.Layer):
    def __init__(self, cin, cout, **kw):
        super().__init__(**kw)
        self.bn1 = ConditionalBatchNorm(cin)
        self.bn2 = ConditionalBatchNorm(cout)
        self.conv1 = layers.Conv2D(cout, 3, padding="same")
        self.conv2 = layers.Conv2D(cout, 3, padding="same")
        self.conv_sc = layers.Conv2D(cout, 1)
        self.up = layers.UpSampling2D(2)

    def call(self, x, cond):
        h = self.up(ops.relu(self.bn1(x, cond)))
        h = self.conv1(h)
        h = self.conv2(ops.relu(self.bn2(h, cond)))
        sc = self.conv_sc(self.up(x))
        return h + sc


class SelfAttention(layers.Layer):
    def __init__(self, ch, **kw):
        super().__init__(**kw)
        self.theta = layers.Conv2D(ch // 4, 1, use_bias=False)
        self.phi = layers.Conv2D(ch // 4, 1, use_bias=False)
        self.g = layers.Conv2D(ch // 2, 1, use_bias=False)
        self.o = layers.Conv2D(ch, 1, use_bias=False)
        self.pool = layers.MaxPooling2D(2)
        self.gamma = self.add_weight(shape=(), initializer="zeros", name="sa_gamma")

    def call(self, x):
        _, h, w, c = x.shape
        theta = ops.reshape(self.theta(x), (-1, h * w, c // 4))
        phi = ops.reshape(self.pool(self.phi(x)), (-1, h * w // 4, c // 4))
        g = ops.reshape(self.pool(self.g(x)), (-1, h * w // 4, c // 2))
        scores = ops.matmul(theta, ops.transpose(phi, (0, 2, 1)))
        beta = ops.softmax(scores, axis=-1)
        o = ops.reshape(ops.matmul(beta, g), (-1, h, w, c // 2))
        return x + self.gamma * self.o(o)


class Generator(keras.Model):
    def __init__(self):
        super().__init__()
        self.shared = layers.Dense(EMB, use_bias=False)
        self.linear = layers.Dense(2 * CH * 4 * 4)
        self.block1 = GBlock(2 * CH, CH)
        self.block2 = GBlock(CH, CH)
        self.attn = SelfAttention(CH)
        self.bn = layers.BatchNormalization(epsilon=1e-4)
        self.conv = layers.Conv2D(3, 3, padding="same", activation="tanh")

    def call(self, z, y):
        y = self.shared(y)
        z0, z1, z2 = ops.split(z, 3, axis=1)
        h = self.linear(z0)
        h = ops.transpose(ops.reshape(h, (-1, 2 * CH, 4, 4)), (0, 2, 3, 1))
        h = self.block1(h, ops.concatenate([y, z1], axis=1))
        h = self.attn(h)
        h = self.block2(h, ops.concatenate([y, z2], axis=1))
        h = ops.relu(self.bn(h, training=False))
        return self.conv(h)


def make():
    keras.utils.set_random_seed(161)
    m = Generator()
    m(*inputs(0))
    r = np.random.RandomState(162)
    for w in m.weights:
        if w.name in ("gamma", "moving_variance"):
            w.assign(r.rand(*w.shape) * 0.5 + 0.5)
        elif w.name == "sa_gamma":
            w.assign(0.7)
        else:
            w.assign(r.randn(*w.shape) * 0.3)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    z = r.randn(4, 3 * ZC).astype("float32")
    y = np.eye(CLASSES, dtype="float32")[r.randint(0, CLASSES, 4)]
    return z, y


def load(ported, original):
    def n(p):
        return p.detach().numpy()

    def conv(a, b):
        a.set_weights([n(b.weight).transpose(2, 3, 1, 0)] + ([n(b.bias)] if b.bias is not None else []))

    def ccbn(a, b):
        a.gain.set_weights([n(b.gain.weight).T])
        a.bias.set_weights([n(b.bias.weight).T])
        a.norm.set_weights([n(b.stored_mean), n(b.stored_var)])

    ported.shared.set_weights([n(original.shared.weight).T])
    ported.linear.set_weights([n(original.linear.weight).T, n(original.linear.bias)])
    for a, b in zip((ported.block1, ported.block2), original.blocks):
        ccbn(a.bn1, b.bn1)
        ccbn(a.bn2, b.bn2)
        conv(a.conv1, b.conv1)
        conv(a.conv2, b.conv2)
        conv(a.conv_sc, b.conv_sc)
    for k in ("theta", "phi", "g", "o"):
        conv(getattr(ported.attn, k), getattr(original.attn, k))
    ported.attn.gamma.assign(n(original.attn.gamma))
    b = original.bn
    ported.bn.set_weights([n(b.weight), n(b.bias), n(b.running_mean), n(b.running_var)])
    conv(ported.conv, original.conv)
