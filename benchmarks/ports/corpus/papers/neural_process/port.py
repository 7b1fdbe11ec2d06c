"""Attentive neural process in Chainer."""
import numpy as np


import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class Pointwise(chainer.ChainList):
    """An MLP over the last axis of (batch, points, features)."""

    def __init__(self, *sizes):
        super().__init__(*[L.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def __call__(self, x):
        links = list(self)
        for link in links[:-1]:
            x = F.relu(link(x, n_batch_axes=2))
        return links[-1](x, n_batch_axes=2)


def gaussian_kl(mean_q, std_q, mean_p, std_p):
    ratio = std_q / std_p
    diff = (mean_q - mean_p) / std_p
    return 0.5 * F.sum(ratio ** 2 + diff ** 2 - 1 - 2 * F.log(ratio), axis=1)


class ANP(chainer.Chain):
    def __init__(self, dx=3, dy=2, hidden=24, latent=8, heads=3):
        super().__init__()
        self.heads = heads
        with self.init_scope():
            self.lat_points = Pointwise(dx + dy, hidden, hidden)
            self.lat_hidden = L.Linear(hidden, hidden)
            self.lat_mean = L.Linear(hidden, latent)
            self.lat_scale = L.Linear(hidden, latent)
            self.det_points = Pointwise(dx + dy, hidden, hidden)
            self.q = L.Linear(dx, hidden)
            self.k = L.Linear(dx, hidden)
            self.v = L.Linear(hidden, hidden)
            self.o = L.Linear(hidden, hidden)
            self.decoder = Pointwise(hidden + latent + dx, hidden, hidden, 2 * dy)

    def encode_latent(self, x, y, mask=None):
        s = self.lat_points(F.concat((x, y), axis=2))
        if mask is None:
            s = F.mean(s, axis=1)
        else:
            weight = mask / mask.sum(axis=1, keepdims=True)
            s = F.sum(s * F.broadcast_to(weight[:, :, None], s.shape), axis=1)
        s = F.relu(self.lat_hidden(s))
        return self.lat_mean(s), 0.1 + 0.9 * F.sigmoid(self.lat_scale(s))

    def split_heads(self, x):
        b, n, d = x.shape
        return F.transpose(F.reshape(x, (b, n, self.heads, d // self.heads)), (0, 2, 1, 3))

    def attend(self, xc, yc, xt, mask):
        rep = self.det_points(F.concat((xc, yc), axis=2))
        q = self.split_heads(self.q(xt, n_batch_axes=2))
        k = self.split_heads(self.k(xc, n_batch_axes=2))
        v = self.split_heads(self.v(rep, n_batch_axes=2))
        energy = F.matmul(q, k, transb=True) / np.sqrt(q.shape[-1]).astype(np.float32)
        visible = np.broadcast_to(mask[:, None, None, :] > 0, energy.shape)
        energy = F.where(visible, energy, np.full(energy.shape, -1e9, np.float32))
        out = F.matmul(F.softmax(energy, axis=3), v)
        b, h, n, d = out.shape
        out = F.reshape(F.transpose(out, (0, 2, 1, 3)), (b, n, h * d))
        return self.o(out, n_batch_axes=2)

    def __call__(self, xc, yc, mask, xt, yt):
        mean_p, std_p = self.encode_latent(xc, yc, mask)
        mean_q, std_q = self.encode_latent(xt, yt)
        n = xt.shape[1]
        z = F.repeat(mean_q[:, None, :], n, axis=1)
        r = self.attend(xc, yc, xt, mask)
        mu, raw = F.split_axis(self.decoder(F.concat((r, z, xt), axis=2)), 2, axis=2)
        sigma = 0.1 + 0.9 * F.softplus(raw)
        log_prob = -0.5 * ((yt - mu) / sigma) ** 2 - F.log(sigma) - 0.5 * float(np.log(2 * np.pi))
        kl = gaussian_kl(mean_q, std_q, mean_p, std_p)
        elbo = F.mean(F.sum(log_prob, axis=2), axis=1) - kl / n
        return {"mu": mu, "sigma": sigma, "kl": kl, "elbo": elbo}


def make():
    np.random.seed(12)
    return ANP()


def _copy(dst, src):
    dst.W.array[...] = src.weight.detach().numpy()
    dst.b.array[...] = src.bias.detach().numpy()


def _copy_mlp(dst, src):
    for a, b in zip(dst, [layer for layer in src if hasattr(layer, "weight")]):
        _copy(a, b)


def load(model, reference):
    lat, det = reference.latent, reference.deterministic
    _copy_mlp(model.lat_points, lat.encoder)
    _copy(model.lat_hidden, lat.penultimate)
    _copy(model.lat_mean, lat.mean)
    _copy(model.lat_scale, lat.log_scale)
    _copy_mlp(model.det_points, det.encoder)
    for name in "qkvo":
        _copy(getattr(model, name), getattr(det, "w_" + name))
    _copy_mlp(model.decoder, reference.decoder)
