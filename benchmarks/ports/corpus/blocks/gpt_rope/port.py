"""The decoder again, over a dict of tensors and without modules, with complex rotations."""
import math

import torch

FRAMEWORK = "torch"
HEADS, GROUPS, DEPTH, HIDDEN = 4, 2, 2, 80


def rms_norm(x, weight, eps=1e-5):
    variance = (x * x).mean(dim=-1, keepdim=True)
    return x / torch.sqrt(variance + eps) * weight


def rotations(length, size, base=10000.0):
    frequencies = base ** -(torch.arange(size // 2, dtype=torch.float32) * 2 / size)
    angles = torch.arange(length, dtype=torch.float32)[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x, turns):
    """x is (batch, time, heads, size); its first half is real, its second imaginary."""
    half = x.shape[-1] // 2
    z = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    z = z * turns[:, None, :]
    return torch.cat([z.real, z.imag], dim=-1)


def attention(x, p, turns):
    batch, time, dim = x.shape
    size = dim // HEADS
    q = torch.einsum("btd,dhe->bthe", x, p["q"])
    k = torch.einsum("btd,dge->btge", x, p["k"])
    v = torch.einsum("btd,dge->btge", x, p["v"])
    q = rotate(q, turns)
    k = rotate(k, turns)
    q = q.reshape(batch, time, GROUPS, HEADS // GROUPS, size)
    scores = torch.einsum("btgre,bsge->bgrts", q, k) / math.sqrt(size)
    future = torch.ones(time, time, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(future, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    y = torch.einsum("bgrts,bsge->btgre", weights, v)
    return torch.einsum("bthe,hed->btd", y.reshape(batch, time, HEADS, size), p["o"])


def swish(x):
    return x * torch.sigmoid(x)


def feed_forward(x, p):
    gate, value = (x @ p["gate_up"]).split(HIDDEN, dim=-1)
    return (swish(gate) * value) @ p["down"]


class Decoder:
    def __init__(self):
        self.p = {}

    def __call__(self, tokens):
        p = self.p
        x = p["embedding"][tokens]
        turns = rotations(tokens.shape[1], x.shape[-1] // HEADS)
        for layer in p["layers"]:
            h = rms_norm(x, layer["norm1"])
            x = x + attention(h, layer, turns)
            h = rms_norm(x, layer["norm2"])
            x = x + feed_forward(h, layer)
        x = rms_norm(x, p["norm"])
        return x @ p["embedding"].T


def make():
    return Decoder()


def load(port, ref):
    def heads(linear, n):
        return linear.weight.detach().T.reshape(32, n, -1).contiguous()

    port.p["embedding"] = ref.embed.weight.detach().clone()
    port.p["norm"] = ref.norm.weight.detach().clone()
    port.p["layers"] = [
        {
            "norm1": layer.input_norm.weight.detach().clone(),
            "norm2": layer.post_norm.weight.detach().clone(),
            "q": heads(layer.attention.q_proj, HEADS),
            "k": heads(layer.attention.k_proj, GROUPS),
            "v": heads(layer.attention.v_proj, GROUPS),
            "o": layer.attention.o_proj.weight.detach().T.reshape(HEADS, -1, 32).contiguous(),
            "gate_up": torch.cat([layer.gate.weight, layer.up.weight]).detach().T.contiguous(),
            "down": layer.down.weight.detach().T.contiguous(),
        }
        for layer in ref.layers
    ]
