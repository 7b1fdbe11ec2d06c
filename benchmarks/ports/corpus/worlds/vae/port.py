"""The beta-VAE in Keras, NHWC."""
import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
LATENT, BETA = 7, 4.0


class BetaVAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc1 = layers.Conv2D(8, 4, strides=2, padding="same")
        self.enc2 = layers.Conv2D(12, 4, strides=2, padding="same")
        self.act = layers.LeakyReLU(negative_slope=0.2)
        self.flat = layers.Flatten()
        self.fc = layers.Dense(32, activation="relu")
        self.mu = layers.Dense(LATENT)
        self.logvar = layers.Dense(LATENT)
        self.dec_fc = layers.Dense(12 * 5 * 5, activation="relu")
        self.dec1 = layers.Conv2DTranspose(8, 4, strides=2, padding="same")
        self.dec2 = layers.Conv2DTranspose(1, 4, strides=2, padding="same")

    def encode(self, x):
        h = self.act(self.enc2(self.act(self.enc1(x))))
        h = self.fc(self.flat(tf.transpose(h, (0, 3, 1, 2))))
        return self.mu(h), self.logvar(h)

    def decode(self, z):
        h = tf.reshape(self.dec_fc(z), (-1, 12, 5, 5))
        h = tf.transpose(h, (0, 2, 3, 1))
        return self.dec2(self.act(self.dec1(h)))

    def call(self, x):
        mu, logvar = self.encode(x)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        logits = self.decode(z)
        bce = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
        recon = tf.reduce_sum(bce, axis=[1, 2, 3])
        kl = -0.5 * tf.reduce_sum(1.0 + logvar - mu**2 - tf.exp(logvar), axis=1)
        loss = tf.reduce_mean(recon + BETA * kl)
        return {"mu": mu, "logvar": logvar, "image": tf.sigmoid(logits), "loss": loss, "kl": kl}


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def conv2d(layer, conv):
    layer.set_weights([npy(conv.weight).transpose(2, 3, 1, 0), npy(conv.bias)])


def make():
    net = BetaVAE()
    net(tf.zeros((1, 20, 20, 1)))
    return net


def load(net, ref):
    conv2d(net.enc1, ref.enc1)
    conv2d(net.enc2, ref.enc2)
    for name in ("fc", "mu", "logvar", "dec_fc"):
        dense(getattr(net, name), getattr(ref, name))
    for ours, theirs in ((net.dec1, ref.dec1), (net.dec2, ref.dec2)):
        kernel = npy(theirs.weight)  # (in, out, h, w) -> (h, w, out, in)
        ours.set_weights([kernel.transpose(2, 3, 1, 0), npy(theirs.bias)])
