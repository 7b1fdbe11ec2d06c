"""GRU-D in PyTorch with the gate projections fused into two linears; cell and classifier separated."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GRUDCell(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.decay_x = nn.Parameter(torch.randn(2, d) * 0.1)       # slope, offset
        self.register_buffer("x_mean", torch.zeros(d))
        self.decay_h = nn.Linear(d, h)
        self.gates = nn.Linear(2 * d + h, 2 * h)
        self.cand = nn.Linear(2 * d + h, h)

    def forward(self, x, m, delta, h, last):
        slope, offset = self.decay_x
        gamma_x = torch.exp(-torch.clamp(delta * slope + offset, min=0))
        prior = torch.lerp(self.x_mean.expand_as(x), last, gamma_x)
        x_hat = torch.where(m.bool(), x, prior)
        last = torch.where(m.bool(), x, last)
        h = h * torch.exp(-F.relu(self.decay_h(delta)))
        zr = torch.sigmoid(self.gates(torch.cat([x_hat, h, m], dim=-1)))
        z, r = zr.chunk(2, dim=-1)
        n = torch.tanh(self.cand(torch.cat([x_hat, r * h, m], dim=-1)))
        return torch.lerp(h, n, z), last


class GRUDClassifier(nn.Module):
    def __init__(self, d=5, h=24, att=12, classes=3):
        super().__init__()
        self.h = h
        self.cell = GRUDCell(d, h)
        self.key = nn.Linear(h, att)
        self.query = nn.Parameter(torch.randn(att))
        self.cls = nn.Linear(h, classes)

    def forward(self, x, m, delta):
        h = x.new_zeros(x.size(0), self.h)
        last = self.cell.x_mean.expand(x.size(0), -1)
        seq = []
        for xt, mt, dt in zip(x.unbind(1), m.unbind(1), delta.unbind(1)):
            h, last = self.cell(xt, mt, dt, h, last)
            seq.append(h)
        seq = torch.stack(seq, dim=1)                               # (B, T, H)
        alpha = F.softmax(torch.tanh(self.key(seq)) @ self.query, dim=1)
        ctx = torch.einsum("bt,bth->bh", alpha, seq)
        return self.cls(ctx).log_softmax(-1), h, alpha


def make():
    torch.manual_seed(2)
    return GRUDClassifier().eval()


@torch.no_grad()
def load(model, reference):
    ref = reference
    t = lambda p: torch.tensor(p.array)
    cell = model.cell
    cell.decay_x.copy_(torch.stack([t(ref.gx_w), t(ref.gx_b)]))
    cell.x_mean.copy_(t(ref.x_mean))
    cell.decay_h.weight.copy_(t(ref.gh.W))
    cell.decay_h.bias.copy_(t(ref.gh.b))

    def fuse(g):
        parts = [getattr(ref, src + g).W for src in "xhm"]
        return torch.cat([t(p) for p in parts], dim=1)

    cell.gates.weight.copy_(torch.cat([fuse("z"), fuse("r")]))
    cell.gates.bias.copy_(torch.cat([t(ref.xz.b), t(ref.xr.b)]))
    cell.cand.weight.copy_(fuse("h"))
    cell.cand.bias.copy_(t(ref.xh.b))
    model.key.weight.copy_(t(ref.att.W))
    model.key.bias.copy_(t(ref.att.b))
    model.query.copy_(t(ref.att_v.W)[0])
    model.cls.weight.copy_(t(ref.out.W))
    model.cls.bias.copy_(t(ref.out.b))
