"""VQ-VAE on plain TensorFlow ops, NHWC."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


def _variable(rng, *shape):
    return tf.Variable(rng.normal(0, 0.1, shape).astype(np.float32))


class Conv(tf.Module):
    def __init__(self, rng, k, cin, cout, stride=1):
        super().__init__()
        self.stride = stride
        self.kernel = _variable(rng, k, k, cin, cout)
        self.bias = _variable(rng, cout)

    def __call__(self, x):
        return tf.nn.bias_add(tf.nn.conv2d(x, self.kernel, self.stride, "SAME"), self.bias)


class UpConv(tf.Module):
    def __init__(self, rng, k, cin, cout):
        super().__init__()
        self.kernel = _variable(rng, k, k, cout, cin)
        self.bias = _variable(rng, cout)

    def __call__(self, x):
        b, h, w, _ = x.shape
        shape = (b, 2 * h, 2 * w, self.kernel.shape[2])
        return tf.nn.conv2d_transpose(x, self.kernel, shape, strides=2, padding="SAME") + self.bias


class ResBlock(tf.Module):
    def __init__(self, rng, channels, hidden):
        super().__init__()
        self.a = Conv(rng, 3, channels, hidden)
        self.b = Conv(rng, 1, hidden, channels)

    def __call__(self, x):
        r = tf.nn.relu(x)
        return r + self.b(tf.nn.relu(self.a(r)))


def nearest_code(z, codebook):
    """z (..., d), codebook (k, d) -> indices (...)"""
    cross = tf.einsum("bhwd,kd->bhwk", z, codebook)
    score = tf.reduce_sum(codebook ** 2, axis=-1) - 2.0 * cross
    return tf.argmin(score, axis=-1)


class VQVAE(tf.Module):
    beta = 0.25

    def __init__(self, hidden=16, dim=6, codes=12):
        super().__init__()
        rng = np.random.default_rng(3)
        self.e1 = Conv(rng, 4, 3, hidden // 2, 2)
        self.e2 = Conv(rng, 4, hidden // 2, hidden, 2)
        self.eres = [ResBlock(rng, hidden, 8) for _ in range(2)]
        self.to_code = Conv(rng, 1, hidden, dim)
        self.codebook = _variable(rng, codes, dim)
        self.from_code = Conv(rng, 3, dim, hidden)
        self.dres = ResBlock(rng, hidden, 8)
        self.u1 = UpConv(rng, 4, hidden, hidden // 2)
        self.u2 = UpConv(rng, 4, hidden // 2, 3)

    def encode(self, x):
        h = self.e2(tf.nn.relu(self.e1(x)))
        for block in self.eres:
            h = block(h)
        return self.to_code(tf.nn.relu(h))

    def decode(self, q):
        h = tf.nn.relu(self.dres(self.from_code(q)))
        return self.u2(tf.nn.relu(self.u1(h)))

    def __call__(self, x):
        x = tf.convert_to_tensor(x)
        z = self.encode(x)
        index = nearest_code(z, self.codebook)
        q = tf.gather(self.codebook, index)
        commitment = tf.reduce_mean(tf.square(tf.stop_gradient(q) - z))
        codebook_loss = tf.reduce_mean(tf.square(q - tf.stop_gradient(z)))
        loss = codebook_loss + self.beta * commitment
        one_hot = tf.one_hot(index, self.codebook.shape[0])
        usage = tf.reduce_mean(one_hot, axis=[0, 1, 2])
        entropy = -tf.reduce_sum(usage * tf.math.log(usage + 1e-10))
        recon = self.decode(z + tf.stop_gradient(q - z))
        return recon, loss, tf.exp(entropy)


def make():
    return VQVAE()


def _conv(dst, src):
    dst.kernel.assign(src.weight.detach().numpy().transpose(2, 3, 1, 0))
    dst.bias.assign(src.bias.detach().numpy())


def _upconv(dst, src):
    kernel = src.weight.detach().numpy().transpose(2, 3, 1, 0)
    dst.kernel.assign(kernel)
    dst.bias.assign(src.bias.detach().numpy())


def load(model, reference):
    _conv(model.e1, reference.enc1)
    _conv(model.e2, reference.enc2)
    for dst, src in zip(model.eres + [model.dres], list(reference.enc_res) + [reference.dec_res]):
        _conv(dst.a, src.block[1])
        _conv(dst.b, src.block[3])
    _conv(model.to_code, reference.pre)
    model.codebook.assign(reference.vq.embedding.weight.detach().numpy())
    _conv(model.from_code, reference.dec_in)
    _upconv(model.u1, reference.up1)
    _upconv(model.u2, reference.up2)


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 3, 16, 24)).astype(np.float32)
    return (np.ascontiguousarray(x.transpose(0, 2, 3, 1)),)
