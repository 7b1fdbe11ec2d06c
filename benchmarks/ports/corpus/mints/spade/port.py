"""SPADE generator in Keras 3, channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"


def nearest(x, size):
    factor_h, factor_w = x.shape[1] // size[0], x.shape[2] // size[1]
    return x[:, ::factor_h, ::factor_w, :]


class Spade(layers.Layer):
    def __init__(self, filters, hidden=8, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.BatchNormalization(center=False, scale=False, epsilon=1e-5)
        self.shared = layers.Conv2D(hidden, 3, padding="same", activation="relu")
        self.to_gamma = layers.Conv2D(filters, 3, padding="same")
        self.to_beta = layers.Conv2D(filters, 3, padding="same")

    def call(self, x, mask):
        mask = nearest(mask, x.shape[1:3])
        h = self.shared(mask)
        return self.norm(x, training=False) * (1.0 + self.to_gamma(h)) + self.to_beta(h)


class SpadeBlock(layers.Layer):
    def __init__(self, fin, fout, **kwargs):
        super().__init__(**kwargs)
        middle = min(fin, fout)
        self.spade_0, self.spade_1 = Spade(fin), Spade(middle)
        self.conv_0 = layers.Conv2D(middle, 3, padding="same")
        self.conv_1 = layers.Conv2D(fout, 3, padding="same")
        self.project = fin != fout
        if self.project:
            self.spade_s = Spade(fin)
            self.conv_s = layers.Conv2D(fout, 1, use_bias=False)

    def call(self, x, mask):
        h = ops.leaky_relu(self.spade_0(x, mask), negative_slope=0.2)
        h = self.conv_0(h)
        h = ops.leaky_relu(self.spade_1(h, mask), negative_slope=0.2)
        h = self.conv_1(h)
        skip = self.conv_s(self.spade_s(x, mask)) if self.project else x
        return skip + h


class Generator(keras.Model):
    def __init__(self, nf=8):
        super().__init__()
        self.nf = nf
        self.fc = layers.Dense(nf * 16)
        self.block_0 = SpadeBlock(nf, nf)
        self.block_1 = SpadeBlock(nf, 6)
        self.upsample = layers.UpSampling2D(2)
        self.to_rgb = layers.Conv2D(3, 3, padding="same", activation="tanh")

    def call(self, z, mask):
        x = ops.transpose(ops.reshape(self.fc(z), (-1, self.nf, 4, 4)), (0, 2, 3, 1))
        x = self.upsample(self.block_0(x, mask))
        x = self.upsample(self.block_1(x, mask))
        return self.to_rgb(ops.leaky_relu(x, negative_slope=0.2))


def make():
    net = Generator()
    net(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(5)
    for v in net.variables:
        noise = rng.normal(size=v.shape).astype("float32") * 0.15
        v.assign(np.abs(noise) + 0.05 if "variance" in v.path else noise)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4, 12)).astype("float32")
    labels = rng.integers(0, 5, size=(4, 16, 16))
    return z, np.eye(5, dtype="float32")[labels]


def load(ported, original):
    def conv(k, t):
        w = [t.weight.detach().numpy().transpose(2, 3, 1, 0)]
        k.set_weights(w + ([t.bias.detach().numpy()] if t.bias is not None else []))

    def spade(k, t):
        bn = t.param_free_norm
        k.norm.set_weights([bn.running_mean.numpy(), bn.running_var.numpy()])
        conv(k.shared, t.mlp_shared[0])
        conv(k.to_gamma, t.mlp_gamma)
        conv(k.to_beta, t.mlp_beta)

    ported.fc.set_weights([original.fc.weight.detach().numpy().T, original.fc.bias.detach().numpy()])
    for k, t in ((ported.block_0, original.head), (ported.block_1, original.up_0)):
        spade(k.spade_0, t.norm_0)
        spade(k.spade_1, t.norm_1)
        conv(k.conv_0, t.conv_0)
        conv(k.conv_1, t.conv_1)
        if k.project:
            spade(k.spade_s, t.norm_s)
            conv(k.conv_s, t.conv_s)
    conv(ported.to_rgb, original.conv_img)
