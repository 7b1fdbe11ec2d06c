"""A diffusion policy that samples.

Interface: a closure over two modules; a nested dict observation and the noise to begin with; one
array out, after a loop over the steps of the diffusion.
"""

import math

import keras
import numpy as np
import torch
import torch.nn.functional as F
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

STEPS = 4
BETAS = np.linspace(1e-2, 0.2, STEPS).astype("float32")
ALPHAS = np.cumprod(1 - BETAS).astype("float32")


class TorchEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(3, 16)

    def forward(self, obs):
        return F.mish(self.a(obs["state"]) + self.b(obs["goal"]))


class FiLMBlock(nn.Module):
    def __init__(self, c_in, c_out, cond):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3, padding=1)
        self.gn = nn.GroupNorm(4, c_out)
        self.film = nn.Linear(cond, 2 * c_out)
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()
        self.drop = nn.Dropout(0.1)

    def forward(self, x, cond):
        h = F.mish(self.gn(self.conv(x)))
        scale, shift = self.film(cond)[:, :, None].chunk(2, dim=1)
        return self.drop(h * (1 + scale) + shift) + self.skip(x)


class TorchNoise(nn.Module):
    def __init__(self, n_act=4):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.Mish(), nn.Linear(32, 16))
        self.d1 = FiLMBlock(n_act, 8, 32)
        self.d2 = FiLMBlock(8, 8, 32)
        self.out = nn.Conv1d(8, n_act, 1)

    def forward(self, x, t, cond):
        f = torch.exp(torch.arange(8) * (-math.log(10000.0) / 7))
        ang = t.float()[:, None] * f[None]
        e = self.time(torch.cat([ang.sin(), ang.cos()], -1))
        c = torch.cat([e, cond], -1)
        h = self.d2(self.d1(x.transpose(1, 2), c), c)
        return self.out(h).transpose(1, 2)


def torch_sampler(encoder, net):
    def sample(obs, noise):
        cond = encoder(obs)
        x = noise
        for t in reversed(range(STEPS)):
            tt = torch.full((x.shape[0],), t, dtype=torch.long)
            eps = net(x, tt, cond)
            a, prev = float(ALPHAS[t]), float(ALPHAS[t - 1]) if t > 0 else 1.0
            x0 = ((x - (1 - a) ** 0.5 * eps) / a**0.5).clamp(-3, 3)
            x = prev**0.5 * x0 + (1 - prev) ** 0.5 * eps
        return x

    return sample


class KBlock(layers.Layer):
    def __init__(self, c_out, project=False):
        super().__init__()
        self.conv = layers.Conv1D(c_out, 3, padding="same")
        self.gn = layers.GroupNormalization(4, epsilon=1e-5)
        self.film = layers.Dense(2 * c_out)
        self.skip = layers.Conv1D(c_out, 1) if project else None
        self.drop = layers.Dropout(0.1)

    def call(self, x, cond, training=None):
        h = self.gn(self.conv(x))
        h = h * ops.tanh(ops.softplus(h))
        scale, shift = ops.split(self.film(cond)[:, None, :], 2, axis=-1)
        h = self.drop(h * (1.0 + scale) + shift, training=training)
        return h + (x if self.skip is None else self.skip(x))


class KNoise(keras.Model):
    def __init__(self, n_act=4):
        super().__init__()
        self.t1, self.t2 = layers.Dense(32), layers.Dense(16)
        self.d1, self.d2 = KBlock(8, True), KBlock(8)
        self.out_conv = layers.Dense(n_act)
        self.freqs = np.exp(np.arange(8) * (-math.log(10000.0) / 7)).astype("float32")

    def call(self, x, t, cond, training=None):
        ang = ops.cast(t, "float32")[:, None] * self.freqs[None]
        e = self.t1(ops.concatenate([ops.sin(ang), ops.cos(ang)], -1))
        e = self.t2(e * ops.tanh(ops.softplus(e)))
        c = ops.concatenate([e, cond], -1)
        h = self.d1(x, c, training=training)
        h = self.d2(h, c, training=training)
        return self.out_conv(h)


class KEncoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.goal_fc = layers.Dense(16, use_bias=False)
        self.state_fc = layers.Dense(16)

    def call(self, obs):
        return keras.activations.mish(self.state_fc(obs["state"]) + self.goal_fc(obs["goal"]))


def keras_sampler(encoder, net):
    def sample(obs, noise):
        cond = encoder(obs)
        x = ops.convert_to_tensor(noise)
        for t in range(STEPS - 1, -1, -1):
            eps = net(x, ops.full((ops.shape(x)[0],), t, dtype="int32"), cond, training=False)
            a = float(ALPHAS[t])
            prev = float(ALPHAS[t - 1]) if t > 0 else 1.0
            x0 = ops.clip((x - (1 - a) ** 0.5 * eps) / a**0.5, -3.0, 3.0)
            x = prev**0.5 * x0 + (1 - prev) ** 0.5 * eps
        return x

    return sample


def inputs():
    r = np.random.default_rng(7)
    f = lambda *s: r.normal(size=s).astype("float32")
    return ({"state": f(5, 8), "goal": f(5, 3)}, f(5, 6, 4))


def keras_side():
    encoder, net = KEncoder(), KNoise()
    keras_sampler(encoder, net)(*inputs())
    return keras_sampler(drawn(encoder), drawn(net))


SIDES = {
    "torch": lambda: torch_sampler(drawn(TorchEncoder().eval()), drawn(TorchNoise().eval())),
    "keras": keras_side,
}
