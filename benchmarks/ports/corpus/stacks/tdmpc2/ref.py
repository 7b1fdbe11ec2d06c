"""TD-MPC2: multi-task latent model, value of an action sequence as estimated inside MPPI."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
OBS, ACT, TASKS, EMB, LATENT, HID, NUM_Q, BINS = 12, 4, 5, 6, 32, 24, 5, 11
VMIN, VMAX, SIMPLEX, GAMMA = -3.0, 3.0, 8, 0.9


class SimNorm(nn.Module):
    def forward(self, x):
        shape = x.shape
        x = x.view(*shape[:-1], -1, SIMPLEX)
        return F.softmax(x, dim=-1).view(shape)


class NormedLinear(nn.Linear):
    def __init__(self, i, o, act=None):
        super().__init__(i, o)
        self.ln = nn.LayerNorm(o)
        self.act = act or nn.Mish()

    def forward(self, x):
        return self.act(self.ln(super().forward(x)))


def mlp(i, o, act=None):
    last = NormedLinear(HID, o, act) if act else nn.Linear(HID, o)
    return nn.Sequential(NormedLinear(i, HID), NormedLinear(HID, HID), last)


def two_hot_inv(logits):
    bins = torch.linspace(VMIN, VMAX, BINS)
    x = torch.sum(F.softmax(logits, dim=-1) * bins, dim=-1, keepdim=True)
    return torch.sign(x) * (torch.exp(torch.abs(x)) - 1)


class TDMPC2(nn.Module):
    def __init__(self):
        super().__init__()
        self.task_emb = nn.Embedding(TASKS, EMB, max_norm=1)
        self.encoder = mlp(OBS + EMB, LATENT, SimNorm())
        self.dynamics = mlp(LATENT + ACT + EMB, LATENT, SimNorm())
        self.reward = mlp(LATENT + ACT + EMB, BINS)
        self.pi = mlp(LATENT + EMB, 2 * ACT)
        self.Qs = nn.ModuleList(mlp(LATENT + ACT + EMB, BINS) for _ in range(NUM_Q))

    def forward(self, obs, actions, task):
        """obs [B,O], actions [B,T,A], task [B]."""
        e = self.task_emb(task)
        z = self.encoder(torch.cat([obs, e], -1))
        G, discount = 0, 1
        for t in range(actions.shape[1]):
            za = torch.cat([z, actions[:, t], e], -1)
            G = G + discount * two_hot_inv(self.reward(za))
            z = self.dynamics(za)
            discount = discount * GAMMA
        mu, _ = self.pi(torch.cat([z, e], -1)).chunk(2, dim=-1)
        za = torch.cat([z, torch.tanh(mu), e], -1)
        q = torch.stack([two_hot_inv(q(za)) for q in self.Qs])
        q = torch.min(q[1], q[3])
        return G + discount * q, z


def make():
    torch.manual_seed(4)
    net = TDMPC2().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.normal_(1.0, 0.2)
                m.bias.normal_(0.0, 0.2)
        norms = torch.tensor([0.4, 1.8, 0.7, 2.5, 0.9])
        net.task_emb.weight.copy_(F.normalize(net.task_emb.weight) * norms[:, None])
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    return (g.normal(size=(5, OBS)).astype("float32"),
            np.clip(g.normal(size=(5, 3, ACT)), -1, 1).astype("float32"), np.array([3, 0, 1, 4, 2]))
