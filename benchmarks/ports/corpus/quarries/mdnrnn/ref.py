"""World Models (V, M and C) in Chainer: conv encoder, stateful LSTM with a mixture head, linear controller."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
Z, ACT, HID, MIX = 8, 3, 32, 5


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(3, 12, ksize=4, stride=2)
            self.c2 = L.Convolution2D(12, 24, ksize=4, stride=2)
            self.c3 = L.Convolution2D(24, 32, ksize=3, stride=2)
            self.mean = L.Linear(128, Z)
            self.log_var = L.Linear(128, Z)

    def __call__(self, x):
        h = F.relu(self.c1(x))
        h = F.relu(self.c2(h))
        h = F.relu(self.c3(h))
        return self.mean(h), self.log_var(h)


class MDNRNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm = L.LSTM(Z + ACT, HID)
            self.out = L.Linear(HID, 3 * MIX * Z + 1)

    def mixture(self, h):
        y = self.out(h)
        done = y[:, -1]
        logit, mu, log_sigma = F.split_axis(F.reshape(y[:, :-1], (-1, Z, 3 * MIX)), 3, axis=2)
        log_pi = F.log_softmax(logit, axis=2)
        return log_pi, mu, F.exp(log_sigma), done


def mdn_nll(log_pi, mu, sigma, target):
    t = F.broadcast_to(F.expand_dims(target, 2), mu.shape)
    log_n = -0.5 * ((t - mu) / sigma) ** 2 - F.log(sigma) - 0.5 * float(np.log(2 * np.pi))
    return -F.sum(F.logsumexp(log_pi + log_n, axis=2), axis=1)


class WorldModel(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.vision = Encoder()
            self.memory = MDNRNN()
            self.controller = L.Linear(Z + HID, ACT)

    def __call__(self, frames, actions, eps):
        B, T = frames.shape[:2]
        mean, log_var = self.vision(F.reshape(frames, (B * T,) + frames.shape[2:]))
        z = F.reshape(mean + F.exp(0.5 * log_var) * F.reshape(eps, (B * T, Z)), (B, T, Z))

        self.memory.lstm.reset_state()
        h = chainer.Variable(np.zeros((B, HID), np.float32))
        controls, losses, dones = [], [], []
        for t in range(T - 1):
            controls.append(F.tanh(self.controller(F.concat([z[:, t], h], axis=1))))
            h = self.memory.lstm(F.concat([z[:, t], actions[:, t]], axis=1))
            log_pi, mu, sigma, done = self.memory.mixture(h)
            losses.append(mdn_nll(log_pi, mu, sigma, z[:, t + 1]))
            dones.append(F.sigmoid(done))
        expected = F.sum(F.exp(log_pi) * mu, axis=2)
        return F.stack(controls, axis=1), F.stack(losses, axis=1), F.stack(dones, axis=1), expected


def make():
    rng = np.random.RandomState(71)
    model = WorldModel()
    for name, p in sorted(model.namedparams()):
        if p.array.ndim == 1:
            p.array[...] = 0.15 * rng.randn(*p.shape)
        else:
            fan_in = p.array[0].size
            p.array[...] = rng.randn(*p.shape) * (1.3 if "/c" in name else 0.8) / np.sqrt(fan_in)
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    B, T = 4, 6
    frames = rng.rand(B, 1, 3, 30, 30) * 0.6 + rng.rand(B, T, 3, 30, 30) * 0.4
    actions = np.tanh(rng.randn(B, T, ACT))
    eps = rng.randn(B, T, Z)
    return tuple(x.astype(np.float32) for x in (frames, actions, eps))
