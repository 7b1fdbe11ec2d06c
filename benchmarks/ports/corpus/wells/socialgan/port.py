"""Social GAN generator in PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
T, PRED, EMB, H, NZ = 5, 3, 6, 8, 3


class SocialPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.spatial = nn.Linear(2, EMB)
        self.net = nn.Sequential(nn.Linear(EMB + H, 12), nn.ReLU(), nn.Linear(12, H), nn.ReLU())

    def forward(self, h, pos):
        n = pos.size(1)
        rel = pos.unsqueeze(1) - pos.unsqueeze(2)
        other = h.unsqueeze(1).expand(-1, n, -1, -1)
        x = self.net(torch.cat([self.spatial(rel), other], dim=-1))
        return x.amax(dim=2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc_emb, self.dec_emb = nn.Linear(2, EMB), nn.Linear(2, EMB)
        self.encoder = nn.LSTM(EMB, H, batch_first=True)
        self.decoder = nn.LSTMCell(EMB, H)
        self.pool = SocialPool()
        self.context = nn.Sequential(nn.Linear(2 * H, 12), nn.ReLU(), nn.Linear(12, H - NZ), nn.ReLU())
        self.to_step = nn.Linear(H, 2)
        self.refine = nn.Sequential(nn.Linear(2 * H, H), nn.Tanh())

    def forward(self, traj, noise):
        b, n = traj.shape[:2]
        rel = torch.diff(traj, dim=2)
        _, (h, c) = self.encoder(torch.relu(self.enc_emb(rel)).flatten(0, 1))
        h = h[0].view(b, n, H)
        ctx = self.context(torch.cat([h, self.pool(h, traj[:, :, -1])], dim=-1))
        h = torch.cat([ctx, noise.unsqueeze(1).expand(-1, n, -1)], dim=-1).flatten(0, 1)
        c = torch.zeros_like(h)
        pos, step = traj[:, :, -1], rel[:, :, -1]
        preds = []
        for _ in range(PRED):
            h, c = self.decoder(torch.relu(self.dec_emb(step)).flatten(0, 1), (h, c))
            hv = h.view(b, n, H)
            step = self.to_step(hv)
            pos = pos + step
            hv = self.refine(torch.cat([hv, self.pool(hv, pos)], dim=-1))
            h = hv.flatten(0, 1)
            preds.append(pos)
        return torch.stack(preds, dim=2), hv


def make():
    g = torch.Generator().manual_seed(82)
    m = Generator().eval()
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(0.2 * r if p.ndim == 1 else r / np.sqrt(p.shape[1]))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    traj = 1.5 * r.normal(size=(4, 4, 1, 2)) + np.cumsum(0.6 * r.normal(size=(4, 4, T, 2)), axis=2)
    return traj.astype("float32"), r.normal(size=(4, NZ)).astype("float32")


@torch.no_grad()
def load(ported, original):
    t = lambda a: torch.tensor(np.ascontiguousarray(a))

    def lin(l, s):
        l.weight.copy_(t(s.W.array)), l.bias.copy_(t(s.b.array))

    def gates(a):  # chainer: a,i,f,o interleaved; torch: i,f,g,o in blocks
        a = a.reshape((H, 4) + a.shape[1:])[:, [1, 2, 0, 3]]
        return t(np.swapaxes(a, 0, 1).reshape((4 * H,) + a.shape[2:]))

    p, o = ported, original
    lin(p.enc_emb, o.enc_emb), lin(p.dec_emb, o.dec_emb), lin(p.to_step, o.hid2pos), lin(p.refine[0], o.mlp)
    lin(p.context[0], o.ctx1), lin(p.context[2], o.ctx2)
    lin(p.pool.spatial, o.pool.spatial), lin(p.pool.net[0], o.pool.fc1), lin(p.pool.net[2], o.pool.fc2)
    e, d = p.encoder, p.decoder
    for (wi, wh, bi, bh), s in (((e.weight_ih_l0, e.weight_hh_l0, e.bias_ih_l0, e.bias_hh_l0), o.enc),
                                ((d.weight_ih, d.weight_hh, d.bias_ih, d.bias_hh), o.dec)):
        wi.copy_(gates(s.upward.W.array)), wh.copy_(gates(s.lateral.W.array))
        bi.copy_(gates(s.upward.b.array)), bh.zero_()
