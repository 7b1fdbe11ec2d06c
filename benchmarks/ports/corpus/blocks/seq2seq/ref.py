"""Translation: a bidirectional GRU encoder, and a GRU decoder with additive attention."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
SOURCE, TARGET, EMBED, HIDDEN = 30, 25, 12, 16


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SOURCE, EMBED)
        self.rnn = nn.GRU(EMBED, HIDDEN, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, source):
        outputs, hidden = self.rnn(self.embedding(source))
        hidden = torch.cat((hidden[0], hidden[1]), dim=1)
        return outputs, torch.tanh(self.fc(hidden))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Linear(3 * HIDDEN, HIDDEN)
        self.v = nn.Linear(HIDDEN, 1, bias=False)

    def forward(self, hidden, outputs, mask):
        repeated = hidden.unsqueeze(1).repeat(1, outputs.shape[1], 1)
        energy = torch.tanh(self.energy(torch.cat((repeated, outputs), dim=2)))
        scores = self.v(energy).squeeze(2)
        scores = scores.masked_fill(mask == 0, -1e10)
        return torch.softmax(scores, dim=1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TARGET, EMBED)
        self.attention = Attention()
        self.cell = nn.GRUCell(EMBED + 2 * HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN + 2 * HIDDEN + EMBED, TARGET)

    def forward(self, token, hidden, outputs, mask):
        embedded = self.embedding(token)
        weights = self.attention(hidden, outputs, mask)
        context = torch.bmm(weights.unsqueeze(1), outputs).squeeze(1)
        hidden = self.cell(torch.cat((embedded, context), dim=1), hidden)
        logits = self.out(torch.cat((hidden, context, embedded), dim=1))
        return logits, hidden


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, source, target):
        mask = source != 0
        outputs, hidden = self.encoder(source)
        steps = []
        for t in range(target.shape[1]):
            logits, hidden = self.decoder(target[:, t], hidden, outputs, mask)
            steps.append(logits)
        return torch.stack(steps, dim=1)


def make():
    torch.manual_seed(4)
    net = Seq2Seq()
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.4)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    source = rng.integers(1, SOURCE, size=(3, 7))
    source[1, 5:] = 0
    source[2, 4:] = 0
    return source, rng.integers(1, TARGET, size=(3, 5))
