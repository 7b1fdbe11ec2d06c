"""STGCN (Yu et al. 2018), after VeritasYin/STGCN_IJCAI-18: TensorFlow, (batch, time, nodes, channels)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
N_NODES, T, KS, KT = 6, 12, 3, 3


def weight_matrix():
    r = np.random.RandomState(77)
    d = np.abs(r.randn(N_NODES, N_NODES))
    w = np.exp(-(d + d.T) / 2)
    np.fill_diagonal(w, 0)
    return w


def scaled_laplacian(W):
    d = np.sum(W, axis=1)
    L = np.diag(d) - W
    L = L / np.sqrt(np.outer(d, d))
    lambda_max = np.linalg.eigvalsh(L).max()
    return 2 * L / lambda_max - np.identity(W.shape[0])


def cheb_poly_approx(L, Ks):
    L0, L1 = np.identity(L.shape[0]), L
    L_list = [L0, L1]
    for _ in range(Ks - 2):
        Ln = 2 * L @ L1 - L0
        L_list.append(Ln)
        L0, L1 = L1, Ln
    return np.concatenate(L_list, axis=-1).astype("float32")


class STGCN(tf.Module):
    def __init__(self, blocks=((2, 4, 8), (8, 4, 8)), seed=4):
        super().__init__()
        self.rng = np.random.RandomState(seed)
        self.blocks = blocks
        self.kernel = tf.constant(cheb_poly_approx(scaled_laplacian(weight_matrix()), KS))
        self.vars = {}
        for i, (ci, cs, co) in enumerate(blocks):
            self._tconv(f"b{i}/t1", KT, ci, 2 * cs)
            self._var(f"b{i}/s/w", (KS * cs, cs))
            self._var(f"b{i}/s/b", (cs,))
            self._tconv(f"b{i}/t2", KT, cs, 2 * co)
            self._norm(f"b{i}/ln", co)
        c = blocks[-1][2]
        self._tconv("out/t1", T - 2 * len(blocks) * (KT - 1), c, 2 * c)
        self._norm("out/ln", c)
        self._tconv("out/t2", 1, c, c)
        self._var("out/fc/w", (1, 1, c, 1))
        self._var("out/fc/b", (1, N_NODES, 1))

    def _var(self, name, shape, base=0.0, scale=None):
        scale = scale or (1.2 / np.prod(shape[:-1]) ** 0.5 if len(shape) > 1 else 0.3)
        self.vars[name] = tf.Variable((base + scale * self.rng.randn(*shape)).astype("float32"))

    def _tconv(self, name, k, ci, co):
        self._var(name + "/w", (k, 1, ci, co))
        self._var(name + "/b", (co,))

    def _norm(self, name, c):
        self._var(name + "/g", (1, 1, N_NODES, c), 1.0, 0.3)
        self._var(name + "/b", (1, 1, N_NODES, c), 0.0, 0.3)

    def gconv(self, x, name):
        """Spectral graph convolution: (batch, nodes, c_in) -> (batch, nodes, c_out)."""
        n, c_in = N_NODES, x.shape[-1]
        x_tmp = tf.reshape(tf.transpose(x, [0, 2, 1]), [-1, n])
        x_mul = tf.reshape(tf.matmul(x_tmp, self.kernel), [-1, c_in, KS, n])
        x_ker = tf.reshape(tf.transpose(x_mul, [0, 3, 1, 2]), [-1, c_in * KS])
        return tf.reshape(tf.matmul(x_ker, self.vars[name + "/w"]), [-1, n, self.vars[name + "/w"].shape[-1]])

    def layer_norm(self, x, name):
        mu, sigma = tf.nn.moments(x, axes=[2, 3], keepdims=True)
        return (x - mu) / tf.sqrt(sigma + 1e-6) * self.vars[name + "/g"] + self.vars[name + "/b"]

    def residual(self, x, c_out):
        c_in = x.shape[-1]
        if c_in < c_out:
            return tf.concat([x, tf.zeros([tf.shape(x)[0], x.shape[1], x.shape[2], c_out - c_in])], axis=3)
        return x[..., :c_out]

    def temporal_conv(self, x, name, act):
        w, b = self.vars[name + "/w"], self.vars[name + "/b"]
        kt = w.shape[0]
        x_conv = tf.nn.conv2d(x, w, strides=1, padding="VALID") + b
        if act == "GLU":
            c_out = w.shape[-1] // 2
            x_input = self.residual(x, c_out)[:, kt - 1:]
            return (x_conv[..., :c_out] + x_input) * tf.nn.sigmoid(x_conv[..., -c_out:])
        return tf.nn.sigmoid(x_conv)

    def spatial_conv(self, x, name):
        t, n, c = x.shape[1], x.shape[2], x.shape[3]
        x_gconv = self.gconv(tf.reshape(x, [-1, n, c]), name) + self.vars[name + "/b"]
        x_gc = tf.reshape(x_gconv, [-1, t, n, c])
        return tf.nn.relu(x_gc + x)

    def __call__(self, x):
        for i in range(len(self.blocks)):
            x_s = self.temporal_conv(x, f"b{i}/t1", "GLU")
            x_t = self.spatial_conv(x_s, f"b{i}/s")
            x_o = self.temporal_conv(x_t, f"b{i}/t2", "GLU")
            x = self.layer_norm(x_o, f"b{i}/ln")
        x = self.temporal_conv(x, "out/t1", "GLU")
        x = self.layer_norm(x, "out/ln")
        x = self.temporal_conv(x, "out/t2", "sigmoid")
        y = tf.nn.conv2d(x, self.vars["out/fc/w"], strides=1, padding="SAME") + self.vars["out/fc/b"]
        return y[:, 0, :, 0]


def make():
    return STGCN()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, T, N_NODES, 2).astype("float32"),)
