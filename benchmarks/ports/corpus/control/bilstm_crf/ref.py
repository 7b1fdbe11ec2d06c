"""BiLSTM-CRF for behaviour segmentation (contact phases): log-space forward/backward, masked lengths."""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"
D, H, K = 6, 12, 5


class CRF(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.start = nn.Parameter(torch.randn(k) * 0.5)
        self.trans = nn.Parameter(torch.randn(k, k) * 0.7)      # from -> to
        self.end = nn.Parameter(torch.randn(k) * 0.5)

    def forward_pass(self, em, mask):
        alphas = [self.start + em[:, 0]]
        for t in range(1, em.shape[1]):
            nxt = torch.logsumexp(alphas[-1][:, :, None] + self.trans, dim=1) + em[:, t]
            alphas.append(torch.where(mask[:, t, None], nxt, alphas[-1]))
        return torch.stack(alphas, 1), torch.logsumexp(alphas[-1] + self.end, dim=1)

    def backward_pass(self, em, mask):
        betas = [self.end.expand(em.shape[0], -1)]
        for t in range(em.shape[1] - 1, 0, -1):
            prv = torch.logsumexp(self.trans + (em[:, t] + betas[0])[:, None, :], dim=2)
            betas.insert(0, torch.where(mask[:, t, None], prv, betas[0]))
        return torch.stack(betas, 1)

    def score(self, em, tags, mask):
        s = self.start[tags[:, 0]] + em[:, 0].gather(1, tags[:, :1])[:, 0]
        for t in range(1, em.shape[1]):
            step = self.trans[tags[:, t - 1], tags[:, t]] + em[:, t].gather(1, tags[:, t:t + 1])[:, 0]
            s = s + step * mask[:, t]
        last = mask.sum(1).long() - 1
        return s + self.end[tags.gather(1, last[:, None])[:, 0]]

    def best(self, em, mask):
        v = self.start + em[:, 0]
        for t in range(1, em.shape[1]):
            nxt = (v[:, :, None] + self.trans).amax(1) + em[:, t]
            v = torch.where(mask[:, t, None], nxt, v)
        return (v + self.end).amax(1)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(D, H)
        self.lstm = nn.LSTM(H, H, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * H, K)
        self.crf = CRF(K)

    def forward(self, x, lengths, tags):
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        packed = pack_padded_sequence(torch.tanh(self.proj(x)), lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        em = self.emit(h)
        alpha, logz = self.crf.forward_pass(em, mask)
        marg = torch.softmax(alpha + self.crf.backward_pass(em, mask), dim=-1) * mask[..., None]
        return {"nll": logz - self.crf.score(em, tags, mask), "marginals": marg,
                "map_gap": logz - self.crf.best(em, mask)}


def make():
    torch.manual_seed(29)
    return Segmenter().eval()


def inputs(seed):
    g = np.random.default_rng(seed + 800)
    return (g.normal(size=(5, 9, D)).astype(np.float32), np.array([9, 4, 7, 2, 6]),
            g.integers(0, K, (5, 9)))
