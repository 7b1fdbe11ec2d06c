"""Burgers' equation in Keras 3: value and derivatives are stacked on the first axis, as (4, batch, n, ..)."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"

# rows of the stack
U, X, T, XX = range(4)


def product(a, b):
    return ops.stack([
        a[U] * b[U],
        a[X] * b[U] + a[U] * b[X],
        a[T] * b[U] + a[U] * b[T],
        a[XX] * b[U] + 2.0 * a[X] * b[X] + a[U] * b[XX],
    ])


def chain(a, value, first, second):
    """The jet of f(a), from f, f' and f'' at a."""
    return ops.stack([value, first * a[X], first * a[T], first * a[XX] + second * ops.square(a[X])])


def tanh(a):
    y = ops.tanh(a[U])
    slope = 1.0 - ops.square(y)
    return chain(a, y, slope, -2.0 * y * slope)


class FactorizedDense(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.v = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform", name="v")
        self.s = self.add_weight(shape=(self.units,), initializer="zeros", name="s")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, a):
        y = ops.matmul(a, ops.exp(self.s) * self.v)
        # the bias is part of the value alone
        only_value = ops.reshape(ops.one_hot(U, 4), (4, 1, 1, 1))
        return y + only_value * self.bias


class FourierFeatures(layers.Layer):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def build(self, shape):
        self.frequencies = self.add_weight(
            shape=(2, self.number), initializer="random_normal", trainable=False, name="frequencies"
        )

    def call(self, a):
        angle = 2.0 * math.pi * ops.matmul(a, self.frequencies)
        c, s = ops.cos(angle[U]), ops.sin(angle[U])
        return ops.concatenate([chain(angle, c, -s, -c), chain(angle, s, c, -s)], axis=-1)


class Burgers(keras.Model):
    def __init__(self, number=6, units=8, depth=2):
        super().__init__()
        self.nu = 0.1 / math.pi
        self.features = FourierFeatures(number)
        self.encoder_u = FactorizedDense(units)
        self.encoder_v = FactorizedDense(units)
        self.hidden = [FactorizedDense(units) for _ in range(depth)]
        self.last = FactorizedDense(1)
        self.mean = self.add_weight(shape=(2,), initializer="zeros", trainable=False, name="mean")
        self.std = self.add_weight(shape=(2,), initializer="ones", trainable=False, name="std")

    def network(self, a):
        h = self.features(a)
        u, v = tanh(self.encoder_u(h)), tanh(self.encoder_v(h))
        for layer in self.hidden:
            z = tanh(layer(h))
            h = v + product(z, u - v)
        return self.last(h)

    def call(self, points):
        at = (points - self.mean) / self.std
        slopes = ops.eye(2) / self.std
        by_x = ops.broadcast_to(slopes[0], ops.shape(at))
        by_t = ops.broadcast_to(slopes[1], ops.shape(at))
        raw = self.network(ops.stack([at, by_x, by_t, ops.zeros_like(at)]))

        x, t = points[..., :1], points[..., 1:]
        bump = 1.0 - ops.square(x)
        factor = ops.stack([t * bump, -2.0 * t * x, bump, -2.0 * t])
        sine, cosine = ops.sin(math.pi * x), ops.cos(math.pi * x)
        initial = ops.stack([-sine, -math.pi * cosine, ops.zeros_like(x), math.pi**2 * sine])
        u = initial + product(factor, raw)
        residual = u[T] + u[U] * u[X] - self.nu * u[XX]
        return u[U], residual


def make():
    net = Burgers()
    net(inputs(0)[0])
    rng = np.random.default_rng(12)
    for w in net.weights:
        w.assign(rng.uniform(0.2, 0.9, w.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    points = np.stack([rng.uniform(-1, 1, (4, 7)), rng.uniform(0, 1, (4, 7))], -1)
    return (points.astype("float32"),)


def load(ported, original):
    def linear(layer, m):
        layer.v.assign(m.v.detach().numpy().T)
        layer.s.assign(m.s.detach().numpy())
        layer.bias.assign(m.bias.detach().numpy())

    net = original.net
    ported.features.frequencies.assign(net.features.frequencies.numpy())
    linear(ported.encoder_u, net.encoder_u)
    linear(ported.encoder_v, net.encoder_v)
    for layer, m in zip(ported.hidden, net.layers):
        linear(layer, m)
    linear(ported.last, net.last)
    ported.mean.assign(original.mean.numpy())
    ported.std.assign(original.std.numpy())
