"""Inference of the selective-SSM core without torch: numpy only, one step at a time."""
import numpy as np

FRAMEWORK = "numpy"


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def rms_norm(x, weight, eps=1e-5):
    rms = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(eps))
    return x / rms * weight


class Core:
    def __init__(self, obs=6, d=12, depth=2, actions=4, n=4, width=4, rank=3):
        rng = np.random.default_rng(17)

        def w(*shape):
            return rng.normal(0, 0.2, shape).astype(np.float32)

        e = 2 * d
        self.n, self.width, self.rank = n, width, rank
        self.embed_w, self.embed_b = w(obs, d), w(d)
        self.q_w, self.q_b = w(d, actions), w(actions)
        self.final_norm = w(d)
        self.blocks = [
            dict(norm=w(d), w_in=w(d, 2 * e), taps=w(width, e), conv_b=w(e), w_x=w(e, rank + 2 * n),
                 w_dt=w(rank, e), b_dt=w(e), a_log=w(e, n), d=w(e), w_out=w(e, d))
            for _ in range(depth)
        ]

    def block_step(self, p, x, window, h, reset):
        """x (b, d), window (b, width, e) of the last inputs, h (b, e, n)"""
        u, gate = np.split(rms_norm(x, p["norm"]) @ p["w_in"], 2, axis=-1)
        window = np.concatenate([window[:, 1:], u[:, None]], axis=1)
        c = silu(np.sum(window * p["taps"], axis=1) + p["conv_b"])
        proj = c @ p["w_x"]
        dt = softplus(proj[:, :self.rank] @ p["w_dt"] + p["b_dt"])
        b_in = proj[:, self.rank:self.rank + self.n]
        c_out = proj[:, self.rank + self.n:]
        h = h * (1.0 - reset)[:, None, None]
        decay = np.exp(-dt[:, :, None] * np.exp(p["a_log"]))
        h = decay * h + (dt * c)[:, :, None] * b_in[:, None, :]
        y = np.matmul(h, c_out[:, :, None])[:, :, 0]
        y = y + p["d"] * c
        y = y * silu(gate)
        return x + y @ p["w_out"], window, h

    def __call__(self, obs, reset):
        batch, time = obs.shape[:2]
        e = self.blocks[0]["d"].shape[0]
        windows = [np.zeros((batch, self.width, e), np.float32) for _ in self.blocks]
        hs = [np.zeros((batch, e, self.n), np.float32) for _ in self.blocks]
        q = []
        for t in range(time):
            x = obs[:, t] @ self.embed_w + self.embed_b
            for i, p in enumerate(self.blocks):
                x, windows[i], hs[i] = self.block_step(p, x, windows[i], hs[i], reset[:, t])
            q.append(rms_norm(x, self.final_norm) @ self.q_w + self.q_b)
        return np.stack(q, axis=1), np.stack(hs)


def make():
    return Core()


def load(model, reference):
    sd = {name: value.detach().numpy().copy() for name, value in reference.state_dict().items()}
    model.embed_w, model.embed_b = sd["embed.weight"].T, sd["embed.bias"]
    model.q_w, model.q_b = sd["q.weight"].T, sd["q.bias"]
    model.final_norm = sd["norm_f.weight"]
    for i, p in enumerate(model.blocks):
        pre = f"blocks.{i}."
        p["norm"] = sd[pre + "norm.weight"]
        p["w_in"] = sd[pre + "in_proj.weight"].T
        p["taps"] = sd[pre + "conv1d.weight"][:, 0, :].T
        p["conv_b"] = sd[pre + "conv1d.bias"]
        p["w_x"] = sd[pre + "x_proj.weight"].T
        p["w_dt"], p["b_dt"] = sd[pre + "dt_proj.weight"].T, sd[pre + "dt_proj.bias"]
        p["a_log"] = sd[pre + "A_log"]
        p["d"] = sd[pre + "D"]
        p["w_out"] = sd[pre + "out_proj.weight"].T
