"""Neural Map in PyTorch; the memory is (B, C, G, G) inside, NHWC at the interface."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
G, C, OBS, STEPS, ACTIONS = 5, 8, 12, 4, 6


class MapReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(C, C, 3, padding=1)
        self.conv2 = nn.Conv2d(C, C, 3)
        self.fc = nn.Linear(C * 9, C)

    def forward(self, m):
        h = F.elu(self.conv2(F.elu(self.conv1(m))))
        h = h.permute(0, 2, 3, 1).reshape(len(m), -1)
        return self.fc(h).tanh()


class NeuralMap(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(OBS, 16)
        self.reader = MapReader()
        self.query = nn.Linear(16 + C, C, bias=False)
        self.writer = nn.Sequential(nn.Linear(16 + 3 * C, 24), nn.ELU(), nn.Linear(24, C), nn.Tanh())
        self.actor = nn.Linear(3 * C, ACTIONS)
        self.critic = nn.Linear(3 * C, 1)

    def attend(self, m, s, r):
        q = self.query(torch.cat((s, r), 1))
        cells = m.flatten(2)
        weights = torch.bmm(q.unsqueeze(1), cells).softmax(dim=2)
        return torch.bmm(weights, cells.transpose(1, 2)).squeeze(1)

    def step(self, m, obs, pos):
        idx = torch.arange(len(m))
        y, x = pos[:, 0].long(), pos[:, 1].long()
        s = F.elu(self.embed(obs))
        r = self.reader(m)
        c = self.attend(m, s, r)
        old = m[idx, :, y, x]
        w = self.writer(torch.cat((s, r, c, old), 1))
        new = m.clone()
        new[idx, :, y, x] = w
        return new, torch.cat((r, c, w), 1)

    def forward(self, obs, pos, memory):
        m = memory.permute(0, 3, 1, 2)
        feats = []
        for t in range(obs.shape[1]):
            m, f = self.step(m, obs[:, t], pos[:, t])
            feats.append(f)
        feats = torch.stack(feats, 1)
        return self.actor(feats), self.critic(feats).squeeze(-1), m.permute(0, 2, 3, 1)


def make(seed=1):
    torch.manual_seed(seed)
    m = NeuralMap().eval()
    for p in m.parameters():
        p.data.normal_(0, 1.2 / p[0].numel() ** 0.5 if p.dim() > 1 else 0.2)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return (r.randn(4, STEPS, OBS).astype("float32"), r.randint(0, G, (4, STEPS, 2)).astype("int32"),
            (r.randn(4, G, G, C) * 0.5).astype("float32"))


@torch.no_grad()
def load(ported, o):
    def put(layer, w, b=None):
        w = w.numpy()
        w = w.transpose(3, 2, 0, 1) if w.ndim == 4 else w.T
        layer.weight.copy_(torch.tensor(w))
        if b is not None:
            layer.bias.copy_(torch.tensor(b.numpy()))
    put(ported.embed, o.w_embed, o.b_embed)
    put(ported.reader.conv1, o.k_read1, o.c_read1)
    put(ported.reader.conv2, o.k_read2, o.c_read2)
    put(ported.reader.fc, o.w_read, o.b_read)
    put(ported.query, o.w_query)
    put(ported.writer[0], o.w_write1, o.b_write1)
    put(ported.writer[2], o.w_write2, o.b_write2)
    put(ported.actor, o.w_pi, o.b_pi)
    put(ported.critic, o.w_v, o.b_v)
