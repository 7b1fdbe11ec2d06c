"""AIRL discriminator for ChainerRL."""
import parity  # noqa: F401
import numpy as np



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, ACT, HID = 8, 3, 24
BIAS = chainer.initializers.Normal(0.1)


def unit(x):
    return x / F.sqrt(F.sum(x * x))


class SNLinear(L.Linear):
    def __init__(self, n_in, n_out, n_iter=3):
        super().__init__(n_in, n_out, initial_bias=BIAS)
        self.n_iter = n_iter
        self.add_persistent("u", np.random.normal(size=n_out).astype("float32"))

    def forward(self, x):
        u = chainer.as_variable(self.u)
        for _ in range(self.n_iter):
            v = unit(F.matmul(self.W, u, transa=True))
            u = unit(F.matmul(self.W, v))
        sigma = F.matmul(u, F.matmul(self.W, v))
        return F.linear(x, self.W / F.broadcast_to(sigma, self.W.shape), self.b)


class ObsNormalizer(chainer.Link):
    def __init__(self, size, clip=3.0):
        super().__init__()
        self.clip = clip
        self.add_persistent("mean", np.zeros(size, "float32"))
        self.add_persistent("std", np.ones(size, "float32"))

    def forward(self, x):
        return F.clip((x - self.mean) / self.std, -self.clip, self.clip)


class Discriminator(chainer.Chain):
    def __init__(self, gamma=0.95, smoothing=0.1):
        super().__init__()
        self.gamma, self.smoothing = gamma, smoothing
        with self.init_scope():
            self.norm = ObsNormalizer(OBS)
            self.g = chainer.Sequential(SNLinear(OBS + ACT, HID), F.relu, SNLinear(HID, HID), F.relu, SNLinear(HID, 1))
            self.h = chainer.Sequential(SNLinear(OBS, HID), F.tanh, SNLinear(HID, 1))
            self.pi = chainer.Sequential(
                L.Linear(OBS, HID, initial_bias=BIAS), F.tanh, L.Linear(HID, ACT, initial_bias=BIAS)
            )
            self.log_std = chainer.Parameter(np.zeros(ACT, "float32"))

    def log_prob(self, s, a):
        mean = self.pi(s)
        inv_var = F.broadcast_to(F.exp(-2 * self.log_std), mean.shape)
        quad = F.sum((a - mean) ** 2 * inv_var, axis=1)
        const = F.sum(2 * self.log_std + float(np.log(2 * np.pi)))
        return -0.5 * (quad + F.broadcast_to(const, quad.shape))

    def forward(self, obs, action, next_obs, done, expert):
        n = len(obs)
        both = self.norm(np.concatenate([obs, next_obs]))
        s = both[:n]
        h, h_next = F.split_axis(F.squeeze(self.h(both), 1), 2, 0)
        g = F.squeeze(self.g(F.concat([s, action])), 1)
        alive = 1 - done
        f = g + self.gamma * h_next * alive - h
        log_pi = self.log_prob(s, action)
        logits = f - log_pi
        target = expert + self.smoothing * (0.5 - expert)
        loss = F.softplus(logits) - target * logits
        return {"f": f, "log_pi": log_pi, "reward": F.clip(logits, -10.0, 10.0), "loss": loss}


def make():
    np.random.seed(77)
    return Discriminator()


def load(model, reference):
    def dense(link, layer):
        link.W.array[...] = np.asarray(layer.kernel).T
        link.b.array[...] = np.asarray(layer.bias)
        if isinstance(link, SNLinear):
            link.u[...] = np.asarray(layer.u)[0]

    for name in ("g", "h", "pi"):
        links = [x for x in getattr(model, name) if isinstance(x, chainer.Link)]
        for link, layer in zip(links, getattr(reference, name).layers):
            dense(link, layer)
    model.log_std.array[...] = np.asarray(reference.log_std)
    norm = reference.norm
    model.norm.mean[...] = np.asarray(norm.mean)
    model.norm.std[...] = np.sqrt(np.asarray(norm.m2) / (float(norm.count) - 1) + 1e-4)
