"""Diffusion Policy's U-Net with tf.nn alone; sequences stay (batch, time, channels)."""

import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


def mish(x):
    return x * tf.tanh(tf.math.softplus(x))


def group_norm(x, gamma, beta, groups=4, eps=1e-5):
    b, t, c = x.shape
    y = tf.reshape(x, (b, t, groups, c // groups))
    mean, variance = tf.nn.moments(y, axes=[1, 3], keepdims=True)
    y = (y - mean) * tf.math.rsqrt(variance + eps)
    return tf.reshape(y, (b, t, c)) * gamma + beta


class UNet:
    """Weights in a dict under the names of the torch module."""

    def __init__(self):
        self.w = {}

    def linear(self, x, name):
        return tf.linalg.matmul(x, self.w[name + ".weight"]) + self.w[name + ".bias"]

    def conv(self, x, name, stride=1):
        kernel = self.w[name + ".weight"]
        pad = kernel.shape[0] // 2
        x = tf.pad(x, [[0, 0], [pad, pad], [0, 0]])
        return tf.nn.conv1d(x, kernel, stride, "VALID") + self.w[name + ".bias"]

    def conv_block(self, x, name):
        x = self.conv(x, name + ".block.0")
        x = group_norm(x, self.w[name + ".block.1.weight"], self.w[name + ".block.1.bias"])
        return mish(x)

    def res_block(self, x, cond, name):
        h = self.conv_block(x, name + ".blocks.0")
        film = self.linear(mish(cond), name + ".cond_encoder.1")[:, None, :]
        scale, shift = tf.split(film, 2, axis=-1)
        h = h * (1.0 + scale) + shift
        h = self.conv_block(h, name + ".blocks.1")
        if name + ".residual_conv.weight" in self.w:
            x = self.conv(x, name + ".residual_conv")
        return h + x

    def step_embedding(self, timestep, dim=12):
        half = dim // 2
        frequencies = tf.exp(-math.log(10000.0) * tf.range(half, dtype=tf.float32) / (half - 1))
        angles = tf.einsum("b,f->bf", timestep, frequencies)
        emb = tf.concat([tf.sin(angles), tf.cos(angles)], axis=1)
        emb = mish(self.linear(emb, "diffusion_step_encoder.1"))
        return self.linear(emb, "diffusion_step_encoder.3")

    def upsample(self, x, name):
        b, t, c = x.shape
        y = tf.nn.conv1d_transpose(
            x, self.w[name + ".weight"], output_shape=(b, 2 * t, c), strides=2, padding="SAME"
        )
        return y + self.w[name + ".bias"]

    def __call__(self, sample, timestep, global_cond):
        cond = tf.concat([self.step_embedding(timestep), global_cond], axis=-1)
        h1 = self.res_block(sample, cond, "down1")
        h2 = self.res_block(self.conv(h1, "downsample", stride=2), cond, "down2")
        x = self.res_block(h2, cond, "mid")
        x = self.res_block(tf.concat([x, h2], -1), cond, "up1")
        x = self.upsample(x, "upsample")
        x = self.res_block(tf.concat([x, h1], -1), cond, "up2")
        x = self.conv_block(x, "final_conv.0")
        return self.conv(x, "final_conv.1")


def shapes(obs=7, action=5, step=12, a=16, b=24):
    cond = step + obs
    yield "diffusion_step_encoder.1", (step, 4 * step)
    yield "diffusion_step_encoder.3", (4 * step, step)
    blocks = (("down1", action, a), ("down2", a, b), ("mid", b, b), ("up1", 2 * b, a), ("up2", 2 * a, a))
    for name, c_in, c_out in blocks:
        for i, c in enumerate((c_in, c_out)):
            yield f"{name}.blocks.{i}.block.0", (5, c, c_out)
            yield f"{name}.blocks.{i}.block.1", (c_out,)
        yield f"{name}.cond_encoder.1", (cond, 2 * c_out)
        if c_in != c_out:
            yield f"{name}.residual_conv", (1, c_in, c_out)
    yield "downsample", (3, a, a)
    yield "upsample", (4, a, a)
    yield "final_conv.0.block.0", (5, a, a)
    yield "final_conv.0.block.1", (a,)
    yield "final_conv.1", (1, a, action)


def make():
    net, rng = UNet(), np.random.default_rng(9)
    for name, shape in shapes():
        kernel = rng.normal(scale=0.2, size=shape).astype("float32")
        net.w[name + ".weight"] = tf.Variable(kernel, name=name + ".weight")
        net.w[name + ".bias"] = tf.Variable(tf.zeros(shape[-1]), name=name + ".bias")
    return net


def arrange(array):
    if array.ndim == 3:  # out, in, k -> k, in, out; transposed: in, out, k -> k, out, in
        return array.transpose(2, 1, 0)
    return array.T


def load(port_model, reference_model):
    for name, tensor in reference_model.state_dict().items():
        port_model.w[name].assign(arrange(tensor.numpy()))
