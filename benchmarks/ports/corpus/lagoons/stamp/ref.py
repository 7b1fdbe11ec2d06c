"""STAMP (Liu et al. 2018): short-term attention/memory priority model for session recommendation."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
ITEMS, D, L = 15, 8, 7


class STAMP(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(ITEMS + 1, D, padding_idx=0)
        self.w1 = nn.Linear(D, D, bias=False)
        self.w2 = nn.Linear(D, D, bias=False)
        self.w3 = nn.Linear(D, D, bias=False)
        self.ba = nn.Parameter(torch.zeros(D))
        self.w0 = nn.Linear(D, 1, bias=False)
        self.mlp_a = nn.Linear(D, D)
        self.mlp_b = nn.Linear(D, D)

    def attention(self, context, aspect, m_s, mask):
        res_ctx = self.w1(context)
        res_asp = self.w2(aspect).unsqueeze(1)
        res_avg = self.w3(m_s).unsqueeze(1)
        res = torch.sigmoid(res_ctx + res_asp + res_avg + self.ba)
        alpha = self.w0(res) * mask.unsqueeze(2)
        return alpha

    def forward(self, seq):
        mask = (seq > 0).float()
        lens = mask.sum(1)
        x = self.emb(seq)
        m_s = (x * mask.unsqueeze(2)).sum(1) / lens.unsqueeze(1)
        last = (lens - 1).long()
        x_t = x[torch.arange(seq.size(0)), last]
        alpha = self.attention(x, x_t, m_s, mask)
        m_a = (alpha * x).sum(1) + m_s
        h_s = torch.tanh(self.mlp_a(m_a))
        h_t = torch.tanh(self.mlp_b(x_t))
        cand = self.emb.weight[1:]
        z = torch.sigmoid(torch.matmul(h_s * h_t, cand.t()))
        return torch.log_softmax(z, dim=1), alpha.squeeze(2)


def make():
    m = STAMP()
    g = torch.Generator().manual_seed(19)
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (1.0 if n.startswith("emb") else 1.3 / p.shape[-1] ** 0.5))
        m.w0.weight.mul_(2)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    s = r.randint(1, ITEMS + 1, (6, L))
    for b, n in enumerate([7, 4, 5, 3, 6, 2]):
        s[b, n:] = 0
    return (s.astype("int64"),)
