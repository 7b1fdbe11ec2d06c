import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
T, A, B, N, Z, ENC, DEC = 3, 8, 6, 3, 5, 12, 14


def linear(p, x):
    return tf.matmul(x, p["w"]) + p["b"]


def lstm(p, x, state):
    """One step; gates in the order i, j, f, o."""
    h, c = state
    gates = tf.matmul(tf.concat([x, h], 1), p["w"]) + p["b"]
    i, j, f, o = tf.split(gates, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
    h = tf.sigmoid(o) * tf.tanh(c)
    return h, (h, c)


def filterbank(center, sigma2, delta, size):
    grid = tf.reshape(tf.range(N, dtype=tf.float32), [1, -1])
    mu = center + (grid - (N - 1) / 2) * delta
    a = tf.reshape(tf.range(size, dtype=tf.float32), [1, 1, -1])
    mu = tf.reshape(mu, [-1, N, 1])
    sigma2 = tf.reshape(sigma2, [-1, 1, 1])
    f = tf.exp(-tf.square(a - mu) / (2 * sigma2))
    return f / (tf.reduce_sum(f, 2, keepdims=True) + 1e-8)


def attn_window(params):
    gx_, gy_, log_sigma2, log_delta, log_gamma = tf.split(params, 5, 1)
    gx = (A + 1) / 2 * (gx_ + 1)
    gy = (B + 1) / 2 * (gy_ + 1)
    sigma2 = tf.exp(log_sigma2)
    delta = (max(A, B) - 1) / (N - 1) * tf.exp(log_delta)
    return filterbank(gx, sigma2, delta, A), filterbank(gy, sigma2, delta, B), tf.exp(log_gamma)


def read(p, x, x_hat, h_dec):
    fx, fy, gamma = attn_window(linear(p["read"], h_dec))

    def glimpse(img):
        g = tf.matmul(fy, tf.matmul(img, fx, transpose_b=True))
        return tf.reshape(g, [-1, N * N]) * gamma

    return tf.concat([glimpse(x), glimpse(x_hat)], 1)


def write(p, h_dec):
    w = tf.reshape(linear(p["w"], h_dec), [-1, N, N])
    fx, fy, gamma = attn_window(linear(p["write"], h_dec))
    wr = tf.matmul(fy, tf.matmul(w, fx), transpose_a=True)
    return wr * tf.reshape(1.0 / gamma, [-1, 1, 1])


class Draw(tf.Module):
    def __init__(self):
        super().__init__()
        r = np.random.RandomState(41)

        def lin(i, o):
            return {"w": tf.Variable((r.randn(i, o) * 0.25).astype("float32")),
                    "b": tf.Variable((r.randn(o) * 0.3).astype("float32"))}

        self.p = {
            "enc": lin(2 * N * N + DEC + ENC, 4 * ENC), "dec": lin(Z + DEC, 4 * DEC),
            "mu": lin(ENC, Z), "sigma": lin(ENC, Z),
            "read": lin(DEC, 5), "write": lin(DEC, 5), "w": lin(DEC, N * N),
        }

    def __call__(self, x, eps):
        p = self.p
        n = x.shape[0]
        canvas = tf.zeros([n, B, A])
        enc_state = (tf.zeros([n, ENC]), tf.zeros([n, ENC]))
        dec_state = (tf.zeros([n, DEC]), tf.zeros([n, DEC]))
        h_dec = dec_state[0]
        mus, sigmas, logsigmas = [], [], []
        for t in range(T):
            x_hat = x - tf.sigmoid(canvas)
            r = read(p, x, x_hat, h_dec)
            h_enc, enc_state = lstm(p["enc"], tf.concat([r, h_dec], 1), enc_state)
            mu, logsigma = linear(p["mu"], h_enc), linear(p["sigma"], h_enc)
            sigma = tf.exp(logsigma)
            z = mu + sigma * eps[:, t]
            h_dec, dec_state = lstm(p["dec"], z, dec_state)
            canvas = canvas + write(p, h_dec)
            mus.append(mu)
            sigmas.append(sigma)
            logsigmas.append(logsigma)
        terms = [0.5 * tf.reduce_sum(tf.square(m) + tf.square(s) - 2 * l, 1, keepdims=True)
                 for m, s, l in zip(mus, sigmas, logsigmas)]
        return tf.sigmoid(canvas), tf.add_n(terms) - T * 0.5


def make():
    return Draw()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.rand(5, B, A).astype("float32"), r.randn(5, T, Z).astype("float32")


def load(ported, original):
    def n(p):
        return p.detach().numpy()

    def gates(w):
        i, f, g, o = np.split(w, 4, axis=0)
        return np.concatenate([i, g, f, o], 0)

    for k, c in (("enc", original.encoder), ("dec", original.decoder)):
        w = np.concatenate([gates(n(c.weight_ih)).T, gates(n(c.weight_hh)).T], 0)
        ported.p[k]["w"].assign(w)
        ported.p[k]["b"].assign(gates(n(c.bias_ih) + n(c.bias_hh)))
    for k, l in (("mu", original.mu_linear), ("sigma", original.sigma_linear), ("read", original.read_linear),
                 ("write", original.write_linear), ("w", original.w_linear)):
        ported.p[k]["w"].assign(n(l.weight).T)
        ported.p[k]["b"].assign(n(l.bias))
