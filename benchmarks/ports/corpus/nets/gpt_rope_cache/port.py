"""NumPy inference code for the small rotary GPT, with a preallocated KV cache."""
import numpy as np

FRAMEWORK = "numpy"

N_HEADS, N_KV, HEAD_DIM, N_LAYERS = 4, 2, 8, 2
THETA, EPS = np.float32(10000.0), np.float32(1e-5)
MAX_LEN = 16


def rms_norm(x, w):
    ms = np.mean(np.square(x), axis=-1, keepdims=True)
    return x / np.sqrt(ms + EPS) * w


def silu(x):
    return x / (1.0 + np.exp(-x))


def softmax(s):
    s = np.exp(s - s.max(-1, keepdims=True))
    return s / s.sum(-1, keepdims=True)


def rope(x, start):
    """x: (B, T, H, D); tokens sit at start, start+1, ... Adjacent channels form a complex pair."""
    T, d = x.shape[1], x.shape[-1]
    inv = THETA ** (-np.arange(0, d, 2, dtype=np.float32) / np.float32(d))
    ang = (start + np.arange(T, dtype=np.float32))[:, None] * inv
    rot = np.exp(1j * ang.astype(np.float32)).astype(np.complex64)[None, :, None, :]
    z = np.ascontiguousarray(x).view(np.complex64) * rot
    return z.view(np.float32)


class KVCache:
    def __init__(self, batch):
        self.k = np.zeros((N_LAYERS, batch, MAX_LEN, N_KV, HEAD_DIM), np.float32)
        self.v = np.zeros_like(self.k)
        self.length = 0


class NumpyGPT:
    def __init__(self):
        self.emb = None
        self.final_norm = None
        self.layers = [dict() for _ in range(N_LAYERS)]

    def attention(self, x, w, cache, layer):
        B, T, _ = x.shape
        lo, hi = cache.length, cache.length + T
        q = rope(np.einsum("btd,dhe->bthe", x, w["wq"]), lo)
        cache.k[layer, :, lo:hi] = rope(np.einsum("btd,dhe->bthe", x, w["wk"]), lo)
        cache.v[layer, :, lo:hi] = np.einsum("btd,dhe->bthe", x, w["wv"])
        k = np.repeat(cache.k[layer, :, :hi], N_HEADS // N_KV, axis=2)
        v = np.repeat(cache.v[layer, :, :hi], N_HEADS // N_KV, axis=2)
        s = np.einsum("bqhe,bkhe->bhqk", q, k) / np.float32(np.sqrt(HEAD_DIM))
        future = np.arange(hi)[None, :] > np.arange(lo, hi)[:, None]
        s = np.where(future, np.float32(-1e30), s)
        y = np.einsum("bhqk,bkhe->bqhe", softmax(s), v)
        return np.einsum("bqhe,hed->bqd", y, w["wo"])

    def mlp(self, h, w):
        gate, up = h @ w["gate"], h @ w["up"]
        return (silu(gate) * up) @ w["down"]

    def step(self, tokens, cache):
        x = self.emb[tokens]
        for i, w in enumerate(self.layers):
            x = x + self.attention(rms_norm(x, w["norm1"]), w, cache, i)
            x = x + self.mlp(rms_norm(x, w["norm2"]), w)
        cache.length += tokens.shape[1]
        return rms_norm(x, self.final_norm) @ self.emb.T

    def __call__(self, prompt, continuation):
        cache = KVCache(prompt.shape[0])
        out = [self.step(prompt, cache)]
        for t in range(continuation.shape[1]):
            out.append(self.step(continuation[:, t:t + 1], cache))
        return np.concatenate(out, axis=1)


def make():
    return NumpyGPT()


def load(port_model, ref_model):
    p = {k: v.detach().cpu().numpy().copy() for k, v in ref_model.state_dict().items()}
    port_model.emb = p["emb.weight"]
    port_model.final_norm = p["norm.weight"]
    for i, w in enumerate(port_model.layers):
        b = f"blocks.{i}."
        w["norm1"], w["norm2"] = p[b + "norm1.weight"], p[b + "norm2.weight"]
        w["wq"] = p[b + "attn.wq.weight"].T.reshape(-1, N_HEADS, HEAD_DIM)
        w["wk"] = p[b + "attn.wk.weight"].T.reshape(-1, N_KV, HEAD_DIM)
        w["wv"] = p[b + "attn.wv.weight"].T.reshape(-1, N_KV, HEAD_DIM)
        w["wo"] = p[b + "attn.wo.weight"].T.reshape(N_HEADS, HEAD_DIM, -1)
        w["gate"] = p[b + "w_gate.weight"].T
        w["up"] = p[b + "w_up.weight"].T
        w["down"] = p[b + "w_down.weight"].T
    return port_model
