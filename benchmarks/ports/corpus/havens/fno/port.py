"""FNO in TensorFlow, channels last; spectra are laid out by concatenation, as tensors cannot be written to."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, HIDDEN, K, BLOCKS = 16, 8, 4, 3


class Dense(tf.Module):
    def __init__(self, n_in, n_out, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 0.2, (n_in, n_out)), dtype=tf.float32)
        self.b = tf.Variable(tf.zeros(n_out))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class Spectral(tf.Module):
    def __init__(self, rng):
        super().__init__()
        shape = (HIDDEN, HIDDEN, K, K)
        draw = lambda: tf.Variable((rng.normal(size=shape) + 1j * rng.normal(size=shape)) * 0.1, dtype=tf.complex64)
        self.low = draw()
        self.high = draw()

    def __call__(self, x):
        spectrum = tf.signal.rfft2d(tf.transpose(x, (0, 3, 1, 2)))
        top = tf.einsum("bixy,ioxy->boxy", spectrum[:, :, :K, :K], self.low)
        bottom = tf.einsum("bixy,ioxy->boxy", spectrum[:, :, -K:, :K], self.high)
        batch = tf.shape(x)[0]
        gap = tf.zeros((batch, HIDDEN, N - 2 * K, K), tf.complex64)
        kept = tf.concat([top, gap, bottom], axis=2)
        full = tf.pad(kept, [[0, 0], [0, 0], [0, 0], [0, N // 2 + 1 - K]])
        return tf.transpose(tf.signal.irfft2d(full, fft_length=[N, N]), (0, 2, 3, 1))


class FNO(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.encoder = Dense(3, HIDDEN, rng)
        self.fourier = [Spectral(rng) for _ in range(BLOCKS)]
        self.local = [Dense(HIDDEN, HIDDEN, rng) for _ in range(BLOCKS)]
        self.decoder1 = Dense(HIDDEN, 24, rng)
        self.decoder2 = Dense(24, 1, rng)

    def with_coordinates(self, a):
        axis = tf.linspace(0.0, 1.0, N)
        rows, cols = tf.meshgrid(axis, axis, indexing="ij")
        grid = tf.stack([rows, cols], axis=-1)
        grid = tf.tile(grid[None], (tf.shape(a)[0], 1, 1, 1))
        return tf.concat([a[..., None], grid], axis=-1)

    def __call__(self, a):
        x = self.encoder(self.with_coordinates(a))
        for fourier, local in zip(self.fourier[:-1], self.local[:-1]):
            x = tf.nn.gelu(fourier(x) + local(x))
        x = self.fourier[-1](x) + self.local[-1](x)
        x = tf.nn.gelu(self.decoder1(x))
        return tf.squeeze(self.decoder2(x), -1)


def make():
    return FNO(8)


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.normal(size=(4, 8, 8)).repeat(2, 1).repeat(2, 2)
    return (np.where(coarse > 0, 1.2, 0.3) + 0.05 * rng.normal(size=(4, N, N))).astype("float32")


def load(ported, original):
    def dense(layer, linear):
        weight = linear.weight.detach().numpy()
        layer.w.assign(weight.reshape(weight.shape[:2]).T)
        layer.b.assign(linear.bias.detach().numpy())

    dense(ported.encoder, original.lift)
    for ours, theirs in zip(ported.fourier, original.spectral):
        ours.low.assign(theirs.weights1.detach().numpy())
        ours.high.assign(theirs.weights2.detach().numpy())
    for ours, theirs in zip(ported.local, original.skip):
        dense(ours, theirs)
    dense(ported.decoder1, original.project1)
    dense(ported.decoder2, original.project2)
