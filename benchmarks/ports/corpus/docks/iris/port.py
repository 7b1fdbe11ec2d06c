"""IRIS in torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
VOCAB, DIM, HEADS, SIDE = 11, 12, 3, 12


class SameConv(nn.Conv2d):
    """stride 2, padded as TensorFlow pads an even size: below and right."""

    def forward(self, x):
        return super().forward(F.pad(x, (0, 1, 0, 1)))


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)

    def forward(self, z):
        e = self.embedding.weight
        d = z.pow(2).sum(-1, keepdim=True) + e.pow(2).sum(-1) - 2 * z @ e.t()
        best, tokens = d.min(dim=-1)
        return self.embedding(tokens), best


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(DIM, eps=1e-6)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.ln2 = nn.LayerNorm(DIM, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))

    def attend(self, x):
        b, n, _ = x.shape
        qkv = self.qkv(x).view(b, n, 3, HEADS, DIM // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) * (DIM // HEADS) ** -0.5
        future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        att = att.masked_fill(future, float("-inf")).softmax(dim=-1)
        y = (att @ v).transpose(1, 2).reshape(b, n, DIM)
        return self.proj(y)

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class IRIS(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = SameConv(3, 8, 3, stride=2)
        self.gn = nn.GroupNorm(4, 8, eps=1e-5)
        self.conv2 = SameConv(8, DIM, 3, stride=2)
        self.quantizer = Quantizer()
        self.action = nn.Linear(4, DIM, bias=False)
        self.pos = nn.Parameter(torch.zeros(10, DIM))
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.ln = nn.LayerNorm(DIM, eps=1e-6)
        self.head = nn.Linear(DIM, VOCAB)
        self.value = nn.Linear(DIM, 2)

    def forward(self, frame, action):
        x = F.silu(self.gn(self.conv1(frame)))
        x = self.conv2(x)
        z = x.flatten(2).transpose(1, 2)
        tokens, distance = self.quantizer(z)
        x = torch.cat([tokens, self.action(action).unsqueeze(1)], dim=1)
        x = x + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.ln(x)
        return self.head(x), self.value(x[:, -1]), distance


def make():
    torch.manual_seed(14)
    m = IRIS()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * 0.35)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    frame = r.normal(size=(5, SIDE, SIDE, 3)).astype("float32")
    return np.ascontiguousarray(frame.transpose(0, 3, 1, 2)), np.eye(4, dtype="float32")[r.integers(0, 4, 5)]


def load(m, o):
    weights = [(l, [np.array(w) for w in l.get_weights()]) for l in o.layers if l.weights]
    t = torch.from_numpy
    of = lambda kind: [w for l, w in weights if type(l).__name__ == kind]
    with torch.no_grad():
        for c, (k, b) in zip((m.conv1, m.conv2), of("Conv2D")):
            c.weight.copy_(t(k.transpose(3, 2, 0, 1).copy()))
            c.bias.copy_(t(b))
        g, b = of("GroupNormalization")[0]
        m.gn.weight.copy_(t(g)), m.gn.bias.copy_(t(b))
        m.quantizer.embedding.weight.copy_(t(of("Quantizer")[0][0]))
        m.pos.copy_(t(of("Positions")[0][0]))
        norms = [n for b in m.blocks for n in (b.ln1, b.ln2)] + [m.ln]
        for n, (g, b) in zip(norms, of("LayerNormalization")):
            n.weight.copy_(t(g)), n.bias.copy_(t(b))
        for b, w in zip(m.blocks, of("CausalAttention")):
            for l, (k, c) in zip((b.qkv, b.proj), (w[:2], w[2:])):
                l.weight.copy_(t(k.T.copy())), l.bias.copy_(t(c))
        dense = of("Dense")
        m.action.weight.copy_(t(dense.pop(0)[0].T.copy()))
        lins = [l for b in m.blocks for l in (b.mlp[0], b.mlp[2])] + [m.head, m.value]
        for l, (k, c) in zip(lins, dense):
            l.weight.copy_(t(k.T.copy())), l.bias.copy_(t(c))
