"""WaveNet in Chainer; the convolutions run over (batch, channel, time, 1) images."""

import numpy as np

import parity  # noqa: F401  (Chainer needs its shim on this Python)

import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"

BINS = 64
DILATIONS = [1, 2, 4, 1, 2, 4]


class MuLaw:
    """Companding of a wave in [-1, 1] into classes."""

    def __init__(self, bins):
        self.mu = np.float32(bins - 1)

    def __call__(self, wave):
        wave = chainer.as_variable(wave).array
        level = np.sign(wave) * np.log1p(self.mu * np.abs(wave)) / np.log1p(self.mu)
        return np.floor((level + 1) / 2 * self.mu + np.float32(0.5)).astype(np.int32)


class GatedBlock(chainer.Chain):
    def __init__(self, dilation, residual=16, gate=24, skip=20, condition=5):
        super().__init__()
        self.reach = 2 * dilation
        with self.init_scope():
            self.filter_gate = L.DilatedConvolution2D(
                residual, 2 * gate, ksize=(3, 1), dilate=(dilation, 1)
            )
            self.condition = L.Convolution2D(condition, 2 * gate, 1, nobias=True)
            self.to_residual = L.Convolution2D(gate, residual, 1)
            self.to_skip = L.Convolution2D(gate, skip, 1)

    def forward(self, x, c):
        past = F.pad(x, ((0, 0), (0, 0), (self.reach, 0), (0, 0)), "constant")
        filtered, gated = F.split_axis(self.filter_gate(past) + self.condition(c), 2, axis=1)
        z = F.tanh(filtered) * F.sigmoid(gated)
        return (x + self.to_residual(z)) * 0.5**0.5, self.to_skip(z)


class WaveNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.quantise = MuLaw(BINS)
        with self.init_scope():
            self.embed = L.EmbedID(BINS, 16)
            self.blocks = chainer.ChainList(*[GatedBlock(d) for d in DILATIONS])
            self.post1 = L.Convolution2D(20, 20, 1)
            self.post2 = L.Convolution2D(20, BINS, 1)

    def forward(self, wave, condition):
        codes = self.quantise(wave)
        x = F.transpose(self.embed(codes), (0, 2, 1))[..., None]
        rate = codes.shape[1] // condition.shape[2]
        c = F.repeat(condition, rate, axis=2)[..., None]
        skips = []
        for block in self.blocks:
            x, skip = block(x, c)
            skips.append(skip)
        y = sum(skips) / len(skips) ** 0.5
        y = self.post2(F.relu(self.post1(F.relu(y))))
        return y[..., 0]


def make(seed=50):
    np.random.seed(seed)
    return WaveNet()


def load(model, reference):
    def conv(link, module):
        link.W.array[...] = module.weight.detach().numpy()[..., None]
        if module.bias is not None:
            link.b.array[...] = module.bias.detach().numpy()

    model.embed.W.array[...] = reference.embed.weight.detach().numpy()
    for block, layer in zip(model.blocks, reference.layers):
        conv(block.filter_gate, layer.conv)
        conv(block.condition, layer.local)
        conv(block.to_residual, layer.out)
        conv(block.to_skip, layer.skip)
    conv(model.post1, reference.final1)
    conv(model.post2, reference.final2)
