"""Deep kernel Gaussian process in TensorFlow: SIREN features, RBF + linear kernel, exact posterior."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
JITTER = 1e-4


class Siren(tf.Module):
    def __init__(self, sizes, omega=3.0):
        super().__init__()
        self.omega = omega
        self.kernels, self.biases = [], []
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            bound = 1 / a if i == 0 else np.sqrt(6 / a) / omega
            self.kernels.append(tf.Variable(tf.random.uniform((a, b), -bound, bound)))
            self.biases.append(tf.Variable(tf.random.uniform((b,), -0.3, 0.3)))

    def __call__(self, x):
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1]):
            x = tf.sin(self.omega * (tf.matmul(x, kernel) + bias))
        return tf.matmul(x, self.kernels[-1]) + self.biases[-1]


class DeepKernelGP(tf.Module):
    def __init__(self):
        super().__init__()
        self.features = Siren([3, 12, 4])
        self.log_lengths = tf.Variable([0.1, -0.2, 0.3, -0.1])
        self.log_amplitude = tf.Variable(0.25)
        self.log_linear = tf.Variable(-1.2)
        self.log_noise = tf.Variable(-1.5)
        self.mean = tf.Variable(0.4)

    def kernel(self, a, b):
        scaled_a = a / tf.exp(self.log_lengths)
        scaled_b = b / tf.exp(self.log_lengths)
        squared = (
            tf.reduce_sum(scaled_a**2, -1)[:, None]
            + tf.reduce_sum(scaled_b**2, -1)[None, :]
            - 2.0 * tf.matmul(scaled_a, scaled_b, transpose_b=True)
        )
        rbf = tf.exp(2.0 * self.log_amplitude) * tf.exp(-0.5 * tf.maximum(squared, 0.0))
        return rbf + tf.exp(2.0 * self.log_linear) * tf.matmul(a, b, transpose_b=True)

    def __call__(self, x, y, new):
        n = x.shape[0]
        f, g = self.features(x), self.features(new)
        noise = tf.exp(2.0 * self.log_noise)
        covariance = self.kernel(f, f) + (noise + JITTER) * tf.eye(n)
        chol = tf.linalg.cholesky(covariance)
        residual = (y - self.mean)[:, None]
        alpha = tf.linalg.cholesky_solve(chol, residual)
        cross = self.kernel(f, g)
        mean = self.mean + tf.matmul(cross, alpha, transpose_a=True)[:, 0]
        v = tf.linalg.triangular_solve(chol, cross, lower=True)
        prior = tf.linalg.diag_part(self.kernel(g, g))
        variance = prior - tf.reduce_sum(v**2, axis=0) + noise
        evidence = (
            -0.5 * tf.reduce_sum(residual * alpha)
            - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))
            - 0.5 * n * np.log(2 * np.pi)
        )
        standard = (mean - tf.reduce_max(y)) / tf.sqrt(variance)
        improvement = tf.sqrt(variance) * (
            standard * 0.5 * (1.0 + tf.math.erf(standard / np.sqrt(2.0)))
            + tf.exp(-0.5 * standard**2) / np.sqrt(2 * np.pi)
        )
        return mean, variance, evidence, improvement


def make():
    tf.random.set_seed(8)
    return DeepKernelGP()


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(9, 3)).astype("float32")
    y = (np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=9)).astype("float32")
    return x, y, rng.normal(size=(5, 3)).astype("float32")
