"""Listen, Attend and Spell (Chan et al. 2016), teacher forced, torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class pBLSTMLayer(nn.Module):
    """Halves the time, doubles the features, and runs a BiLSTM."""

    def __init__(self, n_in, hidden):
        super().__init__()
        self.lstm = nn.LSTM(2 * n_in, hidden, bidirectional=True, batch_first=True)

    def forward(self, x):
        b, t, f = x.shape
        x = x.contiguous().view(b, t // 2, f * 2)
        output, _ = self.lstm(x)
        return output


class Listener(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.layer0 = pBLSTMLayer(n_in, hidden)
        self.layer1 = pBLSTMLayer(2 * hidden, hidden)

    def forward(self, x):
        return self.layer1(self.layer0(x))


class Attention(nn.Module):
    def __init__(self, n_state, n_features, dim):
        super().__init__()
        self.phi = nn.Linear(n_state, dim)
        self.psi = nn.Linear(n_features, dim)

    def forward(self, state, features):
        query = torch.tanh(self.phi(state)).unsqueeze(1)
        keys = torch.tanh(self.psi(features))
        energy = torch.bmm(query, keys.transpose(1, 2)).squeeze(1)
        score = F.softmax(energy, dim=-1)
        context = torch.bmm(score.unsqueeze(1), features).squeeze(1)
        return score, context


class Speller(nn.Module):
    def __init__(self, vocab, emb, hidden, n_features):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocab, emb)
        self.cell0 = nn.LSTMCell(emb + n_features, hidden)
        self.cell1 = nn.LSTMCell(hidden, hidden)
        self.attention = Attention(hidden, n_features, 6)
        self.character = nn.Linear(hidden + n_features, vocab)

    def forward(self, features, tokens):
        b = features.shape[0]
        zero = features.new_zeros(b, self.hidden)
        state0, state1 = (zero, zero), (zero, zero)
        context = features[:, 0]
        outputs, scores = [], []
        for t in range(tokens.shape[1]):
            rnn_input = torch.cat([self.embedding(tokens[:, t]), context], dim=-1)
            state0 = self.cell0(rnn_input, state0)
            state1 = self.cell1(state0[0], state1)
            score, context = self.attention(state1[0], features)
            logits = self.character(torch.cat([state1[0], context], dim=-1))
            outputs.append(F.log_softmax(logits, dim=-1))
            scores.append(score)
        return torch.stack(outputs, 1), torch.stack(scores, 1)


class LAS(nn.Module):
    def __init__(self):
        super().__init__()
        self.listener = Listener(5, 4)
        self.speller = Speller(vocab=9, emb=5, hidden=7, n_features=8)

    def forward(self, x, tokens):
        return self.speller(self.listener(x), tokens)


def make():
    net = LAS()
    rng = np.random.default_rng(91)
    with torch.no_grad():
        for p in net.parameters():
            std = 1.3 / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.3
            p.copy_(torch.tensor(rng.normal(0, std, p.shape), dtype=torch.float32))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 16, 5)).astype("float32")
    return x, rng.integers(0, 9, (4, 4)).astype("int64")
