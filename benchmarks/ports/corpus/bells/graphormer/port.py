"""Graphormer, functional: a dict of parameters and fused attention."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, N, DIM, HEADS, LAYERS, FFN = 4, 6, 12, 3, 2, 20
ATOMS, DEG, DIST, EDGES, HOPS, OUT = 9, 6, 7, 8, 3, 4


def node_features(p, x, in_degree, out_degree):
    h = F.embedding(x, p["atom"]).sum(2)
    h = h + F.embedding(in_degree, p["in_degree"]) + F.embedding(out_degree, p["out_degree"])
    return torch.cat([p["token"].expand(h.shape[0], 1, DIM), h], 1)


def edge_bias(p, edge_input, dist):
    e = F.embedding(edge_input, p["edge"]).mean(4)
    e = torch.einsum("bijkh,khg->bijg", e, p["edge_dis"])
    hops = (dist - 1).clamp(1, HOPS)
    return e / hops.unsqueeze(-1)


def attention_bias(p, dist, edge_input, pad):
    inner = F.embedding(dist, p["spatial"]) + edge_bias(p, edge_input, dist)
    b, n = pad.shape
    row = p["virtual"].expand(b, 1, n, HEADS)
    inner = torch.cat([row, inner], dim=1)
    column = p["virtual"].expand(b, n + 1, 1, HEADS)
    bias = torch.cat([column, inner], dim=2).permute(0, 3, 1, 2)
    mask = F.pad(pad, (1, 0), value=False)
    return bias + mask[:, None, None, :] * -1e9


def attention(p, x, bias):
    b, n, _ = x.shape
    qkv = F.linear(x, p["qkv_w"], p["qkv_b"])
    q, k, v = qkv.reshape(b, n, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    y = y.permute(0, 2, 1, 3).reshape(b, n, DIM)
    return F.linear(y, p["out_w"], p["out_b"])


def norm(p, name, x):
    return F.layer_norm(x, (DIM,), p[name + "_g"], p[name + "_b"])


def encoder_layer(p, x, bias):
    x = x + attention(p, norm(p, "ln1", x), bias)
    h = F.gelu(F.linear(norm(p, "ln2", x), p["fc1_w"], p["fc1_b"]))
    return x + F.linear(h, p["fc2_w"], p["fc2_b"])


def params(**shapes):
    d = {}
    for k, s in shapes.items():
        d[k] = nn.Parameter(0.4 * torch.randn(s) + (1.0 if k.endswith("_g") else 0.0))
    return nn.ParameterDict(d)


class Graphormer(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = params(atom=(ATOMS, DIM), in_degree=(DEG, DIM), out_degree=(DEG, DIM), token=(1, 1, DIM),
                        edge=(EDGES, HEADS), edge_dis=(HOPS, HEADS, HEADS), spatial=(DIST, HEADS), virtual=(1, 1, 1, HEADS),
                        ln_g=(DIM,), ln_b=(DIM,), head_w=(OUT, DIM), head_b=(OUT,))
        self.blocks = nn.ModuleList([params(
            qkv_w=(3 * DIM, DIM), qkv_b=(3 * DIM,), out_w=(DIM, DIM), out_b=(DIM,), ln1_g=(DIM,), ln1_b=(DIM,), ln2_g=(DIM,),
            ln2_b=(DIM,), fc1_w=(FFN, DIM), fc1_b=(FFN,), fc2_w=(DIM, FFN), fc2_b=(DIM,)) for _ in range(LAYERS)])

    def forward(self, x, in_degree, out_degree, spatial_pos, edge_input, pad):
        h = norm(self.p, "ln", node_features(self.p, x, in_degree, out_degree))
        bias = attention_bias(self.p, spatial_pos, edge_input, pad)
        for block in self.blocks:
            h = encoder_layer(block, h, bias)
        return F.linear(h[:, 0], self.p["head_w"], self.p["head_b"])


def make():
    torch.manual_seed(13)
    return Graphormer().eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    pad = np.zeros((B, N), bool)
    pad[1, 4:] = True
    pad[3, 5:] = True
    return (r.randint(0, ATOMS, (B, N, 2)), r.randint(0, DEG, (B, N)), r.randint(0, DEG, (B, N)),
            r.randint(0, DIST, (B, N, N)), r.randint(0, EDGES, (B, N, N, HOPS, 2)), pad)


def load(m, o):
    with torch.no_grad():
        p = m.p
        for k, v in {"atom": o.node.atom_encoder, "in_degree": o.node.in_degree_encoder, "out_degree": o.node.out_degree_encoder,
                     "token": o.node.graph_token, "edge": o.bias.edge_encoder, "edge_dis": o.bias.edge_dis_encoder,
                     "spatial": o.bias.spatial_pos_encoder, "virtual": o.bias.graph_token_virtual_distance}.items():
            p[k].copy_(v.weight.reshape(p[k].shape))

        def ln(d, k, v):
            d[k + "_g"].copy_(v.weight)
            d[k + "_b"].copy_(v.bias)

        def lin(d, k, v):
            d[k + "_w"].copy_(v.weight)
            d[k + "_b"].copy_(v.bias)
        ln(p, "ln", o.emb_layer_norm)
        lin(p, "head", o.head)
        for d, l in zip(m.blocks, o.layers):
            a = l.self_attn
            d["qkv_w"].copy_(torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight]))
            d["qkv_b"].copy_(torch.cat([a.q_proj.bias, a.k_proj.bias, a.v_proj.bias]))
            lin(d, "out", a.out_proj)
            ln(d, "ln1", l.self_attn_layer_norm)
            ln(d, "ln2", l.final_layer_norm)
            lin(d, "fc1", l.fc1)
            lin(d, "fc2", l.fc2)
