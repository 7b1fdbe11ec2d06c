"""RealNVP: masked affine couplings with log-determinant and log-likelihood, in Keras layers."""
import math

import keras
import numpy as np
from keras import layers, ops
from torch import nn

FRAMEWORK = "tensorflow"
D, H, N = 6, 24, 4
MASKS = [np.array([(i + j) % 2 for i in range(D)], "float32") for j in range(N)]


def mlp(final, slope):
    return keras.Sequential([
        layers.Dense(H), layers.LeakyReLU(negative_slope=slope),
        layers.Dense(H), layers.LeakyReLU(negative_slope=slope), layers.Dense(D, activation=final),
    ])


class KCoupling(layers.Layer):
    def __init__(self, mask):
        super().__init__()
        self.mask = mask
        self.s_net = mlp("tanh", 0.01)
        self.t_net = mlp(None, 0.01)

    def build(self, shape):
        self.log_scale = self.add_weight(shape=(D,), initializer="zeros", name="log_scale")
        self.s_net.build((None, D)), self.t_net.build((None, D))

    def call(self, x):
        b = ops.convert_to_tensor(self.mask)
        xm = x * b
        s = self.s_net(xm) * ops.exp(self.log_scale) * (1.0 - b)
        t = self.t_net(xm) * (1.0 - b)
        y = (x - t) * ops.exp(-s) * (1.0 - b) + xm
        return y, -ops.sum(s, axis=-1)


class KRealNVP(keras.Model):
    def __init__(self):
        super().__init__()
        self.couplings = [KCoupling(m) for m in MASKS]

    def call(self, x):
        z, logdet = x, 0.0
        for c in self.couplings[::-1]:
            z, ld = c(z)
            logdet = logdet + ld
        const = math.log(2 * math.pi)
        logp = -0.5 * (ops.sum(z**2, -1) + D * const)
        return {"z": z, "log_det": logdet, "log_prob": logp + logdet}


def make():
    net = KRealNVP()
    net(np.zeros((2, D), "float32"))
    return net


def load(net, ref):
    def g(t):
        return t.detach().numpy()

    for a, b in zip(ref.couplings, net.couplings):
        b.log_scale.assign(g(a.log_scale))
        for m, k in ((a.s, b.s_net), (a.t, b.t_net)):
            ds = [x for x in k.layers if isinstance(x, layers.Dense)]
            for l, d in zip([x for x in m if isinstance(x, nn.Linear)], ds):
                d.set_weights([g(l.weight).T, g(l.bias)])
