"""Deep spatial autoencoder with policy, Keras 3, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
C, OUT, ROBOT, ACT = 6, 8, 7, 3


class SpatialSoftmax(layers.Layer):
    def build(self, shape):
        self.alpha = self.add_weight(shape=(1,), initializer="ones", name="alpha")
        _, h, w, _ = shape
        ys, xs = np.meshgrid(np.linspace(-1, 1, h), np.linspace(-1, 1, w), indexing="ij")
        self.grid = np.stack([xs.ravel(), ys.ravel()], axis=1).astype("float32")

    def call(self, x):
        b, h, w, c = x.shape
        x = ops.reshape(x, (b, h * w, c))
        p = ops.softmax(x / self.alpha, axis=1)
        points = ops.einsum("bpc,pk->bck", p, self.grid)
        return ops.reshape(points, (b, 2 * c))


class DSAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.pad = layers.ZeroPadding2D(2)
        self.conv1 = layers.Conv2D(8, 5, strides=2)
        self.bn1 = layers.BatchNormalization(epsilon=2e-5)
        self.conv2 = layers.Conv2D(8, 3)
        self.bn2 = layers.BatchNormalization(epsilon=2e-5)
        self.conv3 = layers.Conv2D(C, 3)
        self.act = layers.LeakyReLU(negative_slope=0.2)
        self.ssm = SpatialSoftmax()
        self.decoder = layers.Dense(OUT * OUT)
        self.fc1 = layers.Dense(16, activation="relu")
        self.fc2 = layers.Dense(16, activation="relu")
        self.mu = layers.Dense(ACT)
        self.log_std = self.add_weight(shape=(ACT,), initializer="zeros", name="log_std")

    def encode(self, img):
        x = self.conv1(self.pad(img))
        x = self.act(self.bn1(x, training=False))
        x = self.conv2(x)
        x = self.act(self.bn2(x, training=False))
        return self.ssm(self.conv3(x))

    def call(self, prev, cur, nxt, robot):
        f0, f1, f2 = self.encode(prev), self.encode(cur), self.encode(nxt)
        recon = self.decoder(f1)
        accel = (f2 - f1) - (f1 - f0)
        penalty = ops.sum(ops.square(accel), axis=-1, keepdims=True)
        h = self.fc2(self.fc1(ops.concatenate([f1, robot], axis=-1)))
        mu = self.mu(h)
        std = ops.exp(ops.clip(self.log_std, -5.0, 2.0)) * ops.ones_like(mu)
        return f1, recon, penalty, mu, std


def make():
    m = DSAE()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(40)
    for w in m.weights:
        v = r.randn(*w.shape) * 0.3
        w.assign(np.abs(v) + 0.5 if "variance" in w.path or "gamma" in w.path or "alpha" in w.path else v)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    base = r.randn(B, 3, 16, 16)
    frames = [(base + 0.6 * r.randn(*base.shape)).astype("float32") for _ in range(3)]
    frames = [np.ascontiguousarray(f.transpose(0, 2, 3, 1)) for f in frames]
    return (*frames, r.randn(B, ROBOT).astype("float32"))


def load(ported, original):
    def lin(dst, src):
        dst.set_weights([src.W.array.T, src.b.array])

    for k in ("conv1", "conv2", "conv3"):
        src = getattr(original, k)
        getattr(ported, k).set_weights([src.W.array.transpose(2, 3, 1, 0), src.b.array])
    for k in ("bn1", "bn2"):
        src = getattr(original, k)
        getattr(ported, k).set_weights([src.gamma.array, src.beta.array, src.avg_mean, src.avg_var])
    ported.ssm.alpha.assign(original.ssm.alpha.array)
    ported.log_std.assign(original.log_std.array)
    lin(ported.decoder, original.recon)
    for k in ("fc1", "fc2", "mu"):
        lin(getattr(ported, k), getattr(original, k))
