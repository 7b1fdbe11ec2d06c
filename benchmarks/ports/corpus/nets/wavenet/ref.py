"""Small WaveNet with global speaker conditioning (Chainer)."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"

QUANT = 64


def mu_law(x, q=QUANT):
    mu = q - 1
    y = np.sign(x) * np.log1p(mu * np.abs(x)) / np.log1p(mu)
    return ((y + 1) / 2 * mu + 0.5).astype(np.int32)


class CausalConv1D(chainer.Chain):
    def __init__(self, n_in, n_out, dilation=1):
        super().__init__()
        self.pad = dilation
        with self.init_scope():
            self.conv = L.Convolution1D(n_in, n_out, 2, pad=self.pad, dilate=dilation)

    def forward(self, x):
        return self.conv(x)[:, :, :-self.pad]


class ResidualBlock(chainer.Chain):
    def __init__(self, ch, n_speaker, dilation):
        super().__init__()
        with self.init_scope():
            self.conv = CausalConv1D(ch, 2 * ch, dilation)
            self.cond = L.Linear(n_speaker, 2 * ch, nobias=True)
            self.res = L.Convolution1D(ch, ch, 1)
            self.skip = L.Convolution1D(ch, ch, 1)

    def forward(self, x, c):
        h = self.conv(x)
        h = h + F.broadcast_to(self.cond(c)[:, :, None], h.shape)
        a, b = F.split_axis(h, 2, axis=1)
        z = F.tanh(a) * F.sigmoid(b)
        return (x + self.res(z)) * np.float32(np.sqrt(0.5)), self.skip(z)


class WaveNet(chainer.Chain):
    def __init__(self, ch=12, n_speakers=5, d_speaker=4, n_layers=3, n_stacks=2):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(QUANT, ch)
            self.speaker = L.EmbedID(n_speakers, d_speaker)
            self.front = CausalConv1D(ch, ch)
            self.blocks = chainer.ChainList(*[
                ResidualBlock(ch, d_speaker, 2 ** i) for _ in range(n_stacks) for i in range(n_layers)])
            self.post1 = L.Convolution1D(ch, ch, 1)
            self.post2 = L.Convolution1D(ch, QUANT, 1)

    def forward(self, wave, speaker):
        wave = getattr(wave, "array", wave)
        h = F.transpose(self.embed(mu_law(wave)), (0, 2, 1))
        h = self.front(h)
        c = self.speaker(speaker)
        total = 0
        for block in self.blocks:
            h, s = block(h, c)
            total = total + s
        return self.post2(F.relu(self.post1(F.relu(total))))


def make():
    rng = np.random.RandomState(55)
    net = WaveNet()
    for name, p in sorted(net.namedparams()):
        if p.ndim == 1:
            p.array[...] = 0.15 * rng.randn(*p.shape)
        elif "embed" in name or "speaker" in name:
            p.array[...] = rng.randn(*p.shape)
        else:
            p.array[...] = rng.randn(*p.shape) * 1.2 / np.sqrt(np.prod(p.shape[1:]))
    return net


def inputs(seed):
    rng = np.random.RandomState(seed)
    t = np.arange(40) / 40.0
    f = rng.uniform(1, 6, (4, 1))
    wave = 0.6 * np.sin(2 * np.pi * (f * t + rng.rand(4, 1))) + 0.1 * rng.randn(4, 40)
    return np.clip(wave, -0.99, 0.99).astype(np.float32), rng.randint(0, 5, 4).astype(np.int32)
