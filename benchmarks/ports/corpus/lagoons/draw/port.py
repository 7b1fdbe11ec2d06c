"""DRAW as a tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = tf.Variable(rng.randn(n_in, n_out).astype("float32") / n_in ** 0.5)
        self.b = tf.Variable(rng.randn(n_out).astype("float32") * 0.2)

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class LSTM(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.gates = Linear(rng, n_in + n_out, 4 * n_out)

    def __call__(self, x, state):
        h, c = state
        i, f, g, o = tf.split(self.gates(tf.concat([x, h], 1)), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c


class Draw(tf.Module):
    def __init__(self, seed=1, steps=3, size=8, z=5, n=3, hidden=12):
        super().__init__()
        rng = np.random.RandomState(seed)
        self.steps, self.size, self.n, self.hidden = steps, size, n, hidden
        self.enc = LSTM(rng, 2 * n * n + hidden, hidden)
        self.mu = Linear(rng, hidden, z)
        self.log_sigma = Linear(rng, hidden, z)
        self.dec = LSTM(rng, z, hidden)
        self.attn = Linear(rng, hidden, 5)
        self.patch = Linear(rng, hidden, n * n)

    def filters(self, centre, delta, sigma2):
        grid = tf.range(self.n, dtype=tf.float32) - self.n / 2 + 0.5
        mean = (centre + delta * grid)[:, :, None]
        pixels = tf.range(self.size, dtype=tf.float32)
        f = tf.exp(-tf.square(pixels - mean) / (2.0 * sigma2[:, :, None]))
        return f / tf.maximum(tf.reduce_sum(f, axis=2, keepdims=True), 1e-8)

    def window(self, h):
        gx, gy, log_s2, log_d, log_g = tf.split(self.attn(h), 5, axis=1)
        gx = (self.size + 1) / 2 * (gx + 1)
        gy = (self.size + 1) / 2 * (gy + 1)
        delta = (self.size - 1) / (self.n - 1) * tf.exp(log_d)
        s2 = tf.exp(log_s2)
        return self.filters(gx, delta, s2), self.filters(gy, delta, s2), tf.exp(log_g)

    def read(self, x, x_err, h):
        fx, fy, gamma = self.window(h)
        pair = tf.reshape(tf.stack([x, x_err], 1), [-1, 2, self.size, self.size])
        glimpse = tf.einsum("bmy,bkyx,bnx->bkmn", fy, pair, fx)
        glimpse = tf.reshape(glimpse, [-1, 2, self.n * self.n]) * gamma[:, :, None]
        return tf.reshape(glimpse, [-1, 2 * self.n * self.n])

    def write(self, h):
        fx, fy, gamma = self.window(h)
        patch = tf.reshape(self.patch(h), [-1, self.n, self.n])
        out = tf.einsum("bmy,bmn,bnx->byx", fy, patch, fx)
        return tf.reshape(out, [-1, self.size * self.size]) / gamma

    def __call__(self, x, eps):
        zeros = tf.zeros([tf.shape(x)[0], self.hidden])
        h_enc = c_enc = h_dec = c_dec = zeros
        canvas = tf.zeros_like(x)
        kl = 0.0
        for t in range(self.steps):
            err = x - tf.sigmoid(canvas)
            r = self.read(x, err, h_dec)
            h_enc, c_enc = self.enc(tf.concat([r, h_dec], 1), (h_enc, c_enc))
            mu, log_sigma = self.mu(h_enc), self.log_sigma(h_enc)
            z = mu + tf.exp(log_sigma) * eps[:, t]
            kl += 0.5 * tf.reduce_sum(mu ** 2 + tf.exp(2 * log_sigma) - 2 * log_sigma - 1, 1, keepdims=True)
            h_dec, c_dec = self.dec(z, (h_dec, c_dec))
            canvas += self.write(h_dec)
        return tf.sigmoid(canvas), kl


def make():
    return Draw(seed=11)


def load(ported, original):
    def lin(dst, src):
        dst.w.assign(src.weight.detach().numpy().T)
        dst.b.assign(src.bias.detach().numpy())

    def lstm(dst, src):
        w = np.concatenate([src.weight_ih.detach().numpy().T, src.weight_hh.detach().numpy().T], 0)
        dst.gates.w.assign(w)
        dst.gates.b.assign((src.bias_ih + src.bias_hh).detach().numpy())

    lstm(ported.enc, original.encoder)
    lstm(ported.dec, original.decoder)
    lin(ported.mu, original.mu_linear)
    lin(ported.log_sigma, original.sigma_linear)
    lin(ported.attn, original.dec_linear)
    lin(ported.patch, original.dec_w_linear)


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.rand(5, 64).astype("float32"), r.randn(5, 3, 5).astype("float32")
