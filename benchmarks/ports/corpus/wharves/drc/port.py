"""DRC(D, N) in PyTorch, channels first inside."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
SIZE, CH, F, D, TICKS, ACTIONS = 12, 5, 8, 2, 3, 4


class Cell(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
        self.gates = nn.Conv2d(4 * f, 4 * f, kernel_size=3, padding=1)
        self.inject = nn.Linear(2 * f, f)

    def pool_and_inject(self, h):
        stats = torch.cat([h.mean((2, 3)), h.amax((2, 3))], dim=1)
        return self.inject(stats)[:, :, None, None].expand_as(h)

    def forward(self, i, skip, state):
        h, c = state
        x = torch.cat([i, skip, h, self.pool_and_inject(h)], dim=1)
        gi, gf, gg, go = self.gates(x).chunk(4, dim=1)
        c = torch.sigmoid(gf + 1.0) * c + torch.sigmoid(gi) * torch.tanh(gg)
        return torch.sigmoid(go) * torch.tanh(c), c


class DRC(nn.Module):
    def __init__(self, depth=D, ticks=TICKS):
        super().__init__()
        self.ticks = ticks
        self.encoder = nn.Sequential(
            nn.ZeroPad2d((0, 1, 0, 1)),
            nn.Conv2d(CH, F, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(F, F, 3, padding=1),
        )
        self.cells = nn.ModuleList(Cell(F) for _ in range(depth))
        self.torso = nn.Linear(2 * F * (SIZE // 2) ** 2, 24)
        self.policy = nn.Linear(24, ACTIONS)
        self.baseline = nn.Linear(24, 1)

    def forward(self, obs, h0, c0):
        i = self.encoder(obs.permute(0, 3, 1, 2))
        hs = h0.permute(0, 1, 4, 2, 3).unbind(1)
        cs = c0.permute(0, 1, 4, 2, 3).unbind(1)
        states = list(zip(hs, cs))
        for _ in range(self.ticks):
            skip = states[-1][0]
            for d, cell in enumerate(self.cells):
                states[d] = cell(i, skip, states[d])
                skip = states[d][0]
        top = torch.cat([states[-1][0], i], dim=1)
        out = torch.relu(self.torso(top.permute(0, 2, 3, 1).flatten(1)))
        h = torch.stack([s[0] for s in states], 1).permute(0, 1, 3, 4, 2)
        return self.policy(out), self.baseline(out).squeeze(-1), h


def make(seed=1):
    torch.manual_seed(seed)
    m = DRC().eval()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 1.3 / p[0].numel() ** 0.5 if p.dim() > 1 else 0.2)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    grid = np.eye(CH, dtype="f")[r.randint(0, CH, (4, SIZE, SIZE))]
    s = (4, D, SIZE // 2, SIZE // 2, F)
    return grid, np.tanh(r.randn(*s)).astype("f") * 0.5, r.randn(*s).astype("f") * 0.5


@torch.no_grad()
def load(ported, original):
    def put(mod, layer):
        w, b = layer.get_weights()
        mod.weight.copy_(torch.tensor(w.transpose(3, 2, 0, 1) if w.ndim == 4 else w.T))
        mod.bias.copy_(torch.tensor(b))
    put(ported.encoder[1], original.enc1), put(ported.encoder[3], original.enc2)
    for a, b in zip(ported.cells, original.cells):
        put(a.gates, b.conv), put(a.inject, b.pool.fc)
    put(ported.torso, original.fc), put(ported.policy, original.pi), put(ported.baseline, original.v)
