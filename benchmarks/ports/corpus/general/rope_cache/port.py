"""NumPy decoder for edge devices: preallocated key-value buffers, written in place at a cursor."""

import numpy as np

FRAMEWORK = "numpy"

VOCAB, DIM, LAYERS, HEADS, KV_HEADS, HIDDEN = 24, 32, 2, 4, 2, 48
SIZE = DIM // HEADS
THETA, EPS, PAD = 1000.0, 1e-5, 0


def rms(x, gain):
    return gain * (x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(EPS)))


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def apply_rope(x, positions):
    """Rotates x (B, T, H, D) by the angles of its positions (B, T)."""
    inv = (THETA ** (-np.arange(0, SIZE, 2) / SIZE)).astype(np.float32)
    angle = (positions[..., None].astype(np.float32) * inv)[:, :, None, :]
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = x[..., : SIZE // 2], x[..., SIZE // 2 :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


class Cache:
    """Keys and values of one layer, in buffers with room for the whole sequence."""

    def __init__(self, batch, room):
        self.k = np.zeros((batch, room, KV_HEADS, SIZE), np.float32)
        self.v = np.zeros((batch, room, KV_HEADS, SIZE), np.float32)
        self.used = 0

    def append(self, k, v):
        end = self.used + k.shape[1]
        self.k[:, self.used : end] = k
        self.v[:, self.used : end] = v
        self.used = end

    def read(self):
        k, v = self.k[:, : self.used], self.v[:, : self.used]
        group = HEADS // KV_HEADS
        return np.repeat(k, group, axis=2), np.repeat(v, group, axis=2)


def attention(x, w, cache, positions, allowed):
    batch, time, _ = x.shape
    q = apply_rope((x @ w["q"]).reshape(batch, time, HEADS, SIZE), positions)
    k = apply_rope((x @ w["k"]).reshape(batch, time, KV_HEADS, SIZE), positions)
    cache.append(k, (x @ w["v"]).reshape(batch, time, KV_HEADS, SIZE))
    keys, values = cache.read()
    scores = np.einsum("bqhd,bkhd->bhqk", q, keys) / np.float32(np.sqrt(SIZE))
    scores = np.where(allowed[:, None], scores, np.float32(-1e9))
    mixed = np.einsum("bhqk,bkhd->bqhd", softmax(scores), values)
    return mixed.reshape(batch, time, DIM) @ w["o"]


class NumpyLM:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        shapes = {
            "q": (DIM, DIM), "k": (DIM, KV_HEADS * SIZE), "v": (DIM, KV_HEADS * SIZE),
            "o": (DIM, DIM), "gate": (DIM, HIDDEN), "up": (DIM, HIDDEN), "down": (HIDDEN, DIM),
            "norm_a": (DIM,), "norm_f": (DIM,),
        }  # fmt: skip
        self.table = rng.normal(size=(VOCAB, DIM)).astype(np.float32)
        self.blocks = [
            {n: rng.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
            for _ in range(LAYERS)
        ]
        self.norm = np.ones(DIM, np.float32)
        self.head = rng.normal(0, 0.1, (DIM, VOCAB)).astype(np.float32)

    def forward(self, ids, positions, allowed, caches):
        x = self.table[ids]
        for w, cache in zip(self.blocks, caches):
            x = x + attention(rms(x, w["norm_a"]), w, cache, positions, allowed)
            h = rms(x, w["norm_f"])
            x = x + (silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
        return rms(x[:, -1], self.norm) @ self.head

    def __call__(self, prompt, continuation):
        batch, n = prompt.shape
        extra = continuation.shape[1]
        caches = [Cache(batch, n + extra) for _ in self.blocks]
        valid = np.concatenate([prompt != PAD, np.ones((batch, extra), bool)], axis=1)
        positions = np.maximum(np.cumsum(valid, axis=1) - 1, 0)
        allowed = np.tril(np.ones((n, n), bool))[None] & valid[:, None, :n]
        logits = [self.forward(prompt, positions[:, :n], allowed, caches)]
        for t in range(extra):
            now = n + t
            allowed = valid[:, None, : now + 1]
            here = positions[:, now : now + 1]
            logits.append(self.forward(continuation[:, t : t + 1], here, allowed, caches))
        return np.stack(logits, axis=1)


def make(seed=50):
    return NumpyLM(seed)


def load(model, reference):
    state = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    model.table = state["embed.weight"].copy()
    model.norm = state["norm.weight"].copy()
    model.head = state["lm_head.weight"].T.copy()
    for i, w in enumerate(model.blocks):
        for short in "qkvo":
            w[short] = state[f"layers.{i}.attn.w{short}.weight"].T.copy()
        for name in ("gate", "up", "down"):
            w[name] = state[f"layers.{i}.{name}.weight"].T.copy()
        for name in ("norm_a", "norm_f"):
            w[name] = state[f"layers.{i}.{name}.weight"].copy()
