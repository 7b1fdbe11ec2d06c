"""Capsule network in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


def squash(x, axis):
    square = F.sum(x * x, axis=axis, keepdims=True)
    factor = F.sqrt(square + 1e-8) * (1 + square)
    return x * F.broadcast_to(square / factor, x.shape)


class Capsules(chainer.Chain):
    def __init__(self, routing=3):
        super().__init__()
        self.routing = routing
        with self.init_scope():
            self.conv = L.Convolution2D(1, 8, ksize=5)
            self.bn = L.BatchNormalization(8, eps=1e-5)
            self.primary = L.Convolution2D(8, 16, ksize=3, stride=2)
            self.transform = chainer.Parameter(
                chainer.initializers.Normal(0.3), (36, 4, 5 * 6)
            )
            self.dec1 = L.Linear(30, 24)
            self.dec2 = L.Linear(24, 121)

    def capsules(self, images):
        with chainer.using_config("train", False):
            h = F.relu(self.bn(self.conv(images)))
        h = self.primary(h)
        batch = h.shape[0]
        h = F.reshape(h, (batch, 4, 4, 9))
        h = F.transpose(h, (0, 1, 3, 2))
        return squash(F.reshape(h, (batch, 36, 4)), axis=2)

    def route(self, u):
        batch = u.shape[0]
        # (36, batch, 4) x (36, 4, 30)
        votes = F.matmul(F.transpose(u, (1, 0, 2)), self.transform)
        votes = F.transpose(F.reshape(votes, (36, batch, 5, 6)), (1, 2, 0, 3))
        logits = np.zeros((batch, 5, 36), dtype="float32")
        for step in range(self.routing):
            coupling = F.softmax(logits, axis=1)
            pooled = F.matmul(F.expand_dims(coupling, 2), votes)
            v = squash(pooled, axis=3)
            if step + 1 < self.routing:
                agreement = F.matmul(votes, F.transpose(v, (0, 1, 3, 2)))
                logits = logits + F.squeeze(agreement, axis=3)
        return F.squeeze(v, axis=2), F.transpose(coupling, (0, 2, 1))

    def forward(self, images, onehot):
        v, coupling = self.route(self.capsules(images))
        lengths = F.sqrt(F.sum(v * v, axis=2) + 1e-7)
        masked = v * F.broadcast_to(F.expand_dims(onehot, 2), v.shape)
        h = F.leaky_relu(self.dec1(F.reshape(masked, (-1, 30))), slope=0.1)
        picture = F.sigmoid(self.dec2(h))
        above = F.maximum(lengths - 0.1, np.zeros(lengths.shape, "f"))
        below = F.maximum(0.9 - lengths, np.zeros(lengths.shape, "f"))
        margin = F.sum(F.where(onehot > 0, below**2, 0.5 * above**2)) / len(images)
        gap = F.reshape(images, (-1, 121)) - picture
        loss = margin + 0.0005 * F.mean(F.sum(gap**2, axis=1))
        return lengths, coupling, loss, picture


def make():
    return Capsules()


def load(net, reference):
    s = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    for link, name in (
        (net.conv, "conv"),
        (net.primary, "primary.conv"),
        (net.dec1, "decoder.0"),
        (net.dec2, "decoder.2"),
    ):
        link.W.array[...] = s[f"{name}.weight"]
        link.b.array[...] = s[f"{name}.bias"]
    net.bn.gamma.array[...] = s["bn.weight"]
    net.bn.beta.array[...] = s["bn.bias"]
    net.bn.avg_mean[...] = s["bn.running_mean"]
    net.bn.avg_var[...] = s["bn.running_var"]
    net.transform.array[...] = s["digits.W"].reshape(36, 30, 4).transpose(0, 2, 1)
