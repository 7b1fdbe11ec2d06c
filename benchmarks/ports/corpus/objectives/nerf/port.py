"""NeRF in Keras layers, rendering in tf functions."""

import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
NEAR, FAR, SAMPLES = 0.5, 3.0, 8


def fourier(x, bands):
    scales = tf.constant([2.0**k * 3.141592653589793 for k in range(bands)], dtype=x.dtype)
    angles = tf.einsum("...c,f->...cf", x, scales)
    waves = tf.stack([tf.sin(angles), tf.cos(angles)], axis=-2)
    flat = tf.reshape(waves, tf.concat([tf.shape(x)[:-1], [2 * bands * 3]], 0))
    return tf.concat([x, flat], axis=-1)


class NerfField(keras.Model):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = [layers.Dense(width, activation="relu", name=f"trunk{i}") for i in range(3)]
        self.density = layers.Dense(1)
        self.feature = layers.Dense(width)
        self.view = layers.Dense(width // 2, activation="relu")
        self.colour = layers.Dense(3, activation="sigmoid")

    def call(self, xyz, views):
        code = fourier(xyz, 3)
        h = self.trunk[1](self.trunk[0](code))
        h = self.trunk[2](tf.concat([h, code], axis=-1))
        sigma = tf.math.softplus(self.density(h)[..., 0] - 1.0)
        v = tf.repeat(fourier(views, 2)[:, tf.newaxis, :], SAMPLES, axis=1)
        rgb = self.colour(self.view(tf.concat([self.feature(h), v], axis=-1)))
        return sigma, rgb * 1.002 - 0.001


class NerfRenderer(keras.Model):
    def __init__(self):
        super().__init__()
        self.field = NerfField()

    def sample(self, rays):
        width = (FAR - NEAR) / SAMPLES
        starts = NEAR + width * tf.range(SAMPLES, dtype=tf.float32)
        return starts[tf.newaxis] + width * tf.random.uniform((rays, SAMPLES))

    def call(self, origins, directions):
        speed = tf.sqrt(tf.reduce_sum(directions**2, axis=-1, keepdims=True))
        t = self.sample(origins.shape[0])
        xyz = origins[:, None, :] + tf.einsum("rs,rc->rsc", t, directions)
        sigma, rgb = self.field(xyz, directions / speed)
        after = tf.pad(t[:, 1:], [[0, 0], [0, 1]], constant_values=FAR)
        tau = sigma * (after - t) * speed
        alpha = -tf.math.expm1(-tau)
        through = tf.exp(-tf.cumsum(tau, axis=-1, exclusive=True))
        weights = alpha * through
        opacity = tf.reduce_sum(weights, axis=-1)
        image = tf.einsum("rs,rsc->rc", weights, rgb)
        image = image + 1.0 - opacity[:, None]
        depth = tf.reduce_sum(weights * t, axis=-1) / (opacity + 1e-6)
        return {
            "rgb": image,
            "opacity": opacity,
            "disparity": tf.math.reciprocal(tf.maximum(depth, 1e-3)),
        }


def make():
    net = NerfRenderer()
    net(tf.zeros((1, 3)), tf.ones((1, 3)))
    return net


def load(net, reference):
    theirs, ours = reference.field, net.field
    for layer, linear in [
        (ours.trunk[0], theirs.first),
        (ours.trunk[1], theirs.second),
        (ours.trunk[2], theirs.third),
        (ours.density, theirs.sigma),
        (ours.feature, theirs.feature),
        (ours.view, theirs.view),
        (ours.colour, theirs.rgb),
    ]:
        layer.kernel.assign(linear.weight.detach().numpy().T)
        layer.bias.assign(linear.bias.detach().numpy())
