"""AlphaStock in PyTorch."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
ASSETS, K, FEAT, H, D, Q, G = 8, 5, 6, 10, 8, 2, 3


class HistoryAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(FEAT, H, batch_first=True)
        self.key = nn.Linear(H, H, bias=False)
        self.query = nn.Linear(H, H)
        self.v = nn.Linear(H, 1, bias=False)

    def forward(self, x):
        h, (h_n, _) = self.lstm(x)
        e = self.v(torch.tanh(self.key(h) + self.query(h_n[-1]).unsqueeze(1))).squeeze(-1)
        return torch.einsum("nk,nkh->nh", e.softmax(dim=1), h)


class CrossAssetAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(H, 3 * D)
        self.gap = nn.Embedding(ASSETS // Q, 4)
        self.gap_weight = nn.Linear(4, 1, bias=False)
        self.winner = nn.Linear(D, 1)

    def forward(self, r, rank):
        q, k, v = self.qkv(r).chunk(3, dim=-1)
        gap = torch.div((rank[:, :, None] - rank[:, None, :]).abs(), Q, rounding_mode="floor")
        prior = torch.sigmoid(self.gap_weight(self.gap(gap)).squeeze(-1))
        logits = prior * torch.einsum("bid,bjd->bij", q, k) / math.sqrt(D)
        a = logits.softmax(dim=-1) @ v
        return torch.sigmoid(self.winner(a)).squeeze(-1)


class AlphaStock(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = HistoryAttention()
        self.caan = CrossAssetAttention()

    def forward(self, x, rank):
        std, mean = torch.std_mean(x, dim=1, keepdim=True, correction=0)
        x = (x - mean) / (std + 1e-5)
        r = self.history(x.flatten(0, 1)).view(-1, ASSETS, H)
        s = self.caan(r, rank.long())
        order = s.argsort(dim=1, descending=True)
        win, lose = order[:, :G], order[:, -G:]
        w = torch.zeros_like(s)
        w = w.scatter(1, win, s.gather(1, win).softmax(dim=1))
        w = w.scatter(1, lose, -(1 - s.gather(1, lose)).softmax(dim=1))
        return w, s


def make():
    torch.manual_seed(101)
    m = AlphaStock()
    for p in m.parameters():
        p.data = torch.randn_like(p) * 0.5
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, ASSETS, K, FEAT).astype("f"),
            np.stack([r.permutation(ASSETS) for _ in range(4)]).astype("int32"))


def load(ported, original):
    t = lambda v: torch.tensor(np.array(v))
    e, c = original.extractor, original.caan
    kx, kh, b = e.lstm.get_weights()
    l = ported.history.lstm
    l.weight_ih_l0.data, l.weight_hh_l0.data = t(kx.T), t(kh.T)
    l.bias_ih_l0.data, l.bias_hh_l0.data = t(b), torch.zeros_like(l.bias_hh_l0)
    for d, s in ((ported.history.key, e.w1), (ported.history.query, e.w2), (ported.history.v, e.score),
                 (ported.caan.gap_weight, c.rank_weight), (ported.caan.winner, c.winner)):
        d.weight.data = t(s.kernel).T.contiguous()
        if d.bias is not None:
            d.bias.data = t(s.bias)
    ported.caan.qkv.weight.data = torch.cat([t(s.kernel).T for s in (c.q, c.k, c.v)]).contiguous()
    ported.caan.qkv.bias.data = torch.cat([t(s.bias) for s in (c.q, c.k, c.v)])
    ported.caan.gap.weight.data = t(c.rank_embed.embeddings)
