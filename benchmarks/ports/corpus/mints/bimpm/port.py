"""BiMPM in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Matcher(nn.Module):
    def __init__(self, dim, perspectives, reverse):
        super().__init__()
        self.reverse = reverse
        self.w = nn.Parameter(torch.randn(3, perspectives, dim))

    def full(self, p, q, w):
        target = q[:, 0] if self.reverse else q[:, -1]
        return F.cosine_similarity(p[:, :, None] * w, (target[:, None] * w)[:, None], dim=-1)

    def maxpool(self, p, q, w):
        p = F.normalize(p[:, :, None] * w, dim=-1)
        q = F.normalize(q[:, :, None] * w, dim=-1)
        return torch.einsum("bild,bjld->bijl", p, q).amax(dim=2)

    def attentive(self, p, q, w):
        scores = F.normalize(p, dim=-1) @ F.normalize(q, dim=-1).transpose(1, 2)
        context = scores @ q / (scores.abs().sum(-1, keepdim=True) + 1e-8)
        return F.cosine_similarity(p[:, :, None] * w, context[:, :, None] * w, dim=-1)

    def forward(self, p, q):
        parts = [f(p, q, w) for f, w in zip((self.full, self.maxpool, self.attentive), self.w)]
        return torch.cat(parts, dim=-1)


class BiMPM(nn.Module):
    def __init__(self, vocab=15, dim=6, hidden=5, perspectives=3, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.context = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.matchers = nn.ModuleList([Matcher(hidden, perspectives, r) for r in (False, True)])
        self.agg = nn.LSTM(6 * perspectives, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Sequential(nn.Linear(4 * hidden, 8), nn.Tanh(), nn.Linear(8, classes))

    def match(self, p, q):
        return torch.cat(
            [m(a, b) for m, a, b in zip(self.matchers, p.chunk(2, -1), q.chunk(2, -1))], dim=-1
        )

    def summarise(self, x):
        _, (h, _) = self.agg(x)
        return torch.cat([h[0], h[1]], dim=-1)

    def forward(self, p_ids, q_ids):
        p, _ = self.context(self.emb(p_ids))
        q, _ = self.context(self.emb(q_ids))
        v = torch.cat([self.summarise(self.match(p, q)), self.summarise(self.match(q, p))], dim=-1)
        return self.out(v)


def make():
    torch.manual_seed(12)
    return BiMPM().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 15, size=(4, 7)).astype("int64"), rng.integers(0, 15, size=(4, 6)).astype("int64")


def load(ported, original):
    def put(t, w):
        t.data.copy_(torch.from_numpy(np.ascontiguousarray(w)))

    def lstm(t, bidirectional):
        sides = (("", bidirectional.forward_layer), ("_reverse", bidirectional.backward_layer))
        for suffix, layer in sides:
            kernel, recurrent, bias = layer.get_weights()
            put(getattr(t, "weight_ih_l0" + suffix), kernel.T)
            put(getattr(t, "weight_hh_l0" + suffix), recurrent.T)
            put(getattr(t, "bias_ih_l0" + suffix), bias)
            getattr(t, "bias_hh_l0" + suffix).data.zero_()

    put(ported.emb.weight, original.embedding.get_weights()[0])
    lstm(ported.context, original.context)
    lstm(ported.agg, original.aggregate)
    for m, k in zip(ported.matchers, (original.match_fw, original.match_bw)):
        put(m.w, np.stack([k.w_full.numpy(), k.w_max.numpy(), k.w_att.numpy()]))
    for t, k in ((ported.out[0], original.fc1), (ported.out[2], original.fc2)):
        w, b = k.get_weights()
        put(t.weight, w.T)
        put(t.bias, b)
