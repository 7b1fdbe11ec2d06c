"""FermiNet (Pfau et al. 2020) in TensorFlow: log|psi| of five electrons around two atoms."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
UP, DN, H1, H2, LAYERS, DETS = 3, 2, 12, 6, 2, 3
NE = UP + DN
ATOMS = np.array([[0.0, 0.0, -0.7], [0.1, 0.0, 0.8]], "float32")


def rand(rng, *shape):
    return tf.Variable((rng.randn(*shape) / np.sqrt(shape[0])).astype("float32"))


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = rand(rng, n_in, n_out)
        self.b = tf.Variable(0.2 * rng.randn(n_out).astype("float32"))

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Envelope(tf.Module):
    """sum_m pi_m exp(-|sigma_m r_m|), isotropic."""
    def __init__(self, rng, n_out):
        super().__init__()
        self.pi = tf.Variable(1.0 + 0.3 * rng.randn(len(ATOMS), n_out).astype("float32"))
        self.sigma = tf.Variable(0.8 + 0.2 * rng.randn(len(ATOMS), n_out).astype("float32"))

    def __call__(self, r_ae):                                  # b, e, m, 1
        return tf.reduce_sum(self.pi * tf.exp(-tf.abs(self.sigma * r_ae)), axis=2)


class FermiNet(tf.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.RandomState(seed)
        d1, d2 = 4 * len(ATOMS), 4
        self.one, self.two = [], []
        for i in range(LAYERS):
            self.one.append(Linear(rng, 3 * d1 + 2 * d2, H1))
            if i < LAYERS - 1:
                self.two.append(Linear(rng, d2, H2))
                d2 = H2
            d1 = H1
        self.orbital_up = Linear(rng, H1, DETS * UP)
        self.orbital_dn = Linear(rng, H1, DETS * DN)
        self.env_up = Envelope(rng, DETS * UP)
        self.env_dn = Envelope(rng, DETS * DN)
        self.w_dets = tf.Variable(np.array([1.0, 0.6, 0.8], "float32") + 0.1 * rng.rand(DETS).astype("float32"))

    def features(self, x):
        ae = x[:, :, None, :] - ATOMS[None, None]
        r_ae = tf.norm(ae, axis=-1, keepdims=True)
        ee = x[:, :, None, :] - x[:, None, :, :]
        eye = tf.eye(NE)[None, :, :, None]
        r_ee = tf.norm(ee + eye, axis=-1, keepdims=True) * (1.0 - eye)
        h1 = tf.reshape(tf.concat([r_ae, ae], axis=-1), (-1, NE, 4 * len(ATOMS)))
        h2 = tf.concat([r_ee, ee], axis=-1)
        return h1, h2, r_ae

    def symmetric(self, h1, h2):
        up = tf.reduce_mean(h1[:, :UP], axis=1, keepdims=True)
        dn = tf.reduce_mean(h1[:, UP:], axis=1, keepdims=True)
        up, dn = tf.tile(up, (1, NE, 1)), tf.tile(dn, (1, NE, 1))
        g_up = tf.reduce_mean(h2[:, :, :UP], axis=2)
        g_dn = tf.reduce_mean(h2[:, :, UP:], axis=2)
        return tf.concat([h1, up, dn, g_up, g_dn], axis=-1)

    def __call__(self, x):
        h1, h2, r_ae = self.features(x)
        for i in range(LAYERS):
            new = tf.tanh(self.one[i](self.symmetric(h1, h2)))
            h1 = new + h1 if new.shape[-1] == h1.shape[-1] else new
            if i < LAYERS - 1:
                h2 = tf.tanh(self.two[i](h2))
        up = self.orbital_up(h1[:, :UP]) * self.env_up(r_ae[:, :UP])
        dn = self.orbital_dn(h1[:, UP:]) * self.env_dn(r_ae[:, UP:])
        up = tf.transpose(tf.reshape(up, (-1, UP, DETS, UP)), (0, 2, 1, 3))
        dn = tf.transpose(tf.reshape(dn, (-1, DN, DETS, DN)), (0, 2, 1, 3))
        sign_u, log_u = tf.linalg.slogdet(up)
        sign_d, log_d = tf.linalg.slogdet(dn)
        logdet = log_u + log_d
        top = tf.reduce_max(logdet, axis=-1, keepdims=True)
        psi = tf.reduce_sum(self.w_dets * sign_u * sign_d * tf.exp(logdet - top), axis=-1, keepdims=True)
        return tf.math.log(tf.abs(psi)) + top, h1


def make():
    return FermiNet()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, NE, 3).astype("float32"),)
