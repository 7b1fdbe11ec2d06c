"""DETR as functions over dicts of parameters: batch first, with the fused attention."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
CHANNELS, D, HEADS, FF, QUERIES, CLASSES, ENC, DEC = 10, 16, 4, 24, 5, 6, 1, 2


def linear(p, x):
    return x @ p["w"] + p["b"]


def layer_norm(p, x):
    return F.layer_norm(x, (D,), p["scale"], p["shift"])


def heads(x):
    b, n, _ = x.shape
    return x.reshape(b, n, HEADS, D // HEADS).transpose(1, 2)


def attend(p, query, key, value, valid=None):
    """valid (B, keys): which keys can be looked at."""
    q, k, v = heads(linear(p["q"], query)), heads(linear(p["k"], key)), heads(linear(p["v"], value))
    allowed = None if valid is None else valid[:, None, None, :]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    out = out.transpose(1, 2).reshape(query.shape)
    return linear(p["o"], out)


def ffn(p, x):
    return linear(p["down"], F.relu(linear(p["up"], x)))


def sine_positions(valid, features=D // 2, temperature=10000.0):
    """(B, H, W, D): sines and cosines of the normalised row and column."""
    valid = valid.float()
    rows, columns = valid.cumsum(1), valid.cumsum(2)
    rows = rows / (rows[:, -1:, :] + 1e-6) * 2 * math.pi
    columns = columns / (columns[:, :, -1:] + 1e-6) * 2 * math.pi
    index = torch.arange(features)
    frequency = temperature ** (2 * (index // 2).float() / features)

    def code(position):
        phase = position[..., None] / frequency
        return torch.where(index % 2 == 0, phase.sin(), phase.cos())

    return torch.cat([code(rows), code(columns)], dim=-1)


def encoder_layer(p, x, pos, valid):
    with_pos = x + pos
    x = layer_norm(p["norm1"], x + attend(p["attn"], with_pos, with_pos, x, valid))
    return layer_norm(p["norm2"], x + ffn(p["ffn"], x))


def decoder_layer(p, x, memory, pos, query_pos, valid):
    q = x + query_pos
    x = layer_norm(p["norm1"], x + attend(p["self"], q, q, x))
    cross = attend(p["cross"], x + query_pos, memory + pos, memory, valid)
    x = layer_norm(p["norm2"], x + cross)
    return layer_norm(p["norm3"], x + ffn(p["ffn"], x))


def detr(p, features, mask):
    valid = mask < 0.5
    x = torch.einsum("bchw,cd->bhwd", features, p["proj"]["w"]) + p["proj"]["b"]
    x = x.flatten(1, 2)
    pos = sine_positions(valid).flatten(1, 2)
    valid = valid.flatten(1)
    for layer in p["encoder"]:
        x = encoder_layer(layer, x, pos, valid)
    query_pos = p["queries"]["w"].expand(features.shape[0], -1, -1)
    out = torch.zeros_like(query_pos)
    levels = []
    for layer in p["decoder"]:
        out = decoder_layer(layer, out, x, pos, query_pos, valid)
        levels.append(layer_norm(p["norm"], out))
    hs = torch.stack(levels)
    boxes = F.relu(linear(p["box0"], hs))
    boxes = F.relu(linear(p["box1"], boxes))
    return linear(p["classes"], hs), torch.sigmoid(linear(p["box2"], boxes))


class DETR(nn.Module):
    def __init__(self):
        super().__init__()

        def dense(rows, columns):
            return nn.ParameterDict(
                {"w": torch.randn(rows, columns) / math.sqrt(rows), "b": 0.2 * torch.randn(columns)}
            )

        def norm():
            return nn.ParameterDict({"scale": 0.6 + 0.8 * torch.rand(D), "shift": 0.2 * torch.randn(D)})

        def attention():
            return nn.ModuleDict({name: dense(D, D) for name in "qkvo"})

        def feed_forward():
            return nn.ModuleDict({"up": dense(D, FF), "down": dense(FF, D)})

        self.p = nn.ModuleDict(
            {
                "proj": dense(CHANNELS, D),
                "encoder": nn.ModuleList(
                    nn.ModuleDict(
                        {"attn": attention(), "ffn": feed_forward(), "norm1": norm(), "norm2": norm()}
                    )
                    for _ in range(ENC)
                ),
                "decoder": nn.ModuleList(
                    nn.ModuleDict(
                        {
                            "self": attention(),
                            "cross": attention(),
                            "ffn": feed_forward(),
                            "norm1": norm(),
                            "norm2": norm(),
                            "norm3": norm(),
                        }
                    )
                    for _ in range(DEC)
                ),
                "norm": norm(),
                "queries": nn.ParameterDict({"w": torch.randn(QUERIES, D)}),
                "classes": dense(D, CLASSES + 1),
                "box0": dense(D, D),
                "box1": dense(D, D),
                "box2": dense(D, 4),
            }
        )

    def forward(self, features, mask):
        return detr(self.p, features, mask)


def make():
    torch.manual_seed(15)
    return DETR().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(4, CHANNELS, 4, 5)).astype("float32")
    mask = np.ones((4, 4, 5), dtype="float32")
    for i, (h, w) in enumerate([(4, 5), (3, 5), (4, 3), (2, 4)]):
        mask[i, :h, :w] = 0
    return features, mask


@torch.no_grad()
def load(ported, original):
    p = ported.p

    def dense(ours, theirs):
        ours["w"].copy_(theirs.weight.flatten(1).T)
        ours["b"].copy_(theirs.bias)

    def norm(ours, theirs):
        ours["scale"].copy_(theirs.weight)
        ours["shift"].copy_(theirs.bias)

    def attention(ours, theirs):
        for name, w, b in zip("qkv", theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)):
            ours[name]["w"].copy_(w.T)
            ours[name]["b"].copy_(b)
        dense(ours["o"], theirs.out_proj)

    def feed_forward(ours, theirs):
        dense(ours["up"], theirs.linear1)
        dense(ours["down"], theirs.linear2)

    dense(p["proj"], original.input_proj)
    for ours, theirs in zip(p["encoder"], original.encoder):
        attention(ours["attn"], theirs.self_attn)
        feed_forward(ours["ffn"], theirs)
        norm(ours["norm1"], theirs.norm1)
        norm(ours["norm2"], theirs.norm2)
    for ours, theirs in zip(p["decoder"], original.decoder):
        attention(ours["self"], theirs.self_attn)
        attention(ours["cross"], theirs.multihead_attn)
        feed_forward(ours["ffn"], theirs)
        for name in ("norm1", "norm2", "norm3"):
            norm(ours[name], getattr(theirs, name))
    norm(p["norm"], original.norm)
    p["queries"]["w"].copy_(original.query_embed.weight)
    dense(p["classes"], original.class_embed)
    for i in range(3):
        dense(p[f"box{i}"], original.bbox_embed.layers[i])
