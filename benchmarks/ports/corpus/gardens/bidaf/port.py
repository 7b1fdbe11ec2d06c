"""BiDAF, PyTorch. Similarity is split in three dot products to avoid the B*T*J*6H tensor."""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"


class HighwayNet(nn.Module):
    def __init__(self, dim, depth=2):
        super().__init__()
        self.transform = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.carry = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))

    def forward(self, x):
        for lin, gate in zip(self.transform, self.carry):
            t = torch.sigmoid(gate(x))
            x = torch.lerp(x, lin(x).relu(), t)
        return x


class RNN(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lstm = nn.LSTM(d_in, d_out, batch_first=True, bidirectional=True)

    def forward(self, x, mask):
        packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        out, _ = self.lstm(packed)
        return pad_packed_sequence(out, batch_first=True, total_length=x.size(1))[0]


class AttentionFlow(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w_h = nn.Parameter(torch.randn(d) / d ** 0.5)
        self.w_u = nn.Parameter(torch.randn(d) / d ** 0.5)
        self.w_hu = nn.Parameter(torch.randn(d) / d ** 0.5)

    def forward(self, h, u, h_mask, u_mask):
        sim = (h @ self.w_h).unsqueeze(2) + (u @ self.w_u).unsqueeze(1)
        sim = sim + torch.bmm(h * self.w_hu, u.transpose(1, 2))
        both = h_mask.unsqueeze(2) & u_mask.unsqueeze(1)
        sim = sim.masked_fill(~both, -1e9)
        a = sim.softmax(dim=2)
        u_tilde = torch.bmm(a, u)
        b = sim.max(dim=2).values.softmax(dim=1)
        h_tilde = torch.einsum("bt,btd->bd", b, h).unsqueeze(1)
        return torch.cat([h, u_tilde, h * u_tilde, h * h_tilde], dim=-1)


class SpanReader(nn.Module):
    def __init__(self, vocab=60, emb=16, hid=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb, padding_idx=0)
        self.highway = HighwayNet(emb)
        self.enc = RNN(emb, hid)
        self.flow = AttentionFlow(2 * hid)
        self.model = RNN(8 * hid, hid)
        self.out_rnn = RNN(2 * hid, hid)
        self.p1 = nn.Linear(10 * hid, 1)
        self.p2 = nn.Linear(10 * hid, 1)

    def forward(self, context, question):
        cm, qm = context.ne(0), question.ne(0)
        h = self.enc(self.highway(self.emb(context)), cm)
        u = self.enc(self.highway(self.emb(question)), qm)
        g = self.flow(h, u, cm, qm)
        m = self.model(g, cm)
        m_end = self.out_rnn(m, cm)
        s = self.p1(torch.cat((g, m), -1)).squeeze(-1)
        e = self.p2(torch.cat((g, m_end), -1)).squeeze(-1)
        s = s.masked_fill(~cm, -1e9).softmax(-1)
        e = e.masked_fill(~cm, -1e9).softmax(-1)
        return s, e


def make(seed=77):
    torch.manual_seed(seed)
    return SpanReader().eval()


def inputs(seed=0):
    r = np.random.RandomState(seed)
    c = r.randint(1, 60, (4, 14)).astype("int32")
    q = r.randint(1, 60, (4, 6)).astype("int32")
    for i, (a, b) in enumerate([(14, 6), (9, 4), (11, 5), (7, 3)]):
        c[i, a:] = 0
        q[i, b:] = 0
    return c, q


@torch.no_grad()
def load(ported, original):
    t = lambda p: torch.from_numpy(np.array(p.array))
    w = t(original.embed.W)
    w[0] = 0  # chainer's ignore_label gives zeros
    ported.emb.weight.copy_(w)
    for i, hw in enumerate((original.hw1, original.hw2)):
        for lin, src in ((ported.highway.transform[i], hw.plain), (ported.highway.carry[i], hw.gate)):
            lin.weight.copy_(t(src.W))
            lin.bias.copy_(t(src.b))
    for dst, src in ((ported.enc, original.context), (ported.model, original.modeling),
                     (ported.out_rnn, original.end_rnn)):
        for link, suffix in zip(src, ("l0", "l0_reverse")):
            ws = [t(getattr(link, f"w{k}")) for k in range(8)]
            bs = [t(getattr(link, f"b{k}")) for k in range(8)]
            getattr(dst.lstm, "weight_ih_" + suffix).copy_(torch.cat(ws[:4]))
            getattr(dst.lstm, "weight_hh_" + suffix).copy_(torch.cat(ws[4:]))
            getattr(dst.lstm, "bias_ih_" + suffix).copy_(torch.cat(bs[:4]))
            getattr(dst.lstm, "bias_hh_" + suffix).copy_(torch.cat(bs[4:]))
    a, b, c = t(original.sim.W)[0].chunk(3)
    ported.flow.w_h.copy_(a)
    ported.flow.w_u.copy_(b)
    ported.flow.w_hu.copy_(c)
    for lin, src in ((ported.p1, original.start), (ported.p2, original.end)):
        lin.weight.copy_(t(src.W))
        lin.bias.copy_(t(src.b))
