"""STGCN traffic forecasting in TensorFlow, after VeritasYin/STGCN_IJCAI-18."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, T, KT, KS = 6, 10, 3, 3
BLOCKS = [(1, 4, 8), (8, 4, 8)]


def cheb_kernel():
    r = np.random.RandomState(11)
    W = r.rand(N, N) * (r.rand(N, N) < 0.6)
    L = np.eye(N) - W / (W.sum(1, keepdims=True) + 1e-3)
    L0, L1 = np.eye(N), L - np.eye(N) * 0.5
    out = [L0, L1]
    for _ in range(KS - 2):
        L0, L1 = L1, 2 * L1 @ (L - np.eye(N) * 0.5) - L0
        out.append(L1)
    return np.concatenate(out, -1).astype("float32")  # [n, Ks*n]


class Module(tf.Module):
    rng = None

    def var(self, name, shape, scale):
        return tf.Variable(self.rng.normal(0, scale, shape).astype("float32"), name=name)


def match(x, w_input, c_in, c_out):
    if c_in > c_out:
        return tf.nn.conv2d(x, w_input, strides=1, padding="SAME")
    if c_in < c_out:
        return tf.concat([x, tf.zeros([tf.shape(x)[0], x.shape[1], x.shape[2], c_out - c_in])], axis=3)
    return x


class TemporalConv(Module):
    def __init__(self, kt, c_in, c_out, act="relu"):
        super().__init__()
        self.kt, self.c_in, self.c_out, self.act = kt, c_in, c_out, act
        m = 2 if act == "GLU" else 1
        self.w_input = self.var("w_input", (1, 1, c_in, c_out), c_in ** -0.5) if c_in > c_out else None
        self.wt = self.var("wt", (kt, 1, c_in, m * c_out), (kt * c_in) ** -0.5)
        self.bt = self.var("bt", (m * c_out,), 0.3)

    def __call__(self, x):
        x_input = match(x, self.w_input, self.c_in, self.c_out)[:, self.kt - 1:, :, :]
        x_conv = tf.nn.conv2d(x, self.wt, strides=1, padding="VALID") + self.bt
        if self.act == "GLU":
            return (x_conv[..., :self.c_out] + x_input) * tf.nn.sigmoid(x_conv[..., -self.c_out:])
        if self.act == "sigmoid":
            return tf.nn.sigmoid(x_conv)
        return tf.nn.relu(x_conv + x_input)


def gconv(x, kernel, theta, c_in, c_out):
    n = kernel.shape[0]
    x_tmp = tf.reshape(tf.transpose(x, [0, 2, 1]), [-1, n])
    x_mul = tf.reshape(tf.matmul(x_tmp, kernel), [-1, c_in, KS, n])
    x_ker = tf.reshape(tf.transpose(x_mul, [0, 3, 1, 2]), [-1, c_in * KS])
    return tf.reshape(tf.matmul(x_ker, theta), [-1, n, c_out])


class SpatialConv(Module):
    def __init__(self, c_in, c_out, kernel):
        super().__init__()
        self.c_in, self.c_out = c_in, c_out
        self.kernel = kernel
        self.ws = self.var("ws", (KS * c_in, c_out), (KS * c_in) ** -0.5)
        self.bs = self.var("bs", (c_out,), 0.3)
        self.w_input = self.var("w_input", (1, 1, c_in, c_out), c_in ** -0.5) if c_in > c_out else None

    def __call__(self, x):
        t = x.shape[1]
        x_input = match(x, self.w_input, self.c_in, self.c_out)
        x_gc = gconv(tf.reshape(x, [-1, N, self.c_in]), self.kernel, self.ws, self.c_in, self.c_out)
        x_gc = tf.reshape(x_gc + self.bs, [-1, t, N, self.c_out])
        return tf.nn.relu(x_gc + x_input)


class LayerNorm(Module):
    def __init__(self, c):
        super().__init__()
        self.gamma = tf.Variable(self.rng.uniform(0.6, 1.4, (1, 1, N, c)).astype("float32"))
        self.beta = self.var("beta", (1, 1, N, c), 0.3)

    def __call__(self, x):
        mu, sigma = tf.nn.moments(x, axes=[2, 3], keepdims=True)
        return (x - mu) / tf.sqrt(sigma + 1e-6) * self.gamma + self.beta


class STConvBlock(Module):
    def __init__(self, channels, kernel):
        super().__init__()
        c_si, c_t, c_oo = channels
        self.t1 = TemporalConv(KT, c_si, c_t, "GLU")
        self.s = SpatialConv(c_t, c_t, kernel)
        self.t2 = TemporalConv(KT, c_t, c_oo)
        self.ln = LayerNorm(c_oo)

    def __call__(self, x):
        return self.ln(self.t2(self.s(self.t1(x))))


class STGCN(Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(cheb_kernel(), trainable=False)
        self.blocks = [STConvBlock(c, self.kernel) for c in BLOCKS]
        c = BLOCKS[-1][-1]
        ko = T - 2 * (KT - 1) * len(BLOCKS)
        self.out1 = TemporalConv(ko, c, c, "GLU")
        self.ln = LayerNorm(c)
        self.out2 = TemporalConv(1, c, c, "sigmoid")
        self.w = self.var("w", (1, 1, c, 1), 0.5)
        self.b = self.var("b", (N, 1), 0.3)

    def __call__(self, x):
        for blk in self.blocks:
            x = blk(x)
        x = self.out2(self.ln(self.out1(x)))
        return tf.nn.conv2d(x, self.w, strides=1, padding="SAME") + self.b


def make():
    Module.rng = np.random.RandomState(21)
    return STGCN()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, T, N, 1).astype("float32"),)
