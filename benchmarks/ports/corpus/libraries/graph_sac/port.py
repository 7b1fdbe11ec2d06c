"""The graph SAC agent in NumPy, to run on the robot."""
import numpy as np

FRAMEWORK = "numpy"
NODES, FEAT, HID, ROUNDS = 6, 5, 20, 2
LOW, HIGH, ALPHA = -5.0, 2.0, 0.2
DOWN = [(0, 1), (1, 2), (0, 3), (3, 4), (0, 5)]
SYM = [(2, 4), (4, 2), (2, 5)]
EDGES = np.array(DOWN + [(b, a) for a, b in DOWN] + SYM)
KIND = np.repeat([0, 1, 2], [len(DOWN), len(DOWN), len(SYM)])
LOG_2PI = float(np.log(2 * np.pi))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(p, x, h):
    gx = x @ p["w_ih"].T + p["b_ih"]
    gh = h @ p["w_hh"].T + p["b_hh"]
    (rx, zx, nx), (rh, zh, nh) = np.split(gx, 3, -1), np.split(gh, 3, -1)
    z = sigmoid(zx + zh)
    n = np.tanh(nx + sigmoid(rx + rh) * nh)
    return (1 - z) * n + z * h


def graph_net(p, x):
    src, dst = EDGES.T
    h = np.tanh(x @ p["embed_w"] + p["embed_b"])
    degree = np.bincount(dst, minlength=NODES).astype("float32")[:, None]
    for _ in range(ROUNDS):
        pair = np.concatenate([h[:, src], h[:, dst]], -1)
        m = np.tanh(np.einsum("bei,eio->beo", pair, p["msg_w"][KIND]) + p["msg_b"][KIND])
        total = np.zeros_like(h)
        np.add.at(total, (slice(None), dst), m)
        h = gru(p, total / np.maximum(degree, 1), h)
    return h


def critic(p, x, action, present):
    h = graph_net(p["net"], np.concatenate([x, action[..., None]], -1))
    pooled = np.where(present[..., None], h, -np.inf).max(1)
    return pooled @ p["w"] + p["b"]


def random_net(g, n_in):
    def n(*shape):
        return (0.3 * g.normal(size=shape)).astype("float32")

    return {
        "embed_w": n(n_in, HID), "embed_b": n(HID), "msg_w": n(3, 2 * HID, HID), "msg_b": n(3, HID),
        "w_ih": n(3 * HID, HID), "w_hh": n(3 * HID, HID), "b_ih": n(3 * HID), "b_hh": n(3 * HID),
    }  # fmt: skip


class Agent:
    def __init__(self, seed=100):
        g = np.random.default_rng(seed)
        self.actor = random_net(g, FEAT)
        self.head_w = g.normal(size=(HID, 2)).astype("float32")
        self.head_b = g.normal(size=2).astype("float32")
        self.critics = [
            {"net": random_net(g, FEAT + 1), "w": g.normal(size=HID).astype("float32"), "b": np.float32(0.1)}
            for _ in range(2)
        ]

    def __call__(self, x, present, noise):
        out = graph_net(self.actor, x) @ self.head_w + self.head_b
        mean, raw = out[..., 0], out[..., 1]
        log_std = np.float32(LOW) + (HIGH - LOW) * (np.tanh(raw) + 1) / 2
        u = mean + np.exp(log_std) * noise
        action = np.where(present, np.tanh(u), 0).astype("float32")
        log_prob = -0.5 * noise**2 - log_std - 0.5 * LOG_2PI
        log_prob -= 2 * (np.log(2) - u - np.logaddexp(0, -2 * u))
        log_prob = np.sum(log_prob, axis=1, where=present)
        q = np.stack([critic(p, x, action, present) for p in self.critics], 1)
        loss = ALPHA * log_prob - q.min(1)
        return action, log_prob, q, loss


def make():
    return Agent()


def load(model, reference):
    a = lambda p: p.detach().numpy().copy()

    def net(dst, src):
        dst["embed_w"], dst["embed_b"] = a(src.embed.weight).T, a(src.embed.bias)
        dst["msg_w"] = np.stack([a(m[0].weight).T for m in src.message])
        dst["msg_b"] = np.stack([a(m[0].bias) for m in src.message])
        dst["w_ih"], dst["b_ih"] = a(src.update.weight_ih), a(src.update.bias_ih)
        dst["w_hh"], dst["b_hh"] = a(src.update.weight_hh), a(src.update.bias_hh)

    net(model.actor, reference.actor)
    model.head_w = np.concatenate([a(reference.mean.weight), a(reference.log_std.weight)]).T
    model.head_b = np.concatenate([a(reference.mean.bias), a(reference.log_std.bias)])
    for dst, src in zip(model.critics, (reference.q1, reference.q2)):
        net(dst["net"], src.net)
        dst["w"], dst["b"] = a(src.out.weight)[0], a(src.out.bias)[0]
