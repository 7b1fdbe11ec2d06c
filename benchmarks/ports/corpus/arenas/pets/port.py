"""The probabilistic ensemble in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
E, OBS, ACT, H = 5, 6, 2, 32


def swish(x):
    return x / (1.0 + np.exp(-x))


def softplus(x):
    return np.logaddexp(np.float32(0.0), x)


class NumpyPETS:
    def __call__(self, obs, action):
        p = self.p
        x = np.concatenate([obs, action], axis=-1)
        x = (x - p["mu"]) / self.sigma
        x = np.tile(x[None], (E, 1, 1))
        for i in range(2):
            x = swish(np.matmul(x, p[f"w{i}"]) + p[f"b{i}"])
        x = np.matmul(x, p["w2"]) + p["b2"]
        mean, logvar = np.split(x, 2, axis=-1)
        logvar = p["max_logvar"] - softplus(p["max_logvar"] - logvar)
        logvar = p["min_logvar"] + softplus(logvar - p["min_logvar"])
        mean = mean * p["t_sigma"] + p["t_mu"]
        var = np.exp(logvar) * p["t_sigma"] ** 2
        nxt = obs + mean
        epistemic = np.var(nxt, axis=0, ddof=0)
        return {"next": nxt.mean(axis=0), "std": np.sqrt(var.mean(axis=0) + epistemic), "disagreement": epistemic.sum(axis=-1)}


def make():
    return NumpyPETS()


def load(net, ref):
    net.p = {k: v.numpy() for k, v in ref.state_dict().items()}
    net.sigma = net.p["sigma"].copy()
