"""Capsule network (Sabour et al. 2017) with dynamic routing and the reconstruction decoder."""

import numpy as np

import parity  # noqa: F401  (Chainer needs its shim on this Python)

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import initializers

FRAMEWORK = "chainer"

N_CLASS = 5
PRIMARY_TYPES = 4
PRIMARY_DIM = 6
DIGIT_DIM = 8
GRID = 3
ROUTINGS = 3


def squash(s, axis, eps=1e-7):
    """Shortens vectors to a length below one and keeps their directions."""
    norm2 = F.sum(s * s, axis=axis, keepdims=True)
    norm = F.sqrt(norm2 + eps)
    return F.broadcast_to(norm2 / (1.0 + norm2) / norm, s.shape) * s


class PrimaryCaps(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(12, PRIMARY_TYPES * PRIMARY_DIM, 3, stride=2)

    def forward(self, x):
        h = self.conv(x)
        batch = h.shape[0]
        h = F.reshape(h, (batch, PRIMARY_TYPES, PRIMARY_DIM, GRID * GRID))
        h = F.transpose(h, (0, 1, 3, 2))
        h = F.reshape(h, (batch, PRIMARY_TYPES * GRID * GRID, PRIMARY_DIM))
        return squash(h, axis=2)


class DigitCaps(chainer.Chain):
    def __init__(self):
        super().__init__()
        n_in = PRIMARY_TYPES * GRID * GRID
        with self.init_scope():
            self.W = chainer.Parameter(
                initializers.Normal(0.6), (n_in, N_CLASS, PRIMARY_DIM, DIGIT_DIM)
            )

    def predict(self, u):
        """Votes of every primary capsule for every class: (batch, in, class, dim)."""
        batch, n_in, _ = u.shape
        u = F.broadcast_to(u[:, :, None, :, None], (batch,) + self.W.shape)
        w = F.broadcast_to(self.W[None], (batch,) + self.W.shape)
        return F.sum(u * w, axis=3)

    def forward(self, u):
        votes = self.predict(u)
        batch, n_in = votes.shape[:2]
        b = self.xp.zeros((batch, n_in, N_CLASS), dtype=np.float32)
        for i in range(ROUTINGS):
            c = F.softmax(b, axis=2)
            c = F.broadcast_to(c[..., None], votes.shape)
            v = squash(F.sum(c * votes, axis=1), axis=2)
            if i < ROUTINGS - 1:
                agreement = F.sum(votes * F.broadcast_to(v[:, None], votes.shape), axis=3)
                b = b + agreement
        return v


class CapsNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 12, 4, initial_bias=initializers.Normal(0.1))
            self.primary = PrimaryCaps()
            self.digits = DigitCaps()
            self.fc1 = L.Linear(N_CLASS * DIGIT_DIM, 24)
            self.fc2 = L.Linear(24, 100)

    def forward(self, images):
        h = F.relu(self.conv1(images))
        v = self.digits(self.primary(h))
        lengths = F.sqrt(F.sum(v * v, axis=2) + 1e-9)
        winner = F.argmax(lengths, axis=1).array
        mask = self.xp.eye(N_CLASS, dtype=np.float32)[winner]
        chosen = v * F.broadcast_to(mask[..., None], v.shape)
        h = F.relu(self.fc1(F.reshape(chosen, (len(mask), -1))))
        return lengths, F.sigmoid(self.fc2(h))


def make(seed=0):
    np.random.seed(seed)
    model = CapsNet()
    rng = np.random.RandomState(seed)
    for link in (model.primary.conv, model.fc1, model.fc2):
        link.b.array[...] = rng.normal(0, 0.2, link.b.shape)
    model.primary.conv.W.array[...] *= 2
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 40)
    return (rng.uniform(0, 1, size=(5, 1, 10, 10)).astype(np.float32),)
