"""CURL (Laskin et al. 2020): pixel encoder, momentum encoder and bilinear InfoNCE."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CROP = 20


def center_crop(images, size):
    height, width = images.shape[-2:]
    top = (height - size) // 2
    left = (width - size) // 2
    return images[:, :, top:top + size, left:left + size]


class PixelEncoder(nn.Module):
    def __init__(self, channels, feature_dim, filters=16):
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Conv2d(channels, filters, 3, stride=2),
            nn.Conv2d(filters, filters, 3, stride=1),
            nn.Conv2d(filters, filters, 3, stride=1),
        ])
        self.fc = nn.Linear(filters * 5 * 5, feature_dim)
        self.ln = nn.LayerNorm(feature_dim)

    def forward(self, obs):
        h = obs.float() / 255.0
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.view(h.size(0), -1)
        return torch.tanh(self.ln(self.fc(h)))


class CURL(nn.Module):
    def __init__(self, channels=9, z_dim=18, n_actions=5):
        super().__init__()
        self.encoder = PixelEncoder(channels, z_dim)
        self.encoder_target = PixelEncoder(channels, z_dim)
        self.W = nn.Parameter(torch.rand(z_dim, z_dim))
        self.actor = nn.Linear(z_dim, n_actions)

    def compute_logits(self, z_a, z_pos):
        Wz = torch.matmul(self.W, z_pos.T)
        logits = torch.matmul(z_a, Wz)
        logits = logits - torch.max(logits, 1)[0][:, None]
        return logits

    def forward(self, anchor, positive):
        z_a = self.encoder(center_crop(anchor, CROP))
        z_pos = self.encoder_target(center_crop(positive, CROP))
        logits = self.compute_logits(z_a, z_pos)
        labels = torch.arange(logits.shape[0])
        return {
            "policy": F.log_softmax(self.actor(z_a), dim=-1),
            "logits": logits,
            "loss": F.cross_entropy(logits, labels),
        }


def make():
    torch.manual_seed(11)
    model = CURL()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("bias"):
                p.normal_(0, 0.15)
            elif ".ln." in name:
                p.normal_(1.0, 0.2)
            elif name.endswith("W"):
                p.normal_(0, 0.35)
            elif p.ndim == 4:
                nn.init.orthogonal_(p.view(p.shape[0], -1), gain=1.4)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    anchor = rng.integers(0, 256, (5, 9, 24, 30)).astype(np.uint8)
    positive = np.clip(anchor.astype(np.int64) + rng.integers(-40, 40, anchor.shape), 0, 255).astype(np.uint8)
    return anchor, positive
