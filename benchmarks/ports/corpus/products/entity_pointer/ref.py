"""Entity-attention agent in the spirit of 'Emergent tool use' with an AlphaStar-like unit pointer."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_ENT, F_ENT, F_SELF, LIDAR, D, HEADS, MOVES = 6, 5, 4, 12, 16, 4, 5


class EntityPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lidar_conv = nn.Conv1d(1, 6, 3, padding=1, padding_mode="circular")
        self.self_fc = nn.Linear(F_SELF + 6 * LIDAR // 2, D)
        self.ent_fc = nn.Linear(F_ENT + D, D)
        self.attn = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.post = nn.Linear(D, D)
        self.norm = nn.LayerNorm(D)
        self.core = nn.Linear(2 * D, D)
        self.move = nn.Linear(D, MOVES)
        self.ptr_q = nn.Linear(D, D, bias=False)
        self.ptr_k = nn.Linear(D, D)
        self.value = nn.Linear(D, 1)

    def forward(self, self_obs, lidar, entities, present):
        rays = F.relu(self.lidar_conv(lidar))
        rays = F.max_pool1d(rays, 2).flatten(1)
        me = torch.relu(self.self_fc(torch.cat([self_obs, rays], dim=-1)))
        ents = torch.cat([entities, me.unsqueeze(1).expand(-1, entities.size(1), -1)], dim=-1)
        ents = torch.relu(self.ent_fc(ents))
        out, _ = self.attn(ents, ents, ents, key_padding_mask=~present, need_weights=False)
        ents = self.norm(ents + self.post(out))
        m = present.unsqueeze(-1).float()
        pooled = (ents * m).sum(1) / m.sum(1)
        core = torch.tanh(self.core(torch.cat([me, pooled], -1)))
        scores = torch.bmm(self.ptr_k(ents), self.ptr_q(core).unsqueeze(-1)).squeeze(-1) / D ** 0.5
        scores = scores.masked_fill(~present, -1e9)
        target = F.softmax(scores, dim=-1)
        return self.move(core), target, self.value(core).squeeze(-1)


def make():
    torch.manual_seed(21)
    net = EntityPolicy()
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() > 1:
                p.normal_(0, 1.2 / np.sqrt(p[0].numel()))
            else:
                p.uniform_(-0.3, 0.3)
        net.norm.weight.add_(1.0)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(100 + seed)
    b = 5
    self_obs = rng.randn(b, F_SELF).astype(np.float32)
    lidar = rng.rand(b, 1, LIDAR).astype(np.float32) * 2
    ents = rng.randn(b, N_ENT, F_ENT).astype(np.float32)
    present = rng.rand(b, N_ENT) < 0.6
    present[:, 0] = True
    present[0, -1] = False
    return self_obs, lidar, ents, present
