"""Serving and scoring the mixture density network with NumPy alone."""
import numpy as np

FRAMEWORK = "numpy"


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def softplus(x):
    return np.logaddexp(x, 0)


def logsumexp(x, axis):
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)


class NumpyMDN:
    def __init__(self, components=4, dim=3):
        self.k = components
        self.d = dim
        self.params = {}

    def dense(self, name, x):
        weight, bias = self.params[name]
        return x @ weight + bias

    def heads(self, x):
        h = elu(self.dense("h0", x))
        h = elu(self.dense("h1", h))
        logits = self.dense("pi", h)
        mu = self.dense("mu", h).reshape(len(x), self.k, self.d)
        raw = self.dense("chol", h).reshape(len(x), self.k, -1)
        return logits, mu, self.factor(raw)

    def factor(self, raw):
        chol = np.zeros(raw.shape[:2] + (self.d, self.d), raw.dtype)
        i = 0
        for row in range(self.d):
            for col in range(row + 1):
                chol[..., row, col] = raw[..., i]
                i += 1
        for j in range(self.d):
            chol[..., j, j] = softplus(chol[..., j, j]) + 1e-3
        return chol

    def component_log_prob(self, y, mu, chol):
        far = (y[:, None, :] - mu)[..., None]
        white = np.linalg.solve(chol, far)[..., 0]
        half_log_det = np.log(np.diagonal(chol, axis1=-2, axis2=-1)).sum(-1)
        mahalanobis = (white**2).sum(-1)
        return -0.5 * (mahalanobis + self.d * np.log(2 * np.pi)) - half_log_det

    def __call__(self, x, y):
        logits, mu, chol = self.heads(x)
        log_pi = logits - logsumexp(logits, -1)[:, None]
        nll = -logsumexp(log_pi + self.component_log_prob(y, mu, chol), axis=-1)
        mean = (np.exp(log_pi)[..., None] * mu).sum(axis=1)
        return {"mean": mean, "nll": nll, "loss": nll.mean()}


def make():
    return NumpyMDN()


def load(model, reference):
    names = {"h0": reference.trunk[0], "h1": reference.trunk[2],
             "pi": reference.pi, "mu": reference.mu, "chol": reference.chol}
    for name, layer in names.items():
        model.params[name] = (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
