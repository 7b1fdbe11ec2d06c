"""Neural Turing machine in torch: each head is one linear layer whose output is cut into its parameters."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Addressing(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.width = width
        self.params = nn.Linear(hidden, width + 1 + 1 + 3 + 1)

    def forward(self, hidden, memory, w_prev):
        k, beta, g, s, gamma = self.params(hidden).split([self.width, 1, 1, 3, 1], dim=-1)
        k, beta, g = torch.tanh(k), F.softplus(beta), torch.sigmoid(g)
        s, gamma = torch.softmax(s, dim=-1), 1 + F.softplus(gamma)
        dots = (memory @ k[:, :, None]).squeeze(-1)
        scale = memory.norm(dim=-1) * k.norm(dim=-1, keepdim=True)
        w = torch.softmax(beta * dots / (scale + 1e-8), dim=-1)
        w = torch.lerp(w_prev, w, g)
        ring = torch.cat([w[:, -1:], w, w[:, :1]], dim=1)
        windows = ring.unfold(1, 3, 1)
        w = (windows * s.flip(1)[:, None]).sum(-1)
        w = w.pow(gamma)
        return w / w.sum(-1, keepdim=True)


class TuringMachine(nn.Module):
    def __init__(self, bits=6, hidden=16, slots=9, width=5):
        super().__init__()
        self.controller = nn.Linear(bits + width, hidden)
        self.read_head = Addressing(hidden, width)
        self.write_head = Addressing(hidden, width)
        self.erase = nn.Linear(hidden, width)
        self.add = nn.Linear(hidden, width)
        self.out = nn.Linear(hidden + width, bits)
        self.memory = nn.Parameter(torch.randn(slots, width) * 0.1)
        self.first_read = nn.Parameter(torch.zeros(width))
        self.first_weights = nn.Parameter(torch.zeros(2, slots))

    def write(self, memory, w, hidden):
        erase = torch.sigmoid(self.erase(hidden))
        add = torch.tanh(self.add(hidden))
        memory = memory * (1 - torch.einsum("bn,bm->bnm", w, erase))
        return memory + torch.einsum("bn,bm->bnm", w, add)

    def forward(self, sequence):
        batch = sequence.shape[0]
        memory = self.memory.expand(batch, -1, -1)
        vector = self.first_read.expand(batch, -1)
        reading, writing = self.first_weights.softmax(-1)
        reading, writing = reading.expand(batch, -1), writing.expand(batch, -1)
        answers = []
        for x in sequence.unbind(1):
            hidden = torch.tanh(self.controller(torch.cat([x, vector], dim=-1)))
            writing = self.write_head(hidden, memory, writing)
            memory = self.write(memory, writing, hidden)
            reading = self.read_head(hidden, memory, reading)
            vector = torch.einsum("bn,bnm->bm", reading, memory)
            answers.append(torch.sigmoid(self.out(torch.cat([hidden, vector], dim=-1))))
        return torch.stack(answers, dim=1), memory


def make():
    torch.manual_seed(13)
    return TuringMachine().eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    bits = (rng.random((4, 5, 6)) < 0.5).astype("float32")
    return bits + 0.05 * rng.normal(size=bits.shape).astype("float32")


def load(ported, original):
    def put(parameter, array):
        parameter.data.copy_(torch.from_numpy(np.array(array)))

    def linear(ours, *theirs):
        put(ours.weight, np.concatenate([t.w.numpy() for t in theirs], axis=1).T)
        put(ours.bias, np.concatenate([t.b.numpy() for t in theirs]))

    linear(ported.controller, original.controller)
    for ours, head in ((ported.read_head, original.reader), (ported.write_head, original.writer)):
        linear(ours.params, head.key, head.strength, head.gate, head.shift, head.sharpen)
    linear(ported.erase, original.erase)
    linear(ported.add, original.add)
    linear(ported.out, original.output)
    put(ported.memory, original.memory0.numpy())
    put(ported.first_read, original.read0.numpy()[0])
    put(ported.first_weights, original.weights0.numpy())
