"""Temporal Fusion Transformer (Lim et al. 2019), reduced."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CONFIG = {"d": 8, "heads": 2, "cards": [5, 7, 4], "hist": 4, "fut": 3, "enc": 6, "dec": 3, "quantiles": 3}


class GatedAddNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, 2 * d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x, skip):
        return self.norm(skip + F.glu(self.lin(x), dim=-1))


class GRN(nn.Module):
    def __init__(self, din, d, dout=None, context=False):
        super().__init__()
        dout = dout or d
        self.skip = nn.Linear(din, dout) if din != dout else None
        self.fc1 = nn.Linear(din, d)
        self.ctx = nn.Linear(d, d, bias=False) if context else None
        self.fc2 = nn.Linear(d, dout)
        self.gate = GatedAddNorm(dout)

    def forward(self, x, c=None):
        h = self.fc1(x)
        if c is not None:
            h = h + self.ctx(c)
        h = self.fc2(F.elu(h))
        return self.gate(h, x if self.skip is None else self.skip(x))


class VariableSelection(nn.Module):
    def __init__(self, n, d, context):
        super().__init__()
        self.flat = GRN(n * d, d, n, context)
        self.each = nn.ModuleList([GRN(d, d) for _ in range(n)])

    def forward(self, x, c=None):  # x (..., n, d)
        w = torch.softmax(self.flat(x.flatten(-2), c), -1)
        y = torch.stack([g(x[..., i, :]) for i, g in enumerate(self.each)], -2)
        return (w.unsqueeze(-1) * y).sum(-2), w


class InterpretableAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.dk = d // heads
        self.q = nn.ModuleList([nn.Linear(d, self.dk) for _ in range(heads)])
        self.k = nn.ModuleList([nn.Linear(d, self.dk) for _ in range(heads)])
        self.v = nn.Linear(d, self.dk)
        self.out = nn.Linear(self.dk, d, bias=False)

    def forward(self, x, mask):
        v = self.v(x)
        attn = []
        for q, k in zip(self.q, self.k):
            s = q(x) @ k(x).transpose(1, 2) / self.dk ** 0.5
            attn.append(torch.softmax(s.masked_fill(mask, float("-inf")), -1))
        attn = torch.stack(attn, 1)
        return self.out((attn @ v.unsqueeze(1)).mean(1)), attn.mean(1)


class TFT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["d"]
        self.cfg = cfg
        self.cat = nn.ModuleList([nn.Embedding(c, d) for c in cfg["cards"]])
        self.hist_emb = nn.ModuleList([nn.Linear(1, d) for _ in range(cfg["hist"])])
        self.fut_emb = nn.ModuleList([nn.Linear(1, d) for _ in range(cfg["fut"])])
        self.vs = nn.ModuleDict({"static": VariableSelection(len(cfg["cards"]), d, False),
                                 "hist": VariableSelection(cfg["hist"], d, True),
                                 "fut": VariableSelection(cfg["fut"], d, True)})
        self.ctx = nn.ModuleDict({k: GRN(d, d) for k in ("select", "h", "c", "enrich")})
        self.encoder = nn.LSTM(d, d, batch_first=True)
        self.decoder = nn.LSTM(d, d, batch_first=True)
        self.post_lstm = GatedAddNorm(d)
        self.enrich = GRN(d, d, context=True)
        self.attn = InterpretableAttention(d, cfg["heads"])
        self.post_attn = GatedAddNorm(d)
        self.ff = GRN(d, d)
        self.post_ff = GatedAddNorm(d)
        self.head = nn.Linear(d, cfg["quantiles"])

    def forward(self, static, hist, fut):
        s = torch.stack([e(static[:, i]) for i, e in enumerate(self.cat)], 1)
        s, w_static = self.vs["static"](s)
        ctx = {k: g(s) for k, g in self.ctx.items()}
        h = torch.stack([e(hist[..., i:i + 1]) for i, e in enumerate(self.hist_emb)], 2)
        f = torch.stack([e(fut[..., i:i + 1]) for i, e in enumerate(self.fut_emb)], 2)
        h, w_hist = self.vs["hist"](h, ctx["select"][:, None])
        f, w_fut = self.vs["fut"](f, ctx["select"][:, None])
        eh, state = self.encoder(h, (ctx["h"][None], ctx["c"][None]))
        df, _ = self.decoder(f, state)
        temporal = self.post_lstm(torch.cat([eh, df], 1), torch.cat([h, f], 1))
        enriched = self.enrich(temporal, ctx["enrich"][:, None])
        n = enriched.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        a, weights = self.attn(enriched, mask)
        x = self.post_attn(a, enriched)
        x = self.post_ff(self.ff(x), temporal)
        return {"quantiles": self.head(x[:, self.cfg["enc"]:]), "attention": weights,
                "w_static": w_static, "w_hist": w_hist, "w_fut": w_fut}


def make():
    torch.manual_seed(31)
    m = TFT(CONFIG)
    with torch.no_grad():
        for name, p in m.named_parameters():
            if "norm.weight" in name:
                p.copy_(1 + 0.2 * torch.randn_like(p))
            elif p.ndim == 1:
                p.copy_(0.2 * torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p) / p.shape[1] ** 0.5)
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    c = CONFIG
    return {"static": np.stack([g.integers(0, k, 4) for k in c["cards"]], 1),
            "hist": g.normal(size=(4, c["enc"], c["hist"])).astype(np.float32),
            "fut": g.normal(size=(4, c["dec"], c["fut"])).astype(np.float32)}
