"""SASRec for torch."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
N_ITEMS, MAXLEN, HIDDEN, N_HEADS, N_LAYERS = 40, 10, 16, 2, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(HIDDEN, HIDDEN)
        self.k = nn.Linear(HIDDEN, HIDDEN)
        self.v = nn.Linear(HIDDEN, HIDDEN)

    def split(self, x):
        return x.view(x.shape[0], MAXLEN, N_HEADS, -1).transpose(1, 2)

    def forward(self, query, memory, real):
        q, k, v = self.split(self.q(query)), self.split(self.k(memory)), self.split(self.v(memory))
        mask = torch.ones(MAXLEN, MAXLEN, dtype=torch.bool).tril()
        mask = mask & real[:, None, None, :]
        mask = mask | torch.eye(MAXLEN, dtype=torch.bool)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return out.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(HIDDEN, HIDDEN)
        self.outer = nn.Linear(HIDDEN, HIDDEN)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return self.drop(self.outer(self.drop(F.relu(self.inner(x)))))


class SASRec(nn.Module):
    def __init__(self):
        super().__init__()
        self.item_emb = nn.Embedding(N_ITEMS, HIDDEN)
        self.pos_emb = nn.Embedding(MAXLEN, HIDDEN)
        self.drop = nn.Dropout(0.2)
        self.ln1 = nn.ModuleList(nn.LayerNorm(HIDDEN, eps=1e-8) for _ in range(N_LAYERS))
        self.ln2 = nn.ModuleList(nn.LayerNorm(HIDDEN, eps=1e-8) for _ in range(N_LAYERS))
        self.att = nn.ModuleList(Attention() for _ in range(N_LAYERS))
        self.ffn = nn.ModuleList(FeedForward() for _ in range(N_LAYERS))
        self.ln_out = nn.LayerNorm(HIDDEN, eps=1e-8)

    def forward(self, seqs, targets):
        real = seqs != 0
        x = self.item_emb(seqs) * math.sqrt(HIDDEN)
        x = self.drop(x + self.pos_emb.weight)
        x = x.masked_fill(~real[..., None], 0.0)
        for ln1, att, ln2, ffn in zip(self.ln1, self.att, self.ln2, self.ffn):
            query = ln1(x)
            x = query + att(query, x, real)
            x = ln2(x)
            x = x + ffn(x)
            x = x.masked_fill(~real[..., None], 0.0)
        final = self.ln_out(x[:, -1])
        return (self.item_emb(targets) @ final[..., None]).squeeze(-1)


def make():
    torch.manual_seed(4)
    return SASRec().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    history = rng.integers(1, N_ITEMS, (5, MAXLEN))
    for row, pads in enumerate((0, 3, 6, 1, 4)):
        history[row, :pads] = 0
    return history.astype("int32"), rng.integers(1, N_ITEMS, (5, 8)).astype("int32")


def load(ported, original):
    def put(parameter, value):
        parameter.data.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def dense(linear, layer):
        kernel, bias = (np.asarray(w) for w in layer.get_weights())
        put(linear.weight, kernel.reshape(kernel.shape[-2:]).T)
        put(linear.bias, bias)

    def norm(ln, layer):
        gamma, beta = layer.get_weights()
        put(ln.weight, gamma)
        put(ln.bias, beta)

    put(ported.item_emb.weight, original.items.get_weights()[0])
    put(ported.pos_emb.weight, original.positions.get_weights()[0])
    for n, block in enumerate(original.blocks):
        norm(ported.ln1[n], block.norm_attention)
        norm(ported.ln2[n], block.norm_ffn)
        dense(ported.att[n].q, block.query)
        dense(ported.att[n].k, block.key)
        dense(ported.att[n].v, block.value)
        dense(ported.ffn[n].inner, block.conv1)
        dense(ported.ffn[n].outer, block.conv2)
    norm(ported.ln_out, original.norm)
