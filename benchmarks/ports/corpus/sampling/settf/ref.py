"""A set-transformer critic (Lee et al. 2019): ISAB, ISAB, PMA over the objects, then Q(s, a)."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBJ, ACT, DIM, HEADS = 5, 2, 16, 4


class MAB(nn.Module):
    def __init__(self, dim_Q, dim_K, dim_V, num_heads, ln=True):
        super().__init__()
        self.dim_V = dim_V
        self.num_heads = num_heads
        self.fc_q = nn.Linear(dim_Q, dim_V)
        self.fc_k = nn.Linear(dim_K, dim_V)
        self.fc_v = nn.Linear(dim_K, dim_V)
        self.ln0 = nn.LayerNorm(dim_V)
        self.ln1 = nn.LayerNorm(dim_V)
        self.fc_o = nn.Linear(dim_V, dim_V)

    def forward(self, Q, K, mask=None):
        Q = self.fc_q(Q)
        K, V = self.fc_k(K), self.fc_v(K)
        split = self.dim_V // self.num_heads
        Q_ = torch.cat(Q.split(split, 2), 0)
        K_ = torch.cat(K.split(split, 2), 0)
        V_ = torch.cat(V.split(split, 2), 0)
        scores = Q_.bmm(K_.transpose(1, 2)) / math.sqrt(self.dim_V)
        if mask is not None:
            scores = scores.masked_fill(mask.repeat(self.num_heads, 1)[:, None, :] == 0, -1e9)
        A = torch.softmax(scores, 2)
        O = torch.cat((Q_ + A.bmm(V_)).split(Q.size(0), 0), 2)
        O = self.ln0(O)
        O = O + F.relu(self.fc_o(O))
        return self.ln1(O)


class ISAB(nn.Module):
    def __init__(self, dim_in, dim_out, num_heads, num_inds):
        super().__init__()
        self.I = nn.Parameter(torch.empty(1, num_inds, dim_out))
        nn.init.xavier_uniform_(self.I)
        self.mab0 = MAB(dim_out, dim_in, dim_out, num_heads)
        self.mab1 = MAB(dim_in, dim_out, dim_out, num_heads)

    def forward(self, X, mask):
        H = self.mab0(self.I.repeat(X.size(0), 1, 1), X, mask)
        return self.mab1(X, H)


class PMA(nn.Module):
    def __init__(self, dim, num_heads, num_seeds):
        super().__init__()
        self.S = nn.Parameter(torch.empty(1, num_seeds, dim))
        nn.init.xavier_uniform_(self.S)
        self.mab = MAB(dim, dim, dim, num_heads)

    def forward(self, X, mask):
        return self.mab(self.S.repeat(X.size(0), 1, 1), X, mask)


class SetCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.isab0 = ISAB(OBJ, DIM, HEADS, 3)
        self.isab1 = ISAB(DIM, DIM, HEADS, 3)
        self.pma = PMA(DIM, HEADS, 2)
        self.fc = nn.Linear(2 * DIM + ACT, 24)
        self.q = nn.Linear(24, 1)

    def forward(self, objects, present, action):
        x = self.isab1(self.isab0(objects, present), present)
        x = self.pma(x, present).flatten(1)
        x = F.relu(self.fc(torch.cat([x, action], dim=1)))
        return self.q(x).squeeze(-1)


def make():
    torch.manual_seed(11)
    model = SetCritic()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.add_(0.2 * torch.randn_like(module.weight))
                module.bias.add_(0.2 * torch.randn_like(module.bias))
            if isinstance(module, MAB):
                module.fc_q.weight.mul_(2)
                module.fc_k.weight.mul_(2)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    present = (rng.random((6, 7)) > 0.3).astype("float32")
    present[:, 0] = 1
    return {
        "objects": rng.normal(size=(6, 7, OBJ)).astype("float32"),
        "present": present,
        "action": rng.uniform(-1, 1, (6, ACT)).astype("float32"),
    }
