"""UPDeT, functional: fused projections, scaled_dot_product_attention, parameters in dicts."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
TOK, D, HEADS, DEPTH, BASIC, ENEMIES, ALLIES, T = 5, 8, 2, 2, 4, 3, 2, 2


def params(**shapes):
    return nn.ParameterDict({k: nn.Parameter(torch.zeros(s)) for k, s in shapes.items()})


def attention(p, x, keep):
    q, k, v = F.linear(x, p["qkv"]).chunk(3, dim=-1)
    split = lambda a: a.unflatten(-1, (HEADS, D)).transpose(1, 2)
    out = F.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=keep)
    out = out.transpose(1, 2).flatten(2)
    return F.linear(out, p["wo"], p["bo"])


def layer(p, x, keep):
    norm = lambda a, i: F.layer_norm(a, (D,), p["g" + i], p["b" + i])
    x = norm(x + attention(p, x, keep), "1")
    h = F.relu(F.linear(x, p["w_up"], p["b_up"]))
    return norm(x + F.linear(h, p["w_down"], p["b_down"]), "2")


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.io = params(we=(D, TOK), be=(D,), wp=(D, D), bp=(D,), wq=(BASIC, D), bq=(BASIC,))
        self.layers = nn.ModuleList([
            params(qkv=(3 * HEADS * D, D), wo=(D, HEADS * D), bo=(D,), g1=(D,), b1=(D,), g2=(D,), b2=(D,),
                   w_up=(4 * D, D), b_up=(4 * D,), w_down=(D, 4 * D), b_down=(D,)) for _ in range(DEPTH)])

    def forward(self, entities, alive, hidden):
        io = self.io
        tokens = F.linear(entities, io["we"], io["be"])
        alive = F.pad(alive, (0, 1), value=1.0)
        qs = []
        for t in range(T):
            x = torch.cat([tokens[:, t], hidden], dim=1)
            keep = alive[:, t, None, None, :] > 0
            for p in self.layers:
                x = layer(p, x, keep)
            x = F.linear(x, io["wp"], io["bp"])
            hidden = x[:, -1:]
            q = F.linear(x[:, :1 + ENEMIES], io["wq"], io["bq"])
            attack = q[:, 1:].mean(dim=-1)
            qs.append(torch.cat([q[:, 0], attack], dim=-1))
        return torch.stack(qs, 1), hidden


def make():
    g = torch.Generator().manual_seed(102)
    m = Agent().eval()
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if n.endswith((".g1", ".g2")):
                p.copy_(1 + 0.2 * r)
            elif p.ndim == 1:
                p.copy_(0.2 * r)
            else:
                p.copy_(r / np.sqrt(p.shape[1]))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    n = 1 + ENEMIES + ALLIES
    alive = (r.random((4, T, n)) < 0.7).astype("float32")
    alive[..., 0] = 1
    return (r.normal(size=(4, T, n, TOK)).astype("float32"), alive,
            (0.5 * r.normal(size=(4, 1, D))).astype("float32"))


@torch.no_grad()
def load(ported, original):
    o, io = original, ported.io
    for k, l in (("e", o.token_embedding), ("p", o.toprobs), ("q", o.q_basic)):
        io["w" + k].copy_(l.weight), io["b" + k].copy_(l.bias)
    for p, b in zip(ported.layers, o.blocks):
        a = b.attention
        p["qkv"].copy_(torch.cat([a.toqueries.weight, a.tokeys.weight, a.tovalues.weight]))
        p["wo"].copy_(a.unifyheads.weight), p["bo"].copy_(a.unifyheads.bias)
        for i, n in (("1", b.norm1), ("2", b.norm2)):
            p["g" + i].copy_(n.weight), p["b" + i].copy_(n.bias)
        p["w_up"].copy_(b.ff[0].weight), p["b_up"].copy_(b.ff[0].bias)
        p["w_down"].copy_(b.ff[2].weight), p["b_down"].copy_(b.ff[2].bias)
