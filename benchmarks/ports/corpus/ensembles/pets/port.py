"""The PETS ensemble and its loss in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
OBS, ACT, ENS, HID = 4, 2, 5, 20


class NumpyPETS:
    def softplus(self, x):
        return np.logaddexp(x, np.zeros_like(x))

    def __call__(self, obs, act, next_obs):
        x = np.concatenate([obs, act], -1)
        x = (x - self.mu) / self.sigma
        h = np.broadcast_to(x, (ENS,) + x.shape)
        for w, b in zip(self.w[:-1], self.b[:-1]):
            h = np.matmul(h, w) + b
            h = h / (1 + np.exp(-h))
        out = np.matmul(h, self.w[-1]) + self.b[-1]
        mean, logvar = out[..., :OBS], out[..., OBS:]
        logvar = self.max_logvar - self.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + self.softplus(logvar - self.min_logvar)
        target = next_obs - obs
        nll = np.mean((mean - target) ** 2 * np.exp(-logvar) + logvar, -1)
        nll = np.sum(nll, 0)
        loss = nll + np.float32(0.01) * (np.sum(self.max_logvar) - np.sum(self.min_logvar))
        epistemic = np.var(mean, 0, ddof=1)
        return {"next": obs + mean, "var": np.exp(logvar), "loss": loss, "epistemic": epistemic}


def make():
    return NumpyPETS()


def load(net, ref):
    n = lambda p: p.detach().numpy().copy()
    net.w, net.b = [n(w) for w in ref.w], [n(b) for b in ref.b]
    net.max_logvar, net.min_logvar, net.mu, net.sigma = n(ref.max_logvar), n(ref.min_logvar), n(ref.mu), n(ref.sigma)
