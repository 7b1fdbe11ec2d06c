import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class HighwayLayer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.h = nn.Linear(n, n)
        self.t = nn.Linear(n, n)

    def forward(self, x):
        gate = self.t(x).sigmoid()
        return gate * self.h(x).relu() + (1 - gate) * x


class CharAwareLM(nn.Module):
    """All words of the batch go through the CNN at once, then cuDNN style LSTM."""

    def __init__(self, chars=30, dim=7, spec=((1, 4), (2, 6), (3, 6), (4, 8)), units=16, vocab=25):
        super().__init__()
        feats = sum(n for _, n in spec)
        self.emb = nn.Embedding(chars, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, n, w) for w, n in spec])
        self.norm = nn.BatchNorm1d(feats, eps=2e-5)
        self.highway = nn.Sequential(HighwayLayer(feats), HighwayLayer(feats))
        self.lstm = nn.LSTM(feats, units, num_layers=2, batch_first=True)
        self.decode = nn.Linear(units, vocab)

    def word_vectors(self, chars):
        x = self.emb(chars).transpose(1, 2)
        pooled = []
        for conv in self.convs:
            y = torch.tanh(conv(x))
            pooled.append(y.max(dim=2).values)
        return torch.cat(pooled, dim=1)

    def forward(self, chars):
        b, t, c = chars.shape
        words = self.norm(self.word_vectors(chars.reshape(b * t, c)))
        words = self.highway(words).view(b, t, -1)
        states, _ = self.lstm(words)
        return torch.log_softmax(self.decode(states), dim=-1)


def make(seed=1):
    torch.manual_seed(seed)
    m = CharAwareLM()
    with torch.no_grad():
        for k, v in m.state_dict().items():
            if k == "norm.running_var":
                v.uniform_(0.3, 1.0)
            elif k == "norm.weight":
                v.normal_(1, 0.2)
            elif v.is_floating_point():
                v.normal_(0, 0.3)
    return m.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    chars = np.zeros((5, 6, 9), np.int64)
    for b in range(5):
        for t in range(6):
            n = rng.integers(2, 8)
            chars[b, t, :n + 2] = np.r_[1, rng.integers(3, 30, n), 2]
    return chars


@torch.no_grad()
def load(ported, original):
    t = lambda a: torch.from_numpy(np.array(getattr(a, "array", a)))

    def linear(dst, src):
        dst.weight.copy_(t(src.W))
        dst.bias.copy_(t(src.b))

    ported.emb.weight.copy_(t(original.cnn.embed.W))
    for d, s in zip(ported.convs, original.cnn.convs):
        d.weight.copy_(t(s.W)[:, 0].transpose(1, 2))
        d.bias.copy_(t(s.b))
    for d, s in zip(ported.highway, original.highways):
        linear(d.h, s.plain)
        linear(d.t, s.transform)
    bn = original.bn
    for d, s in ((ported.norm.weight, bn.gamma), (ported.norm.bias, bn.beta),
                 (ported.norm.running_mean, bn.avg_mean), (ported.norm.running_var, bn.avg_var)):
        d.copy_(t(s))

    def gates(a):                       # chainer: (unit, [g, i, f, o]); torch: [i, f, g, o] by unit
        a = t(a)
        a = a.reshape((a.shape[0] // 4, 4) + tuple(a.shape[1:]))
        return torch.cat([a[:, k] for k in (1, 2, 0, 3)])

    for i, s in enumerate((original.lstm1, original.lstm2)):
        getattr(ported.lstm, f"weight_ih_l{i}").copy_(gates(s.upward.W))
        getattr(ported.lstm, f"weight_hh_l{i}").copy_(gates(s.lateral.W))
        getattr(ported.lstm, f"bias_ih_l{i}").copy_(gates(s.upward.b))
        getattr(ported.lstm, f"bias_hh_l{i}").zero_()
    linear(ported.decode, original.out)
