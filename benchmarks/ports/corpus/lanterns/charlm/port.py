"""Character-aware language model in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class Highway(nn.Module):
    def __init__(self, size, layers=2):
        super().__init__()
        self.nonlinear = nn.ModuleList([nn.Linear(size, size) for _ in range(layers)])
        self.transform = nn.ModuleList([nn.Linear(size, size) for _ in range(layers)])

    def forward(self, x):
        for i in range(len(self.nonlinear)):
            gate = self.transform[i](x).sigmoid()
            h = self.nonlinear[i](x).relu()
            x = gate * h + (1 - gate) * x
        return x


class CharLM(nn.Module):
    def __init__(self, n_chars=30, n_words=40, dim=10, kernels=((1, 6), (2, 8), (3, 10)), hidden=18):
        super().__init__()
        size = sum(c for _, c in kernels)
        self.char_embedding = nn.Embedding(n_chars, dim)
        self.kernels = nn.ModuleList([nn.Conv1d(dim, c, w) for w, c in kernels])
        self.highway = Highway(size)
        self.rnn = nn.LSTM(size, hidden, batch_first=True)
        self.decoder = nn.Linear(hidden, n_words)

    def encode_words(self, chars):
        e = self.char_embedding(chars).transpose(1, 2)
        pooled = [torch.tanh(k(e)).amax(dim=-1) for k in self.kernels]
        return self.highway(torch.cat(pooled, dim=-1))

    def forward(self, chars):
        n, t, w = chars.shape
        words = self.encode_words(chars.reshape(n * t, w)).view(n, t, -1)
        states, _ = self.rnn(words)
        return self.decoder(states).log_softmax(dim=-1)


def make(seed=1):
    torch.manual_seed(seed)
    net = CharLM()
    for p in net.parameters():
        nn.init.normal_(p, std=0.2)
    return net.eval()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    chars = rng.randint(1, 30, size=(5, 7, 9))
    lengths = rng.randint(3, 10, size=(5, 7, 1))
    return np.where(np.arange(9) < lengths, chars, 0).astype("int64")


@torch.no_grad()
def load(ported, original):
    def put(param, link_param):
        param.copy_(torch.from_numpy(np.ascontiguousarray(link_param)))

    def gates(a):
        """chainer: unit by unit (a, i, f, o); torch: gate by gate (i, f, g, o)."""
        a = a.reshape((-1, 4) + a.shape[1:])
        return np.concatenate([a[:, k] for k in (1, 2, 0, 3)])

    put(ported.char_embedding.weight, original.words.embed.W.array)
    for mine, theirs in zip(ported.kernels, original.words.convs):
        put(mine.weight, theirs.W.array.reshape(mine.weight.shape))
        put(mine.bias, theirs.b.array)
    for i, hw in enumerate(original.words.highways):
        put(ported.highway.nonlinear[i].weight, hw.plain.W.array)
        put(ported.highway.nonlinear[i].bias, hw.plain.b.array)
        put(ported.highway.transform[i].weight, hw.gate.W.array)
        put(ported.highway.transform[i].bias, hw.gate.b.array)
    put(ported.rnn.weight_ih_l0, gates(original.lstm.upward.W.array))
    put(ported.rnn.bias_ih_l0, gates(original.lstm.upward.b.array))
    put(ported.rnn.weight_hh_l0, gates(original.lstm.lateral.W.array))
    ported.rnn.bias_hh_l0.zero_()
    put(ported.decoder.weight, original.out.W.array)
    put(ported.decoder.bias, original.out.b.array)
