"""Deep spatial autoencoder for visuomotor learning (Finn et al. 2016), with a policy on the feature points."""
import parity
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
C, OUT, ROBOT, ACT = 6, 8, 7, 3


class SpatialSoftmax(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.alpha = chainer.Parameter(np.array([1.7], "f"))

    def forward(self, h):
        b, c, hh, ww = h.shape
        flat = F.reshape(h, (b, c, hh * ww))
        flat = flat / F.broadcast_to(self.alpha, flat.shape)
        p = F.softmax(flat, axis=2)
        ys, xs = np.meshgrid(np.linspace(-1, 1, hh), np.linspace(-1, 1, ww), indexing="ij")
        ex = F.sum(p * np.broadcast_to(xs.reshape(1, 1, -1).astype("f"), p.shape), axis=2)
        ey = F.sum(p * np.broadcast_to(ys.reshape(1, 1, -1).astype("f"), p.shape), axis=2)
        return F.reshape(F.stack([ex, ey], axis=2), (b, 2 * c))


class DSAE(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 8, 5, stride=2, pad=2)
            self.bn1 = L.BatchNormalization(8)
            self.conv2 = L.Convolution2D(8, 8, 3)
            self.bn2 = L.BatchNormalization(8)
            self.conv3 = L.Convolution2D(8, C, 3)
            self.ssm = SpatialSoftmax()
            self.recon = L.Linear(2 * C, OUT * OUT)
            self.fc1 = L.Linear(2 * C + ROBOT, 16)
            self.fc2 = L.Linear(16, 16)
            self.mu = L.Linear(16, ACT)
            self.log_std = chainer.Parameter(np.zeros(ACT, "f"))

    def encode(self, img):
        h = F.leaky_relu(self.bn1(self.conv1(img)))
        h = F.leaky_relu(self.bn2(self.conv2(h)))
        return self.ssm(self.conv3(h))

    def forward(self, prev, cur, nxt, robot):
        f0, f1, f2 = self.encode(prev), self.encode(cur), self.encode(nxt)
        recon = self.recon(f1)
        slow = (f2 - f1) - (f1 - f0)
        penalty = F.sum(slow ** 2, axis=1, keepdims=True)
        h = F.relu(self.fc1(F.concat([f1, robot], axis=1)))
        h = F.relu(self.fc2(h))
        mu = self.mu(h)
        std = F.broadcast_to(F.exp(F.clip(self.log_std, -5.0, 2.0)), mu.shape)
        return f1, recon, penalty, mu, std * np.float32(1.0)


def make():
    m = DSAE()
    r = np.random.RandomState(12)
    for name, p in sorted(m.namedparams()):
        s = 0.4 if p.ndim == 1 else 2.0 / np.sqrt(np.prod(p.shape[1:]))
        p.array[...] = r.randn(*p.shape) * s
    m.ssm.alpha.array[...] = 0.45
    for bn in (m.bn1, m.bn2):
        bn.gamma.array[...] = 0.7 + r.rand(8)
        bn.avg_mean[...] = r.randn(8) * 0.3
        bn.avg_var[...] = 0.5 + r.rand(8)
    chainer.config.train = False
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    base = r.randn(B, 3, 16, 16)
    frames = [(base + 0.6 * r.randn(*base.shape)).astype("float32") for _ in range(3)]
    return (*frames, r.randn(B, ROBOT).astype("float32"))
