"""BiLSTM-CRF sequence tagger (PyTorch). Returns the NLL of the gold tags, the best path and its score."""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"


class CRF(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.start = nn.Parameter(torch.empty(n))
        self.end = nn.Parameter(torch.empty(n))
        self.trans = nn.Parameter(torch.empty(n, n))  # trans[i, j]: from i to j

    def gold(self, e, tags, mask, lengths):
        B, T, _ = e.shape
        emit = e.gather(2, tags[..., None])[..., 0]
        s = self.start[tags[:, 0]] + (emit * mask).sum(1)
        s = s + (self.trans[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        last = tags.gather(1, (lengths - 1)[:, None])[:, 0]
        return s + self.end[last]

    def partition(self, e, mask):
        a = self.start + e[:, 0]
        for t in range(1, e.shape[1]):
            nxt = torch.logsumexp(a[:, :, None] + self.trans[None], dim=1) + e[:, t]
            a = torch.where(mask[:, t, None].bool(), nxt, a)
        return torch.logsumexp(a + self.end, dim=1)

    def viterbi(self, e, lengths):
        B, T, N = e.shape
        paths = torch.full((B, T), -1, dtype=torch.long)
        scores = []
        for b in range(B):
            L = int(lengths[b])
            d = self.start + e[b, 0]
            back = []
            for t in range(1, L):
                m, idx = (d[:, None] + self.trans).max(0)
                d = m + e[b, t]
                back.append(idx)
            best, cur = (d + self.end).max(0)
            scores.append(best)
            seq = [int(cur)]
            for idx in reversed(back):
                seq.append(int(idx[seq[-1]]))
            paths[b, :L] = torch.tensor(seq[::-1])
        return paths, torch.stack(scores)


class Tagger(nn.Module):
    def __init__(self, vocab=23, emb=10, hidden=7, n_tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, n_tags)
        self.crf = CRF(n_tags)

    def forward(self, tokens, lengths, tags):
        packed = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1])
        e = self.proj(h)
        mask = (torch.arange(tokens.shape[1])[None] < lengths[:, None]).float()
        nll = self.crf.partition(e, mask) - self.crf.gold(e, tags, mask, lengths)
        paths, scores = self.crf.viterbi(e, lengths)
        return nll, paths, scores


def make():
    g = torch.Generator().manual_seed(44)
    net = Tagger()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(0.6 * torch.randn(p.shape, generator=g))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 23, (5, 9)).astype(np.int64)
    lengths = np.array([9, 4, 7, 3, 8], np.int64)
    tags = rng.integers(0, 5, (5, 9)).astype(np.int64)
    pad = np.arange(9)[None] >= lengths[:, None]
    tokens[pad] = 0
    tags[pad] = 0
    return tokens, lengths, tags
