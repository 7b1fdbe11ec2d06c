"""Decision Transformer for inference on a robot: NumPy only, weights in a flat dict."""
import numpy as np

FRAMEWORK = "numpy"
D, NH, S, A, EPISODE = 24, 3, 7, 3, 40


def layer_norm(x, g, b, eps=1e-5):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * g + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class NumpyDT:
    def __init__(self, rng):
        shapes = {"time": (EPISODE, D), "ret": (1, D), "state": (S, D), "act": (A, D), "pa": (D, A), "pr": (D, 1)}
        for n in (0, 1):
            shapes |= {f"qkv{n}": (D, 3, NH, D // NH), f"o{n}": (NH, D // NH, D), f"up{n}": (D, 2 * D), f"down{n}": (2 * D, D)}
        norms = ["ln_in", "ln_out", "ln_a0", "ln_a1", "ln_m0", "ln_m1"]
        self.w = {k: rng.normal(0, 0.1, s).astype("float32") for k, s in shapes.items()}
        self.w |= {k: np.ones(D, "float32") for k in norms}
        self.b = {k: np.zeros(1, "float32") for k in [*shapes, *norms]}

    def dense(self, name, x):
        return x @ self.w[name] + self.b[name]

    def norm(self, name, x):
        return layer_norm(x, self.w[name], self.b[name])

    def attend(self, n, x, visible):
        q, k, v = np.einsum("bld,dchk->cbhlk", x, self.w[f"qkv{n}"]) + self.b[f"qkv{n}"]
        q = q * np.float32(1 / np.sqrt(D / NH))
        logits = np.einsum("bhik,bhjk->bhij", q, k)
        p = softmax(np.where(visible, logits, np.float32(-1e9)))
        return np.einsum("bhij,bhjk,hkd->bid", p, v, self.w[f"o{n}"]) + self.b[f"o{n}"]

    def __call__(self, rtg, obs, act, t, mask):
        B, T = t.shape
        pos = self.w["time"][t]
        x = np.empty((B, 3 * T, D), np.float32)
        x[:, 0::3] = self.dense("ret", rtg) + pos
        x[:, 1::3] = self.dense("state", obs) + pos
        x[:, 2::3] = self.dense("act", act) + pos
        x = self.norm("ln_in", x)
        idx = np.arange(3 * T)
        key_ok = np.repeat(mask, 3, axis=1) > 0
        visible = (idx[:, None] >= idx)[None, None] & key_ok[:, None, None]
        for n in (0, 1):
            x = x + self.attend(n, self.norm(f"ln_a{n}", x), visible)
            y = self.norm(f"ln_m{n}", x)
            x = x + self.dense(f"down{n}", gelu(self.dense(f"up{n}", y)))
        x = self.norm("ln_out", x)
        actions = np.tanh(self.dense("pa", x[:, 1::3]))
        returns = self.dense("pr", x[:, 2::3])
        real = mask[..., None].astype(np.float32)
        return actions * real, returns * real


def make():
    return NumpyDT(np.random.default_rng(2))


def load(model, reference):
    def put(name, src):
        w = src.weight.detach().numpy()
        model.w[name], model.b[name] = np.array(w.T), np.array(src.bias.detach().numpy())

    model.w["time"] = np.array(reference.embed_timestep.weight.detach().numpy())
    for name, src in (("ret", reference.embed_return), ("state", reference.embed_state), ("act", reference.embed_action),
                      ("pa", reference.predict_action), ("pr", reference.predict_return),
                      ("ln_in", reference.embed_ln), ("ln_out", reference.ln_f)):
        put(name, src)
    for n, blk in enumerate(reference.blocks):
        for name, src in (("ln_a", blk.ln_1), ("ln_m", blk.ln_2), ("o", blk.c_proj), ("up", blk.fc),
                          ("down", blk.out), ("qkv", blk.c_attn)):
            put(f"{name}{n}", src)
        model.w[f"o{n}"] = model.w[f"o{n}"].reshape(NH, D // NH, D)
        model.w[f"qkv{n}"] = model.w[f"qkv{n}"].reshape(D, 3, NH, D // NH)
        model.b[f"qkv{n}"] = model.b[f"qkv{n}"].reshape(3, 1, NH, 1, D // NH)
