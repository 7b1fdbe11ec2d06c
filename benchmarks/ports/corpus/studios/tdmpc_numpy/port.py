"""TD-MPC2's latent model in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
V, NQ = 4, 3


class NumpyTDMPC:
    def linear(self, x, n):
        return x @ self.p[n + ".weight"].T + self.p[n + ".bias"]

    def softmax(self, x, axis=-1):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    def normed(self, x, n):
        x = self.linear(x, n)
        mu = x.mean(-1, keepdims=True)
        var = x.var(-1, keepdims=True)
        return (x - mu) / np.sqrt(var + 1e-5) * self.p[n + ".ln.weight"] + self.p[n + ".ln.bias"]

    def mish(self, x):
        return x * np.tanh(np.logaddexp(x, 0))

    def simnorm(self, x):
        g = x.reshape(x.shape[:-1] + (-1, V))
        return self.softmax(g, -1).reshape(x.shape)

    def two_hot_inv(self, logits):
        x = (self.softmax(logits) * self.p["bins"]).sum(-1)
        return np.sign(x) * (np.exp(np.abs(x)) - 1)

    def head(self, x, n):
        return self.linear(self.mish(self.normed(x, n + ".0")), n + ".1")

    def __call__(self, obs, action):
        z = self.simnorm(self.normed(self.mish(self.normed(obs, "enc.0")), "enc.1"))
        za = np.concatenate([z, action], -1)
        nz = self.simnorm(self.normed(self.mish(self.normed(za, "dyn.0")), "dyn.1"))
        r = self.two_hot_inv(self.head(za, "rew"))
        nza = np.concatenate([nz, action], -1)
        q = np.stack([self.two_hot_inv(self.head(nza, f"qs.{i}")) for i in range(NQ)])
        return nz, r, r + 0.97 * q.min(0)


def make():
    return NumpyTDMPC()


def load(model, reference):
    model.p = {k: v.numpy() for k, v in reference.state_dict().items()}
