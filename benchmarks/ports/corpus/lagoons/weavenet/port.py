"""Weave network in PyTorch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
A, CP, CH, LAYERS = 5, 4, 8, 2


def dense(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.ReLU())


class Weave(nn.Module):
    def __init__(self, ca, cp, ch):
        super().__init__()
        self.aa = dense(ca, ch)
        self.pa = dense(cp, ch)
        self.a_out = dense(2 * ch, ch)
        self.ap = dense(2 * ca, ch)
        self.pp = dense(cp, ch)
        self.p_out = dense(2 * ch, ch)

    def forward(self, atoms, pairs, pair_mask):
        n, a, _ = atoms.shape
        from_pairs = (self.pa(pairs) * pair_mask).sum(dim=2)
        new_atoms = self.a_out(torch.cat([self.aa(atoms), from_pairs], -1))
        left = atoms.unsqueeze(2).expand(-1, -1, a, -1)
        right = atoms.unsqueeze(1).expand(-1, a, -1, -1)
        from_atoms = self.ap(torch.cat([left, right], -1)) + self.ap(torch.cat([right, left], -1))
        new_pairs = self.p_out(torch.cat([from_atoms, self.pp(pairs)], -1))
        return new_atoms, new_pairs


class GaussianReadout(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mu", torch.tensor([-1.6, 0.0, 1.6]), persistent=False)
        self.register_buffer("sigma", torch.tensor([0.6, 0.5, 0.7]), persistent=False)

    def forward(self, h, mask):
        g = torch.exp(-0.5 * ((h.unsqueeze(2) - self.mu[:, None]) / self.sigma[:, None]).square())
        g = g / (g.sum(dim=2, keepdim=True) + 1e-7)
        return (g * mask[:, :, None, None]).sum(dim=1).flatten(1)


class WeaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, CH)
        self.weaves = nn.ModuleList([Weave(CH, CP if i == 0 else CH, CH) for i in range(LAYERS)])
        self.pre = nn.Linear(CH, 6)
        self.readout = GaussianReadout()
        self.fc = nn.Linear(18, 3)

    def forward(self, ids, pairs, adj_mask):
        mask = (ids > 0).float()
        atoms = self.embed(ids)
        for weave in self.weaves:
            atoms, pairs = weave(atoms, pairs, adj_mask.unsqueeze(-1))
        h = 2.0 * torch.tanh(self.pre(atoms))
        return self.fc(self.readout(h, mask))


def make():
    m = WeaveNet()
    g = torch.Generator().manual_seed(12)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def load(ported, original):
    def put(dst, src):
        dst.weight.data.copy_(torch.from_numpy(src.W.array))
        dst.bias.data.copy_(torch.from_numpy(src.b.array))

    ported.embed.weight.data.copy_(torch.from_numpy(original.embed.W.array))
    for d, s in zip(ported.weaves, original.weaves):
        put(d.aa[0], s.atom_to_atom.dense)
        put(d.pa[0], s.pair_to_atom.linear.dense)
        put(d.a_out[0], s.atom_layer.dense)
        put(d.ap[0], s.atom_to_pair.linear.dense)
        put(d.pp[0], s.pair_to_pair.dense)
        put(d.p_out[0], s.pair_layer.dense)
    put(ported.pre, original.pre)
    put(ported.fc, original.fc)


def inputs(seed):
    r = np.random.RandomState(seed)
    atoms = r.randint(1, 9, (4, A)).astype("int32")
    atoms[1, 4:] = 0
    atoms[2, 3:] = 0
    real = (atoms > 0).astype("float32")
    return atoms.astype("int64"), r.randn(4, A, A, CP).astype("float32"), real[:, :, None] * real[:, None, :]
