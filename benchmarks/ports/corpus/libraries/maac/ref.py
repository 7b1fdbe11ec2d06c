"""MAAC: attention critic over the agents, one module per agent, with the counterfactual baseline."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
N, OBS, ACT, HID, HEADS = 4, 6, 5, 24, 3


class AttentionCritic(nn.Module):
    def __init__(self):
        super().__init__()
        d = HID // HEADS
        self.norms = nn.ModuleList(nn.BatchNorm1d(OBS + ACT, affine=False) for _ in range(N))
        self.state_norms = nn.ModuleList(nn.BatchNorm1d(OBS, affine=False) for _ in range(N))
        self.encoders = nn.ModuleList(nn.Linear(OBS + ACT, HID) for _ in range(N))
        self.state_encoders = nn.ModuleList(nn.Linear(OBS, HID) for _ in range(N))
        self.critics = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * HID, HID), nn.LeakyReLU(), nn.Linear(HID, ACT)) for _ in range(N)
        )
        # shared by all agents
        self.keys = nn.ModuleList(nn.Linear(HID, d, bias=False) for _ in range(HEADS))
        self.selectors = nn.ModuleList(nn.Linear(HID, d, bias=False) for _ in range(HEADS))
        self.values = nn.ModuleList(nn.Sequential(nn.Linear(HID, d), nn.LeakyReLU()) for _ in range(HEADS))

    def forward(self, obs, actions, policy_logits):
        sa, s = [], []
        for i in range(N):
            x = torch.cat([obs[:, i], F.one_hot(actions[:, i], ACT).float()], dim=1)
            sa.append(F.leaky_relu(self.encoders[i](self.norms[i](x))))
            s.append(F.leaky_relu(self.state_encoders[i](self.state_norms[i](obs[:, i]))))

        others = [[] for _ in range(N)]
        regs, entropies = [0.0] * N, [[] for _ in range(N)]
        for key, selector, value in zip(self.keys, self.selectors, self.values):
            ks = [key(e) for e in sa]
            vs = [value(e) for e in sa]
            for i in range(N):
                rest = [j for j in range(N) if j != i]
                k = torch.stack([ks[j] for j in rest], dim=2)
                v = torch.stack([vs[j] for j in rest], dim=2)
                logits = torch.matmul(selector(s[i]).unsqueeze(1), k)
                regs[i] = regs[i] + 1e-2 * (logits**2).mean()
                w = F.softmax(logits / math.sqrt(k.shape[1]), dim=2)
                others[i].append((v * w).sum(dim=2))
                entropies[i].append(-(w * (w + 1e-8).log()).sum(2).mean(1))

        q_all, q, adv = [], [], []
        for i in range(N):
            all_q = self.critics[i](torch.cat([s[i], *others[i]], dim=1))
            chosen = all_q.gather(1, actions[:, i : i + 1])
            pi = policy_logits[:, i].softmax(1)
            baseline = (all_q * pi).sum(1, keepdim=True)
            q_all.append(all_q)
            q.append(chosen.squeeze(1))
            adv.append((chosen - baseline).squeeze(1))
        ent = torch.stack([torch.stack(e, 1) for e in entropies], 1)
        return torch.stack(q_all, 1), torch.stack(q, 1), torch.stack(adv, 1), torch.stack(regs), ent


def make():
    torch.manual_seed(9)
    model = AttentionCritic()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.4 if p.ndim == 1 else 1.6 / p.shape[1] ** 0.5)
        for m in model.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.running_mean.normal_(0, 0.4)
                m.running_var.uniform_(0.5, 2)
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    return (
        g.normal(size=(6, N, OBS)).astype("float32"),
        g.integers(0, ACT, (6, N)),
        g.normal(size=(6, N, ACT)).astype("float32"),
    )
