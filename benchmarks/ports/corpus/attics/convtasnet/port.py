"""Conv-TasNet in plain TensorFlow: tf.Module, time before channels."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
L, N, B, H, P, X, R, C = 16, 24, 12, 20, 3, 3, 2, 2


class Pointwise(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.zeros([n_in, n_out]), name="w")
        self.b = tf.Variable(tf.zeros([n_out]), name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Norm(tf.Module):
    def __init__(self, n, axes, name=None):
        super().__init__(name=name)
        self.axes = axes
        self.gamma = tf.Variable(tf.ones([n]), name="gamma")
        self.beta = tf.Variable(tf.zeros([n]), name="beta")

    def __call__(self, x):
        mean, var = tf.nn.moments(x, self.axes, keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.beta, self.gamma, 1e-8)


def prelu(x, slope):
    return tf.maximum(x, 0.0) + slope * tf.minimum(x, 0.0)


class Block(tf.Module):
    def __init__(self, dilation, name=None):
        super().__init__(name=name)
        self.dilation = dilation
        self.inp = Pointwise(B, H)
        self.slope1 = tf.Variable(0.25, name="slope1")
        self.norm1 = Norm(H, [1, 2])
        self.kernel = tf.Variable(tf.zeros([1, P, H, 1]), name="kernel")
        self.bias = tf.Variable(tf.zeros([H]), name="bias")
        self.slope2 = tf.Variable(0.25, name="slope2")
        self.norm2 = Norm(H, [1, 2])
        self.res = Pointwise(H, B)
        self.skip = Pointwise(H, B)

    def __call__(self, x):
        y = self.norm1(prelu(self.inp(x), self.slope1))
        y = tf.nn.depthwise_conv2d(y[:, None], self.kernel, [1, 1, 1, 1], "SAME", dilations=[1, self.dilation])
        y = tf.nn.bias_add(y[:, 0], self.bias)
        y = self.norm2(prelu(y, self.slope2))
        return x + self.res(y), self.skip(y)


class TasNet(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.analysis = tf.Variable(tf.zeros([L, N]), name="analysis")
        self.synthesis = tf.Variable(tf.zeros([N, L]), name="synthesis")
        self.norm = Norm(N, [2])
        self.bottleneck = Pointwise(N, B)
        self.blocks = [Block(2 ** i) for _ in range(R) for i in range(X)]
        self.slope = tf.Variable(0.25, name="slope")
        self.mask = Pointwise(B, C * N)

    def __call__(self, wav):
        frames = tf.signal.frame(wav, L, L // 2)
        mix = tf.nn.relu(frames @ self.analysis)              # B K N
        x = self.bottleneck(self.norm(mix))
        skips = []
        for block in self.blocks:
            x, s = block(x)
            skips.append(s)
        y = prelu(tf.add_n(skips), self.slope)
        masks = tf.sigmoid(self.mask(y))
        k = tf.shape(mix)[1]
        masks = tf.transpose(tf.reshape(masks, [-1, k, C, N]), [0, 2, 1, 3])
        sources = masks * mix[:, None]
        return tf.signal.overlap_and_add(sources @ self.synthesis, L // 2)


def make(seed=2):
    net = TasNet()
    rng = np.random.default_rng(seed)
    for v in net.variables:
        z = rng.standard_normal(v.shape)
        if "gamma" in v.name:
            v.assign(1 + 0.2 * z)
        elif "slope" in v.name:
            v.assign(0.2 + 0.02 * z)
        else:
            v.assign(0.25 * z)
    return net


def inputs(seed):
    r = np.random.default_rng(seed)
    t = np.arange(240) / 8000.0
    f = r.uniform(150, 900, (4, 2, 3, 1))
    s = (r.uniform(0.2, 1, f.shape) * np.sin(2 * np.pi * f * t + r.uniform(0, 6.28, f.shape))).sum((1, 2))
    return (s + 0.1 * r.standard_normal(s.shape)).astype(np.float32)


def load(ported, original):
    n = lambda t: t.detach().cpu().numpy()

    def pointwise(dst, conv):
        dst.w.assign(n(conv.weight)[:, :, 0].T)
        dst.b.assign(n(conv.bias))

    def norm(dst, src):
        dst.gamma.assign(n(src.gamma).ravel())
        dst.beta.assign(n(src.beta).ravel())

    ported.analysis.assign(n(original.encoder.weight)[:, 0].T)
    ported.synthesis.assign(n(original.decoder.weight)[:, 0])
    norm(ported.norm, original.norm)
    pointwise(ported.bottleneck, original.bottleneck)
    pointwise(ported.mask, original.mask)
    ported.slope.assign(n(original.out_act.weight)[0])
    for d, s in zip(ported.blocks, original.blocks):
        pointwise(d.inp, s.expand)
        pointwise(d.res, s.res)
        pointwise(d.skip, s.skip)
        norm(d.norm1, s.norm1)
        norm(d.norm2, s.norm2)
        d.slope1.assign(n(s.act1.weight)[0])
        d.slope2.assign(n(s.act2.weight)[0])
        d.kernel.assign(n(s.depthwise.weight)[:, 0].T[None, :, :, None])
        d.bias.assign(n(s.depthwise.bias))
