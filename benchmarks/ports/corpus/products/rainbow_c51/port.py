"""NumPy inference / target computation for the actors (no framework on the robot)."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FRAMEWORK = "numpy"
A, ATOMS, GROUPS = 4, 21, 4
V_MIN, V_MAX, GAMMA = -5.0, 5.0, 0.9
Z = np.linspace(V_MIN, V_MAX, ATOMS, dtype=np.float32)
NAMES = ["conv1", "gn", "conv2", "fc_v", "fc_a", "value", "advantage"]
SHAPES = {"conv1": (8, 3, 3, 3), "gn": (8,), "conv2": (8, 8, 3, 3), "fc_v": (24, 72), "fc_a": (24, 72),
          "value": (ATOMS, 24), "advantage": (A * ATOMS, 24)}


def conv2d(x, w, b, stride=1, pad=0):
    if pad:
        x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    win = sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", win, w, optimize=True) + b[:, None, None]


def group_norm(x, gamma, beta, eps=1e-5):
    n, c, h, w = x.shape
    g = x.reshape(n, GROUPS, c // GROUPS, h, w)
    axes = (2, 3, 4)
    g = (g - g.mean(axes, keepdims=True)) / np.sqrt(g.var(axes, keepdims=True) + eps)
    return g.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]


def relu(x):
    return np.maximum(x, 0)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


class Net:
    def __init__(self, rng):
        self.w = {k: rng.normal(0, 0.1, s).astype(np.float32) for k, s in SHAPES.items()}
        self.b = {k: rng.normal(0, 0.1, s[0]).astype(np.float32) for k, s in SHAPES.items()}

    def dense(self, x, name):
        return x @ self.w[name].T + self.b[name]

    def __call__(self, frames):
        x = frames.astype(np.float32) / np.float32(255)
        x = conv2d(x, self.w["conv1"], self.b["conv1"], stride=2, pad=1)
        x = relu(group_norm(x, self.w["gn"], self.b["gn"]))
        x = relu(conv2d(x, self.w["conv2"], self.b["conv2"]))
        x = x.reshape(len(x), -1)
        val = self.dense(relu(self.dense(x, "fc_v")), "value")
        adv = self.dense(relu(self.dense(x, "fc_a")), "advantage").reshape(-1, A, ATOMS)
        adv = adv - adv.mean(axis=1, keepdims=True)
        return log_softmax(val[:, None, :] + adv)


class RainbowTargets:
    def __init__(self):
        rng = np.random.RandomState(14)
        self.online, self.target = Net(rng), Net(rng)

    def categorical(self, p_next, reward, done):
        dz = (V_MAX - V_MIN) / (ATOMS - 1)
        tz = np.clip(reward[:, None] + (1 - done)[:, None] * np.float32(GAMMA) * Z, V_MIN, V_MAX)
        pos = ((tz - V_MIN) / dz).astype(np.float32)
        low = np.floor(pos).astype(np.int64)
        high = np.minimum(low + 1, ATOMS - 1)
        frac = pos - low
        m = np.zeros_like(p_next)
        rows = np.repeat(np.arange(len(m))[:, None], ATOMS, axis=1)
        np.add.at(m, (rows, low), p_next * (1 - frac))
        np.add.at(m, (rows, high), p_next * frac)
        return m

    def __call__(self, obs, action, reward, next_obs, done):
        rows = np.arange(len(obs))
        log_p = self.online(obs)
        q = np.exp(log_p) @ Z
        best = np.argmax(np.exp(self.online(next_obs)) @ Z, axis=1)
        p_next = np.exp(self.target(next_obs))[rows, best]
        m = self.categorical(p_next, reward, done)
        loss = -np.einsum("bz,bz->b", m, log_p[rows, action])
        return q, m, loss


def make():
    return RainbowTargets()


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    for which in ("online", "target"):
        net = getattr(model, which)
        for name in NAMES:
            net.w[name] = sd[f"{which}.{name}.weight"].copy()
            net.b[name] = sd[f"{which}.{name}.bias"].copy()
