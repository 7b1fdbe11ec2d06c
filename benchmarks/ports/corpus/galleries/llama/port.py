"""LLaMA-style blocks with grouped-query attention, in NumPy (a serving loop by hand)."""
import numpy as np

FRAMEWORK = "numpy"


class NumpyLlama:
    def __init__(self, weights, heads=6, kv=2, hd=8, depth=2):
        self.w, self.heads, self.kv, self.hd, self.depth = weights, heads, kv, hd, depth

    def rms(self, x, w, eps=1e-5):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * w

    def rotary(self, x, cos, sin):
        n = self.hd // 2
        a, b = x[..., :n], x[..., n:]
        return x * cos + np.concatenate([-b, a], axis=-1) * sin

    def block(self, x, i, cos, sin, mask):
        w = lambda n: self.w[f"blocks.{i}.{n}.weight"]
        b, t, _ = x.shape
        y = self.rms(x, w("n1"))
        q = (y @ w("q").T).reshape(b, t, self.heads, self.hd).transpose(0, 2, 1, 3)
        k = (y @ w("k").T).reshape(b, t, self.kv, self.hd).transpose(0, 2, 1, 3)
        v = (y @ w("v").T).reshape(b, t, self.kv, self.hd).transpose(0, 2, 1, 3)
        q, k = self.rotary(q, cos, sin), self.rotary(k, cos, sin)
        n = self.heads // self.kv
        k, v = np.repeat(k, n, axis=1), np.repeat(v, n, axis=1)
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.hd).astype(x.dtype) + mask
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        a = (scores / scores.sum(axis=-1, keepdims=True)) @ v
        x = x + a.transpose(0, 2, 1, 3).reshape(b, t, -1) @ w("o").T
        y = self.rms(x, w("n2"))
        gate, up = y @ w("gate").T, y @ w("up").T
        return x + (gate / (1 + np.exp(-gate)) * up) @ w("down").T

    def __call__(self, tokens):
        x = self.w["emb.weight"][tokens]
        t = tokens.shape[1]
        inv = 1.0 / 10000.0 ** (np.arange(0, self.hd, 2) / self.hd)
        angles = np.arange(t)[:, None] * inv
        angles = np.concatenate([angles, angles], axis=-1)
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        mask = np.triu(np.full((t, t), -1e9, np.float32), k=1)
        for i in range(self.depth):
            x = self.block(x, i, cos, sin, mask)
        return self.rms(x, self.w["norm.weight"]) @ self.w["emb.weight"].T


def make():
    return NumpyLlama({})


def load(net, ref):
    net.w = {n: p.detach().numpy().copy() for n, p in ref.state_dict().items()}
