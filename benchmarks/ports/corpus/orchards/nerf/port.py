"""NeRF as a tf.Module, without Keras."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
POS_FREQS, DIR_FREQS, UNITS, N_SAMPLES = 4, 2, 32, 12
T_NEAR, T_FAR = 2.0, 6.0


def posenc(x, freqs):
    """x, then sin and cos of each octave."""
    bands = 2.0 ** tf.range(freqs, dtype=x.dtype)
    angles = x[..., None, :] * bands[:, None]
    waves = tf.stack([tf.sin(angles), tf.cos(angles)], axis=-2)
    shape = tf.shape(x)[:-1]
    return tf.concat([x, tf.reshape(waves, tf.concat([shape, [6 * freqs]], 0))], axis=-1)


class Linear(tf.Module):
    def __init__(self, n_in, n_out, gen, name=None):
        super().__init__(name)
        self.w = tf.Variable(gen.normal([n_in, n_out], stddev=(2.0 / n_in) ** 0.5), name="w")
        self.b = tf.Variable(gen.normal([n_out], stddev=0.1), name="b")

    def __call__(self, x):
        return tf.einsum("...i,ij->...j", x, self.w) + self.b


class NeRF(tf.Module):
    def __init__(self, gen):
        super().__init__()
        p, d = 3 + 6 * POS_FREQS, 3 + 6 * DIR_FREQS
        self.l0 = Linear(p, UNITS, gen)
        self.l1 = Linear(UNITS, UNITS, gen)
        self.l2 = Linear(p + UNITS, UNITS, gen)
        self.l3 = Linear(UNITS, UNITS, gen)
        self.density = Linear(UNITS, 1, gen)
        self.bottleneck = Linear(UNITS, UNITS, gen)
        self.l_view = Linear(UNITS + d, UNITS // 2, gen)
        self.colour = Linear(UNITS // 2, 3, gen)

    def query(self, pts, viewdirs):
        enc = posenc(pts, POS_FREQS)
        trunk = tf.nn.relu(self.l1(tf.nn.relu(self.l0(enc))))
        trunk = tf.concat([enc, trunk], axis=-1)
        trunk = tf.nn.relu(self.l3(tf.nn.relu(self.l2(trunk))))
        feat = self.bottleneck(trunk)
        sigma = tf.nn.relu(self.density(trunk))
        feat = tf.concat([feat, posenc(viewdirs, DIR_FREQS)], axis=-1)
        return sigma[..., 0], tf.sigmoid(self.colour(tf.nn.relu(self.l_view(feat))))

    def __call__(self, rays_o, rays_d):
        t = tf.linspace(T_NEAR, T_FAR, N_SAMPLES)
        pts = rays_o[:, None, :] + rays_d[:, None, :] * t[None, :, None]
        length = tf.norm(rays_d, axis=-1, keepdims=True)
        viewdirs = rays_d / length
        viewdirs = tf.broadcast_to(viewdirs[:, None, :], tf.shape(pts))
        sigma, rgb = self.query(pts, viewdirs)
        dists = tf.concat([t[1:] - t[:-1], [1e3]], axis=0)
        dists = dists[None, :] * length
        alpha = 1.0 - tf.exp(-sigma * dists)
        trans = tf.math.cumprod(1.0 - alpha + 1e-10, axis=-1, exclusive=True)
        w = alpha * trans
        pixel = tf.einsum("rs,rsc->rc", w, rgb)
        depth = tf.linalg.matvec(w, t)
        opacity = tf.reduce_sum(w, axis=-1, keepdims=True)
        return pixel + (1.0 - opacity), depth


def make(seed=5):
    return NeRF(tf.random.Generator.from_seed(seed))


def inputs(seed):
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(6, 3)) * 0.3 + np.array([0, 0, 4.0])
    directions = rng.normal(size=(6, 3)) * 0.3 + np.array([0, 0, -1.0])
    return origins.astype("float32"), directions.astype("float32")


def load(ported, original):
    field = original.field
    pairs = [
        (ported.l0, field.before[0]),
        (ported.l1, field.before[1]),
        (ported.l2, field.after[0]),
        (ported.l3, field.after[1]),
        (ported.density, field.sigma),
        (ported.bottleneck, field.feature),
        (ported.l_view, field.view),
        (ported.colour, field.rgb),
    ]
    for ours, theirs in pairs:
        ours.w.assign(theirs.weight.detach().numpy().T)
        ours.b.assign(theirs.bias.detach().numpy())
