"""BigGAN generator in Keras, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
CH, ZC, EMB = 8, 4, 5


class CondBatchNorm(layers.Layer):
    def __init__(self, c, **kw):
        super().__init__(**kw)
        self.bn = layers.BatchNormalization(epsilon=1e-4, center=False, scale=False)
        self.gain = layers.Dense(c, use_bias=False)
        self.shift = layers.Dense(c, use_bias=False)

    def call(self, x, cond):
        gamma = 1.0 + self.gain(cond)
        return self.bn(x, training=False) * gamma[:, None, None, :] + self.shift(cond)[:, None, None, :]


class GBlock(layers.Layer):
    def __init__(self, ci, co, **kw):
        super().__init__(**kw)
        self.n1, self.n2 = CondBatchNorm(ci), CondBatchNorm(co)
        self.conv1 = layers.Conv2D(co, 3, padding="same")
        self.conv2 = layers.Conv2D(co, 3, padding="same")
        self.skip = layers.Conv2D(co, 1)
        self.up = layers.UpSampling2D(2)

    def call(self, x, cond):
        h = ops.relu(self.n1(x, cond))
        h = self.conv1(self.up(h))
        h = self.conv2(ops.relu(self.n2(h, cond)))
        return h + self.skip(self.up(x))


class NonLocal(layers.Layer):
    def __init__(self, c, **kw):
        super().__init__(**kw)
        self.c = c
        self.theta = layers.Conv2D(c // 4, 1, use_bias=False)
        self.phi = layers.Conv2D(c // 4, 1, use_bias=False)
        self.g = layers.Conv2D(c // 2, 1, use_bias=False)
        self.o = layers.Conv2D(c, 1, use_bias=False)

    def build(self, shape, *_):
        self.gamma = self.add_weight(shape=(), initializer="zeros", name="gamma")

    def call(self, x):
        h, w = x.shape[1], x.shape[2]
        theta = ops.reshape(self.theta(x), (-1, h * w, self.c // 4))
        phi = ops.reshape(ops.max_pool(self.phi(x), 2, 2), (-1, h * w // 4, self.c // 4))
        g = ops.reshape(ops.max_pool(self.g(x), 2, 2), (-1, h * w // 4, self.c // 2))
        beta = ops.softmax(ops.einsum("bqc,bkc->bqk", theta, phi), axis=-1)
        o = ops.reshape(ops.matmul(beta, g), (-1, h, w, self.c // 2))
        return self.gamma * self.o(o) + x


class Generator(keras.Model):
    def __init__(self):
        super().__init__()
        self.shared = layers.Dense(EMB, use_bias=False)
        self.fc = layers.Dense(CH * 16)
        self.block1 = GBlock(CH, CH)
        self.attn = NonLocal(CH)
        self.block2 = GBlock(CH, 4)
        self.bn = layers.BatchNormalization(epsilon=1e-4)
        self.to_rgb = layers.Conv2D(3, 3, padding="same", activation="tanh")

    def call(self, inputs):
        z, y = inputs
        z0, z1, z2 = ops.split(z, 3, axis=-1)
        e = self.shared(y)
        h = ops.transpose(ops.reshape(self.fc(z0), (-1, CH, 4, 4)), (0, 2, 3, 1))
        h = self.block1(h, ops.concatenate([e, z1], -1))
        h = self.attn(h)
        h = self.block2(h, ops.concatenate([e, z2], -1))
        return self.to_rgb(ops.relu(self.bn(h, training=False)))


def make():
    m = Generator()
    m([ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(17)
    m.set_weights([(abs(r.randn(*w.shape)) + 0.5 if w.shape else r.randn()) * np.float32(0.4) for w in m.get_weights()])
    return m


def load(ported, original):
    def dense(d, s):
        d.set_weights([s.W.array.T] + ([s.b.array] if s.b is not None else []))

    def conv(d, s):
        d.set_weights([s.W.array.transpose(2, 3, 1, 0)] + ([s.b.array] if s.b is not None else []))

    def cbn(d, s):
        d.bn.set_weights([s.avg_mean, s.avg_var])
        dense(d.gain, s.gain)
        dense(d.shift, s.shift)

    def block(d, s):
        cbn(d.n1, s.b1)
        cbn(d.n2, s.b2)
        conv(d.conv1, s.c1)
        conv(d.conv2, s.c2)
        conv(d.skip, s.c_sc)

    dense(ported.shared, original.shared)
    dense(ported.fc, original.l1)
    block(ported.block1, original.block1)
    block(ported.block2, original.block2)
    for n in ("theta", "phi", "g", "o"):
        conv(getattr(ported.attn, n), getattr(original.attn, n))
    ported.attn.gamma.assign(original.attn.gamma.array)
    b = original.b_out
    ported.bn.set_weights([b.gamma.array, b.beta.array, b.avg_mean, b.avg_var])
    conv(ported.to_rgb, original.c_out)


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(4, 3 * ZC).astype("float32"), np.eye(5, dtype="float32")[r.permutation(5)[:4]]
