"""Convolutional VAE on 16x16 binary-ish images (Chainer). The latent is drawn at every call."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class ConvVAE(chainer.Chain):
    def __init__(self, n_latent=5):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 6, 3, stride=2, pad=1)
            self.bn1 = L.BatchNormalization(6)
            self.conv2 = L.Convolution2D(6, 8, 3, stride=2, pad=1)
            self.bn2 = L.BatchNormalization(8)
            self.mu = L.Linear(8 * 4 * 4, n_latent)
            self.ln_var = L.Linear(8 * 4 * 4, n_latent)
            self.fc = L.Linear(n_latent, 8 * 4 * 4)
            self.deconv1 = L.Deconvolution2D(8, 6, 4, stride=2, pad=1)
            self.deconv2 = L.Deconvolution2D(6, 1, 4, stride=2, pad=1)

    def encode(self, x):
        h = F.leaky_relu(self.bn1(self.conv1(x)), 0.2)
        h = F.leaky_relu(self.bn2(self.conv2(h)), 0.2)
        return self.mu(h), self.ln_var(h)

    def decode(self, z):
        h = F.relu(self.fc(z))
        h = F.reshape(h, (len(z), 8, 4, 4))
        return self.deconv2(F.relu(self.deconv1(h)))[:, 0]

    def forward(self, x):
        with chainer.using_config("train", False):
            mu, ln_var = self.encode(x)
        z = F.gaussian(mu, ln_var)
        logits = self.decode(z)
        rec = F.sum(F.softplus(logits) - x[:, 0] * logits, axis=(1, 2))
        kl = -0.5 * F.sum(1 + ln_var - mu ** 2 - F.exp(ln_var), axis=1)
        return {"logits": logits, "mu": mu, "ln_var": ln_var, "elbo": -(rec + kl)}


def make():
    rng = np.random.RandomState(88)
    net = ConvVAE()
    for name, p in sorted(net.namedparams()):
        if "gamma" in name:
            p.array[...] = 1 + 0.2 * rng.randn(*p.shape)
        elif p.ndim == 1:
            p.array[...] = 0.1 * rng.randn(*p.shape)
        elif "ln_var" in name:
            p.array[...] = 0.06 * rng.randn(*p.shape)
        else:
            fan = np.prod(p.shape[1:]) if "deconv" not in name else p.shape[0] * 4
            p.array[...] = rng.randn(*p.shape) * 1.1 / np.sqrt(fan)
    for bn in (net.bn1, net.bn2):
        bn.avg_mean[...] = 0.2 * rng.randn(*bn.avg_mean.shape)
        bn.avg_var[...] = rng.uniform(0.5, 1.5, bn.avg_var.shape)
    return net


def inputs(seed):
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[0:16, 0:16] / 15.0
    img = [np.sin(6 * (a * xx + b * yy) + c) for a, b, c in rng.uniform(-1, 1, (5, 3))]
    return np.clip(np.array(img) * 0.5 + 0.5 + 0.1 * rng.randn(5, 16, 16), 0, 1).astype(np.float32)[:, None]
