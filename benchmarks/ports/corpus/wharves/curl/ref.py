"""CURL (Laskin et al. 2020): contrastive representation for pixel SAC, with a momentum encoder."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
FRAMES, IMG, CROP, FEAT, ACT = 6, 20, 16, 12, 3


def center_crop(x, size):
    h = x.shape[-1]
    top = (h - size) // 2
    return x[..., top:top + size, top:top + size]


class PixelEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(FRAMES, 8, 3, stride=2), nn.Conv2d(8, 8, 3), nn.Conv2d(8, 8, 3)])
        self.fc = nn.Linear(8 * 3 * 3, FEAT)
        self.ln = nn.LayerNorm(FEAT)

    def forward(self, obs, detach=False):
        h = obs / 255.0
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.view(h.size(0), -1)
        if detach:
            h = h.detach()
        return torch.tanh(self.ln(self.fc(h)))


class CURL(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PixelEncoder()
        self.encoder_target = PixelEncoder()
        self.W = nn.Parameter(torch.zeros(FEAT, FEAT))
        self.trunk = nn.Sequential(nn.Linear(FEAT, 24), nn.ReLU(), nn.Linear(24, 2 * ACT))
        self.Q = nn.Sequential(nn.Linear(FEAT + ACT, 24), nn.ReLU(), nn.Linear(24, 1))

    def encode(self, x, ema=False):
        return self.encoder_target(x) if ema else self.encoder(x)

    def compute_logits(self, z_a, z_pos):
        Wz = torch.matmul(self.W, z_pos.T)
        logits = torch.matmul(z_a, Wz)
        return logits - torch.max(logits, 1)[0][:, None]

    def forward(self, anchor, positive):
        anchor, positive = center_crop(anchor, CROP), center_crop(positive, CROP)
        z_a = self.encode(anchor)
        z_pos = self.encode(positive, ema=True)
        logits = self.compute_logits(z_a, z_pos)
        labels = torch.arange(logits.shape[0])
        loss = F.cross_entropy(logits, labels)
        mu, log_std = self.trunk(self.encoder(anchor, detach=True)).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        log_std = -10 + 0.5 * (2 + 10) * (log_std + 1)
        q = self.Q(torch.cat([z_a, torch.tanh(mu)], dim=1))
        return logits, loss, mu, log_std, q


def make(seed=0):
    torch.manual_seed(seed)
    m = CURL()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if n.endswith("ln.weight"):
                p.uniform_(0.6, 1.4)
            elif p.dim() > 1:
                p.normal_(0, 1.5 / p[0].numel() ** 0.5)
            else:
                p.normal_(0, 0.2)
    return m.eval()


def inputs(seed=0):
    r = np.random.RandomState(seed)
    base = r.randint(0, 256, (6, FRAMES, IMG, IMG))
    pos = np.clip(base + r.randint(-30, 31, base.shape), 0, 255)
    return base.astype("float32"), pos.astype("float32")
