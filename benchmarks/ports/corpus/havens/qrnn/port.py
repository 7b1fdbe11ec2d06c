"""QRNN in torch."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class QRNNLayer(nn.Module):
    def __init__(self, size_in, hidden, window=2):
        super().__init__()
        self.window = window
        self.conv = nn.Conv1d(size_in, 3 * hidden, window)

    def forward(self, x):
        """x: (B, T, size_in) -> (B, T, hidden)"""
        padded = F.pad(x.transpose(1, 2), (self.window - 1, 0))
        cand, forget, output = self.conv(padded).transpose(1, 2).chunk(3, dim=-1)
        cand = cand.tanh()
        forget, output = forget.sigmoid(), output.sigmoid()
        state = torch.zeros_like(cand[:, 0])
        states = []
        for step in range(cand.shape[1]):
            gate = forget[:, step]
            state = gate * state + (1 - gate) * cand[:, step]
            states.append(state)
        return output * torch.stack(states, dim=1)


class Sentiment(nn.Module):
    def __init__(self, vocab=50, embed=12, hidden=10, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.rnn1 = QRNNLayer(embed, hidden)
        self.rnn2 = QRNNLayer(embed + hidden, hidden)
        self.drop = nn.Dropout(0.3)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, words, lengths):
        x = self.embed(words)
        h = self.rnn1(x)
        h = self.rnn2(torch.cat([x, h], dim=-1))
        index = (lengths.long() - 1).view(-1, 1, 1).expand(-1, 1, h.shape[-1])
        sentence = h.gather(1, index).squeeze(1)
        return self.classify(self.drop(sentence))


def make():
    torch.manual_seed(7)
    return Sentiment().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([9, 4, 7, 2, 6], dtype="int32")
    words = rng.integers(1, 50, (5, 9)).astype("int32")
    words[np.arange(9) >= lengths[:, None]] = 0
    return words, lengths


def load(ported, original):
    pairs = [
        (ported.embed.weight, original.embed.W),
        (ported.rnn1.conv.weight, original.layer1.conv.W),
        (ported.rnn1.conv.bias, original.layer1.conv.b),
        (ported.rnn2.conv.weight, original.layer2.conv.W),
        (ported.rnn2.conv.bias, original.layer2.conv.b),
        (ported.classify.weight, original.out.W),
        (ported.classify.bias, original.out.b),
    ]
    with torch.no_grad():
        for ours, theirs in pairs:
            ours.copy_(torch.from_numpy(theirs.array.copy()))
