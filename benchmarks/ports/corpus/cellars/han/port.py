import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VOCAB, D, HW, HS, CLASSES = 16, 8, 6, 7, 5


class ResetBeforeGRUCell(nn.Module):
    """nn.GRUCell resets after the product, so the original's cell is written out."""

    def __init__(self, n_in, n_hid):
        super().__init__()
        self.n_hid = n_hid
        self.x2h = nn.Linear(n_in, 3 * n_hid)
        self.h2rz = nn.Linear(n_hid, 2 * n_hid, bias=False)
        self.h2n = nn.Linear(n_hid, n_hid, bias=False)

    def forward(self, x, h):
        xr, xz, xn = self.x2h(x).chunk(3, dim=-1)
        hr, hz = self.h2rz(h).chunk(2, dim=-1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + self.h2n(r * h))
        return (1 - z) * h + z * n


class BiRNN(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.forward_cell = ResetBeforeGRUCell(n_in, n_hid)
        self.backward_cell = ResetBeforeGRUCell(n_in, n_hid)

    @staticmethod
    def scan(cell, x, mask):
        h = x.new_zeros(x.shape[0], cell.n_hid)
        hs = []
        for xt, mt in zip(x.unbind(1), mask.unbind(1)):
            new = cell(xt, h)
            h = torch.where(mt.unsqueeze(1), new, h)
            hs.append(h)
        return torch.stack(hs, dim=1)

    def forward(self, x, mask):
        fwd = self.scan(self.forward_cell, x, mask)
        bwd = self.scan(self.backward_cell, x.flip(1), mask.flip(1))
        bwd = bwd.flip(1)
        return torch.cat([fwd, bwd], dim=-1)


class AttentionPool(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.query = nn.Parameter(torch.zeros(n))

    def forward(self, h, mask):
        u = torch.tanh(self.linear(h))
        logits = u @ self.query
        logits = logits.masked_fill(~mask, -1e4)
        w = F.softmax(logits, dim=1)
        return torch.einsum("bt,btd->bd", w, h)


class HierAttNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, D)
        self.word_gru = BiRNN(D, HW)
        self.word_pool = AttentionPool(2 * HW)
        self.sent_gru = BiRNN(2 * HW, HS)
        self.sent_pool = AttentionPool(2 * HS)
        self.out = nn.Linear(2 * HS, CLASSES)

    def forward(self, docs):
        b, s, w = docs.shape
        words = docs.view(b * s, w)
        word_mask = words.ne(0)
        sent_mask = docs.ne(0).any(dim=-1)
        h = self.word_gru(self.embedding(words), word_mask)
        sents = self.word_pool(h, word_mask).view(b, s, -1)
        h = self.sent_gru(sents, sent_mask)
        doc = self.sent_pool(h, sent_mask)
        return F.log_softmax(self.out(doc), dim=-1)


def make():
    torch.manual_seed(101)
    m = HierAttNet()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = r.randint(1, VOCAB, (4, 3, 5)).astype("int64")
    ids[0, 1, 3:] = 0
    ids[1, 2] = 0
    ids[2, 0, 2:] = 0
    ids[3, 2, 4:] = 0
    ids[3, 1, 1:] = 0
    return (ids,)


def load(ported, original):
    def put(p, v):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.array(v)))

    def lin(a, b):
        put(a.weight, b.W.array)
        put(a.bias, b.b.array)

    def cell(a, b):
        put(a.x2h.weight, np.concatenate([b.W_r.W.array, b.W_z.W.array, b.W.W.array]))
        put(a.x2h.bias, np.concatenate([b.W_r.b.array + b.U_r.b.array, b.W_z.b.array + b.U_z.b.array,
                                        b.W.b.array + b.U.b.array]))
        put(a.h2rz.weight, np.concatenate([b.U_r.W.array, b.U_z.W.array]))
        put(a.h2n.weight, b.U.W.array)

    put(ported.embedding.weight, original.embed.W.array)
    for a, b in ((ported.word_gru, original.word_rnn), (ported.sent_gru, original.sent_rnn)):
        cell(a.forward_cell, b.fw)
        cell(a.backward_cell, b.bw)
    for a, b in ((ported.word_pool, original.word_att), (ported.sent_pool, original.sent_att)):
        lin(a.linear, b.proj)
        put(a.query, b.context.array)
    lin(ported.out, original.fc)
