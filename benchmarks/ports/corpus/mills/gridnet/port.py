"""GridNet policy for micro-RTS in torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class SamePool(nn.Module):
    """3x3 stride 2, padded right and bottom only (what TF calls SAME on even sizes)."""
    def forward(self, x):
        x = F.pad(x, (0, 1, 0, 1), value=float("-inf"))
        return F.max_pool2d(x, 3, stride=2)


class GridNet(nn.Module):
    def __init__(self, planes=9, nvec=(4, 4, 3)):
        super().__init__()
        self.nvec = list(nvec)
        self.down1 = nn.Sequential(nn.Conv2d(planes, 16, 3, padding=1), SamePool(), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), SamePool(), nn.ReLU())
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.up2 = nn.ConvTranspose2d(32, sum(nvec), 2, stride=2)
        self.critic = nn.Sequential(nn.Flatten(), nn.Linear(128, 48), nn.Tanh(), nn.Linear(48, 1))

    def actor_logits(self, d1, d2):
        u = torch.relu(self.up1(d2))
        u = self.up2(torch.cat([u, d1], dim=1))
        return u.permute(0, 2, 3, 1).flatten(1, 2)          # B, cells, sum(nvec)

    def forward(self, grid, mask, action):
        d1 = self.down1(grid)
        d2 = self.down2(d1)
        legal = mask.bool()
        logits = self.actor_logits(d1, d2).masked_fill(~legal, -1e8)
        has_unit = legal.any(-1).float()

        logprobs, entropies = [], []
        heads = zip(logits.split(self.nvec, -1), legal.split(self.nvec, -1), action.unbind(-1))
        for head, ok, act in heads:
            logp = head.log_softmax(-1)
            logprobs.append(logp.gather(-1, act.long().unsqueeze(-1)).squeeze(-1))
            ent = -(logp.exp() * logp).masked_fill(~ok, 0.0).sum(-1)
            entropies.append(ent)
        logprob = (torch.stack(logprobs).sum(0) * has_unit).sum(1)
        entropy = (torch.stack(entropies).sum(0) * has_unit).sum(1)
        return logprob, entropy, self.critic(d2)


def make(seed=1):
    torch.manual_seed(seed)
    return GridNet().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, h, w, nvec = 4, 8, 8, (4, 4, 3)
    grid = (rng.random((b, h, w, 9)) < 0.3).astype(np.float32)
    unit = rng.random((b, h * w, 1)) < 0.3
    masks, acts = [], []
    for n in nvec:
        m = rng.random((b, h * w, n)) < 0.6
        a = rng.integers(0, n, (b, h * w))
        np.put_along_axis(m, a[..., None], True, axis=-1)
        masks.append(m & unit)
        acts.append(a)
    grid = np.ascontiguousarray(grid.transpose(0, 3, 1, 2))
    return grid, np.concatenate(masks, -1).astype(np.float32), np.stack(acts, -1).astype(np.int32)


def load(ported, original):
    def put(dst, name, perm):
        kernel, bias = original.get_layer(name).get_weights()
        with torch.no_grad():
            dst.weight.copy_(torch.from_numpy(kernel.transpose(perm).copy()))
            dst.bias.copy_(torch.from_numpy(bias))

    conv = (3, 2, 0, 1)
    put(ported.down1[0], "enc1", conv)
    put(ported.down2[0], "enc2", conv)
    put(ported.up1, "dec1", conv)              # keras: (h, w, out, in) -> torch: (in, out, h, w)
    put(ported.up2, "dec2", conv)
    put(ported.critic[3], "critic2", (1, 0))
    put(ported.critic[1], "critic1", (1, 0))
    with torch.no_grad():                      # flatten order: (h, w, c) -> (c, h, w)
        w = ported.critic[1].weight
        w.copy_(w.view(48, 2, 2, 32).permute(0, 3, 1, 2).reshape(48, 128).clone())
