"""IC3Net in PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
N, D, H, A = 4, 9, 24, 5


class IC3Net(nn.Module):
    def __init__(self, rounds=2):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(D, H), nn.Tanh())
        self.hear = nn.ModuleList([nn.Linear(H, H) for _ in range(rounds)])
        self.keep = nn.ModuleList([nn.Linear(H, H, bias=False) for _ in range(rounds)])
        self.lstm = nn.LSTMCell(H, H)
        self.pi = nn.Linear(H, A)
        self.gate = nn.Linear(H, 2)
        self.v = nn.Linear(H, 1)

    def forward(self, obs, alive, talk, h, c):
        batch = obs.shape[0]
        x = self.encode(obs)

        adjacency = torch.ones(N, N) - torch.eye(N)
        speaks = alive * talk
        adjacency = adjacency * speaks.unsqueeze(1)
        adjacency = adjacency * alive.unsqueeze(2)
        living = alive.sum(1, keepdim=True)
        adjacency = adjacency / (living - 1).clamp(min=1).unsqueeze(-1)

        y = x
        for k in range(len(self.hear)):
            incoming = torch.einsum("bij,bjh->bih", adjacency, y)
            y = torch.tanh(self.hear[k](incoming) + self.keep[k](y))

        state = (h.flatten(0, 1), c.flatten(0, 1))
        h, c = self.lstm((x + y).flatten(0, 1), state)
        h, c = h.view(batch, N, H), c.view(batch, N, H)
        logp = self.pi(h).log_softmax(-1)
        talk_logp = self.gate(h).log_softmax(-1)
        value = self.v(h).squeeze(-1) * alive
        return logp, talk_logp, value, h, c


def make(seed=2):
    torch.manual_seed(seed)
    net = IC3Net()
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, 0.25)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    obs = r.normal(size=(6, N, D))
    alive = np.ones((6, N))
    for row, col in ((1, 2), (3, 0), (4, 1), (4, 3)):
        alive[row, col] = 0
    talk = (r.uniform(size=(6, N)) < 0.7) * 1.0
    talk[0] = [1, 0, 1, 1]
    h = np.tanh(r.normal(size=(6, N, H)))
    c = r.normal(size=(6, N, H))
    return tuple(a.astype("float32") for a in (obs, alive, talk, h, c))


def load(ported, original):
    def t(p):
        return torch.from_numpy(np.array(p.data))

    def gates(p):
        """Chainer interleaves (a, i, f, o) per unit; torch wants blocks (i, f, g, o)."""
        w = t(p)
        w = w.reshape(H, 4, *w.shape[1:])
        return torch.cat([w[:, 1], w[:, 2], w[:, 0], w[:, 3]], dim=0)

    with torch.no_grad():
        pairs = [(ported.encode[0], original.encoder), (ported.pi, original.actor)]
        pairs += [(ported.gate, original.talker), (ported.v, original.value)]
        pairs += list(zip(ported.hear, original.comm)) + list(zip(ported.keep, original.skip))
        for linear, link in pairs:
            linear.weight.copy_(t(link.W))
            if linear.bias is not None:
                linear.bias.copy_(t(link.b))
        ported.lstm.weight_ih.copy_(gates(original.cell.upward.W))
        ported.lstm.bias_ih.copy_(gates(original.cell.upward.b))
        ported.lstm.weight_hh.copy_(gates(original.cell.lateral.W))
        ported.lstm.bias_hh.zero_()
