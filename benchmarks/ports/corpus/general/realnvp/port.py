"""Density of a trained RealNVP in NumPy, for a service without a deep-learning framework."""

import numpy as np

FRAMEWORK = "numpy"

DIM, CONTEXT, HIDDEN, STEPS = 6, 3, 24, 4


def leaky_relu(x, slope=0.01):
    return np.where(x > 0, x, np.float32(slope) * x)


class Step:
    """Weights of one step of the flow: scale and shift, order of the columns, coupling."""

    def __init__(self, rng, reverse):
        half = DIM // 2
        self.reverse = reverse
        self.offset = np.zeros(DIM, np.float32)
        self.log_scale = np.zeros(DIM, np.float32)
        self.order = np.arange(DIM)
        sizes = [half + CONTEXT, HIDDEN, HIDDEN, 2 * half]
        self.layers = [
            (rng.normal(0, 0.1, (m, n)).astype(np.float32), np.zeros(n, np.float32))
            for m, n in zip(sizes[:-1], sizes[1:])
        ]
        self.rescale = np.ones(half, np.float32)

    def conditioner(self, kept, context):
        h = np.concatenate([kept, context], axis=1)
        for w, b in self.layers[:-1]:
            h = leaky_relu(h @ w + b)
        w, b = self.layers[-1]
        shift, raw = np.split(h @ w + b, 2, axis=1)
        return shift, self.rescale * np.tanh(raw)

    def __call__(self, x, context):
        x = (x + self.offset) * np.exp(self.log_scale)
        x = np.take(x, self.order, axis=1)
        first, second = np.split(x, 2, axis=1)
        kept, changed = (second, first) if self.reverse else (first, second)
        shift, log_s = self.conditioner(kept, context)
        changed = changed * np.exp(log_s) + shift
        y = np.hstack([changed, kept]) if self.reverse else np.hstack([kept, changed])
        return y, log_s.sum(axis=1) + self.log_scale.sum()


class Flow:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.steps = [Step(rng, reverse=i % 2 == 1) for i in range(STEPS)]

    def __call__(self, x, context):
        total = np.zeros(len(x), np.float32)
        z = x
        for step in self.steps:
            z, gain = step(z, context)
            total += gain
        constant = np.float32(0.5 * DIM * np.log(2 * np.pi))
        return z, total - 0.5 * np.square(z).sum(axis=1) - constant


def make(seed=50):
    return Flow(seed)


def load(model, reference):
    state = {k: v.detach().numpy().copy() for k, v in reference.state_dict().items()}
    for i, step in enumerate(model.steps):
        step.offset = state[f"norms.{i}.bias"]
        step.log_scale = state[f"norms.{i}.log_scale"]
        step.order = state[f"perms.{i}.perm"]
        net = f"couplings.{i}.conditioner"
        step.layers = [
            (state[f"{net}.net.{j}.weight"].T, state[f"{net}.net.{j}.bias"]) for j in (0, 2, 4)
        ]
        step.rescale = state[f"{net}.rescale"]
