import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
LATENT, CONTROLS, PIXELS = 5, 3, 144


def build_encoder():
    x = keras.Input((PIXELS,))
    h = layers.Dense(48)(x)
    h = layers.BatchNormalization(epsilon=2e-5)(h)
    h = layers.ReLU()(h)
    h = layers.Dense(48, activation="relu")(h)
    mean = layers.Dense(LATENT, name="mean")(h)
    logvar = layers.Dense(LATENT, name="logvar")(h)
    return keras.Model(x, [mean, logvar], name="encoder")


def build_decoder():
    return keras.Sequential([
        keras.Input((LATENT,)),
        layers.Dense(48, activation="relu"),
        layers.Dense(PIXELS),
    ], name="decoder")


class LocalDynamics(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.trunk = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu")])
        self.v = layers.Dense(LATENT)
        self.r = layers.Dense(LATENT)
        self.b = layers.Dense(LATENT * CONTROLS)
        self.offset = layers.Dense(LATENT)

    def call(self, z):
        h = self.trunk(z)
        a = tf.eye(LATENT) + tf.einsum("bi,bj->bij", self.v(h), self.r(h))
        b = tf.reshape(self.b(h), (-1, LATENT, CONTROLS))
        return a, b, self.offset(h)


def gaussian_kl(m0, cov, m1, logvar1):
    precision = tf.exp(-logvar1)
    trace = tf.reduce_sum(tf.linalg.diag_part(cov) * precision, -1)
    quad = tf.reduce_sum((m1 - m0) ** 2 * precision, -1)
    logdet = tf.reduce_sum(logvar1, -1) - tf.linalg.logdet(cov)
    return 0.5 * (trace + quad - LATENT + logdet)


def cross_entropy(target, logits):
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits), -1)


class EmbedToControl(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc = build_encoder()
        self.dec = build_decoder()
        self.dyn = LocalDynamics()

    def call(self, batch):
        x, u, x_next, eps = batch
        m, lv = self.enc(x, training=False)
        m_next, lv_next = self.enc(x_next, training=False)
        z = m + tf.exp(0.5 * lv) * eps
        a, b, o = self.dyn(z)
        predicted = tf.linalg.matvec(a, m) + tf.linalg.matvec(b, u) + o
        cov = tf.einsum("bik,bk,bjk->bij", a, tf.exp(lv), a)

        prior = -0.5 * tf.reduce_sum(1.0 + lv - m ** 2 - tf.exp(lv), -1)
        consistency = gaussian_kl(predicted, cov, m_next, lv_next)
        recon = cross_entropy(x, self.dec(z))
        future = self.dec(predicted)
        bound = recon + cross_entropy(x_next, future) + prior
        return tf.sigmoid(future), bound, consistency


def make():
    keras.utils.set_random_seed(2)
    model = EmbedToControl()
    model(inputs(0))
    rng = np.random.RandomState(1)
    for w in model.weights:
        if w.path.endswith("moving_variance"):
            w.assign(rng.uniform(0.5, 1.5, w.shape))
        elif len(w.shape) == 1:
            w.assign(w.numpy() + 0.1 * rng.randn(*w.shape))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    x = rng.rand(6, PIXELS).astype("float32")
    x_next = np.clip(x + 0.2 * rng.randn(6, PIXELS), 0, 1).astype("float32")
    u = rng.uniform(-1, 1, (6, CONTROLS)).astype("float32")
    return x, u, x_next, rng.randn(6, LATENT).astype("float32")


def load(ported, original):
    def dense(layer, link):
        layer.set_weights([link.W.array.T, link.b.array])

    e, t, d = original.encoder, original.transition, original.decoder
    first, second = [l for l in ported.enc.layers if isinstance(l, layers.Dense)][:2]
    dense(first, e.l1)
    dense(second, e.l2)
    dense(ported.enc.get_layer("mean"), e.mean)
    dense(ported.enc.get_layer("logvar"), e.ln_var)
    norm = [l for l in ported.enc.layers if isinstance(l, layers.BatchNormalization)][0]
    norm.set_weights([e.bn1.gamma.array, e.bn1.beta.array, e.bn1.avg_mean, e.bn1.avg_var])
    for layer, link in zip(ported.dyn.trunk.layers, (t.h1, t.h2)):
        dense(layer, link)
    for layer, link in ((ported.dyn.v, t.v), (ported.dyn.r, t.r), (ported.dyn.b, t.B), (ported.dyn.offset, t.o)):
        dense(layer, link)
    dense(ported.dec.layers[0], d.l1)
    dense(ported.dec.layers[1], d.l2)
