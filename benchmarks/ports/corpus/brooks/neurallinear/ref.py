"""Neural linear bandit (Riquelme et al. 2018): Bayesian regression per arm on learned features."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CTX, D, ARMS, H = 6, 5, 4, 6
A0, B0, LAMBDA, FORGET, BETA, IGW = 3.0, 2.0, 0.5, 0.9, 0.7, 8.0


class FeatureNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.w1 = tf.Variable(rng.randn(CTX, 12).astype("f") * 0.5)
        self.b1 = tf.Variable(rng.randn(12).astype("f") * 0.3)
        self.w2 = tf.Variable(rng.randn(12, D).astype("f") * 0.5)
        self.b2 = tf.Variable(rng.randn(D).astype("f") * 0.3)

    def __call__(self, x):
        h = tf.nn.relu(tf.tensordot(x, self.w1, 1) + self.b1)
        h = tf.tanh(tf.tensordot(h, self.w2, 1) + self.b2)
        return h / tf.sqrt(tf.reduce_sum(h ** 2, axis=-1, keepdims=True) + 1e-6)


class NeuralLinear(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.features = FeatureNet(rng)
        self.mu0 = tf.Variable(rng.randn(ARMS, D).astype("f") * 0.4)

    def posterior(self, phi, arms, rewards):
        decay = tf.constant(FORGET ** np.arange(H - 1, -1, -1), tf.float32)
        weight = arms * decay[None, :, None]
        outer = tf.einsum("bha,bhi,bhj->baij", weight, phi, phi)
        precision = LAMBDA * tf.eye(D) + outer
        rhs = LAMBDA * self.mu0[None] + tf.einsum("bha,bhi,bh->bai", weight, phi, rewards)
        chol = tf.linalg.cholesky(precision)
        mean = tf.linalg.cholesky_solve(chol, rhs[..., None])[..., 0]

        a = A0 + 0.5 * tf.reduce_sum(weight, axis=1)
        sq = tf.einsum("bha,bh->ba", weight, rewards ** 2)
        prior = LAMBDA * tf.reduce_sum(self.mu0 ** 2, axis=-1)
        post = tf.einsum("bai,baij,baj->ba", mean, precision, mean)
        b = B0 + 0.5 * (sq + prior - post)
        return mean, chol, b / (a - 1.0)

    def __call__(self, context, past_context, arms, rewards, noise):
        phi = self.features(context)
        mean, chol, noise_var = self.posterior(self.features(past_context), arms, rewards)

        expected = tf.einsum("bi,bai->ba", phi, mean)
        rhs = tf.tile(phi[:, None, :, None], (1, ARMS, 1, 1))
        half = tf.linalg.triangular_solve(chol, rhs)[..., 0]
        width = tf.sqrt(noise_var * tf.reduce_sum(half ** 2, axis=-1))
        ucb = expected + BETA * width

        step = tf.linalg.triangular_solve(chol, noise[..., None], adjoint=True)[..., 0]
        theta = mean + tf.sqrt(noise_var)[..., None] * step
        sampled = tf.einsum("bi,bai->ba", phi, theta)

        gap = tf.reduce_max(expected, axis=1, keepdims=True) - expected
        best = tf.one_hot(tf.argmax(expected, axis=1), ARMS)
        igw = (1.0 - best) / (ARMS + IGW * gap)
        probs = igw + best * (1.0 - tf.reduce_sum(igw, axis=1, keepdims=True))
        return ucb, sampled, probs, noise_var


def make():
    return NeuralLinear(np.random.RandomState(19))


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    context = r.randn(B, CTX).astype("float32")
    past = r.randn(B, H, CTX).astype("float32")
    arms = np.eye(ARMS, dtype="float32")[r.randint(0, ARMS, (B, H))]
    rewards = (r.randn(B, H) * 1.3).astype("float32")
    noise = r.randn(B, ARMS, D).astype("float32")
    return context, past, arms, rewards, noise
