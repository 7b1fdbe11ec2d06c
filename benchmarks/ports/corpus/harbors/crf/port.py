"""The tagger in torch, with the CRF by hand."""

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
WORDS, CHARS, TAGS, LETTERS = 40, 26, 6, 7
WORD_DIM, CHAR_DIM, FILTERS, UNITS = 12, 8, 10, 14


class CRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # [from, to]

    def log_partition(self, emissions):
        alpha = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            paths = alpha[:, :, None] + self.transitions
            alpha = torch.logsumexp(paths, dim=1) + emissions[:, t]
        return torch.logsumexp(alpha, dim=1)

    def path_score(self, emissions, tags):
        local = emissions.gather(2, tags[..., None]).squeeze(2)
        moves = self.transitions[tags[:, :-1], tags[:, 1:]]
        return local.sum(1) + moves.sum(1)

    def forward(self, emissions, tags):
        return self.log_partition(emissions) - self.path_score(emissions, tags)


class CharCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CHARS, CHAR_DIM)
        self.conv = nn.Conv1d(CHAR_DIM, FILTERS, 3, padding=1)

    def forward(self, chars):
        x = self.embed(chars.flatten(0, 1)).mT
        return self.conv(x).tanh().amax(-1).unflatten(0, chars.shape[:2])


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.chars = nn.Embedding(WORDS, WORD_DIM), CharCNN()
        self.lstm = nn.LSTM(WORD_DIM + FILTERS, UNITS, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * UNITS, TAGS)
        self.crf = CRF(TAGS)

    def forward(self, words, chars, tags):
        x = torch.cat([self.words(words), self.chars(chars)], dim=-1)
        emissions = self.hidden2tag(self.lstm(x)[0])
        return self.crf(emissions, tags.long()), emissions


@torch.no_grad()
def make(seed=0):
    net, g = Tagger(), torch.Generator().manual_seed(seed)
    for p in net.parameters():
        p.copy_(0.3 * torch.randn(p.shape, generator=g))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    sizes = ((WORDS, (4, 9)), (CHARS, (4, 9, LETTERS)), (TAGS, (4, 9)))
    return tuple(rng.integers(0, n, shape).astype("int32") for n, shape in sizes)


@torch.no_grad()
def load(ported, original):
    def put(to, *arrays):
        to.copy_(torch.from_numpy(np.concatenate([a.array for a in arrays])))

    put(ported.words.weight, original.word.W), put(ported.chars.embed.weight, original.char.W)
    put(ported.chars.conv.weight, original.conv.W), put(ported.chars.conv.bias, original.conv.b)
    put(ported.hidden2tag.weight, original.project.W), put(ported.hidden2tag.bias, original.project.b)
    put(ported.crf.transitions, original.cost)
    for i, suffix in enumerate(("l0", "l0_reverse")):
        ws, bs = original.rnn.ws[i], original.rnn.bs[i]
        gates = (0, 1, 2, 3)  # input, forget, cell, output in both
        put(getattr(ported.lstm, "weight_ih_" + suffix), *(ws[g] for g in gates))
        put(getattr(ported.lstm, "weight_hh_" + suffix), *(ws[g + 4] for g in gates))
        put(getattr(ported.lstm, "bias_ih_" + suffix), *(bs[g] for g in gates))
        put(getattr(ported.lstm, "bias_hh_" + suffix), *(bs[g + 4] for g in gates))
