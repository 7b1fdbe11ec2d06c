"""A conditional Glow on vectors (Kingma & Dhariwal 2018): log density and latent, in plain NumPy."""

import numpy as np

FRAMEWORK = "numpy"
DIM, CONTEXT, HIDDEN, STEPS = 6, 5, 32, 4


class Step:
    """Actnorm, an invertible linear map W = P L U, and an affine coupling."""

    def __init__(self, rng):
        def draw(*shape, scale=None):
            return (rng.normal(size=shape) * (scale or shape[-1] ** -0.5)).astype("float32")

        half = DIM // 2
        self.perm = rng.permutation(DIM)
        self.loc, self.log_scale = draw(DIM, scale=0.3), draw(DIM, scale=0.3)
        self.lower, self.upper = np.tril(draw(DIM, DIM, scale=0.2), -1), np.triu(draw(DIM, DIM, scale=0.2), 1)
        self.log_diag = draw(DIM, scale=0.3)
        self.sign = np.where(rng.random(DIM) < 0.5, -1, 1).astype("float32")
        self.w1, self.b1 = draw(HIDDEN, half + CONTEXT), draw(HIDDEN, scale=0.2)
        self.w2, self.b2 = draw(2 * half, HIDDEN), draw(2 * half, scale=0.2)

    def __call__(self, x, context):
        x = (x + self.loc) * np.exp(self.log_scale)
        logdet = self.log_scale.sum() + self.log_diag.sum()

        lower = self.lower + np.eye(DIM, dtype="float32")
        upper = self.upper + np.diag(self.sign * np.exp(self.log_diag))
        x = x[:, self.perm] @ (lower @ upper).T

        kept, moved = np.split(x, 2, axis=-1)
        h = np.maximum(np.concatenate([kept, context], -1) @ self.w1.T + self.b1, 0)
        scale, shift = np.split(h @ self.w2.T + self.b2, 2, axis=-1)
        scale = np.tanh(scale)
        moved = moved * np.exp(scale) + shift
        return np.concatenate([moved, kept], -1), logdet + scale.sum(-1)


class Flow:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.steps = [Step(rng) for _ in range(STEPS)]

    def __call__(self, x, context):
        total = 0
        for step in self.steps:
            x, logdet = step(x, context)
            total = total + logdet
        prior = -0.5 * (x**2 + np.float32(np.log(2 * np.pi))).sum(-1)
        return x, prior + total


def make(seed=0):
    return Flow(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(6, n)).astype("float32") for n in (DIM, CONTEXT))
