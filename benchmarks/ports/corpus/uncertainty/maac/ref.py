"""The attention critic of MAAC (Iqbal and Sha, 2019) in torch, agents with different observations."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS = (6, 6, 8)
ACTS = (3, 3, 5)
HIDDEN, HEADS, BATCH = 24, 3, 6


class AttentionCritic(nn.Module):
    def __init__(self):
        super().__init__()
        depth = HIDDEN // HEADS
        self.encoders = nn.ModuleList()
        self.state_encoders = nn.ModuleList()
        self.critics = nn.ModuleList()
        for sdim, adim in zip(OBS, ACTS):
            self.encoders.append(nn.Sequential(nn.Linear(sdim + adim, HIDDEN), nn.LeakyReLU()))
            self.state_encoders.append(nn.Sequential(nn.Linear(sdim, HIDDEN), nn.LeakyReLU()))
            self.critics.append(
                nn.Sequential(nn.Linear(2 * HIDDEN, HIDDEN), nn.LeakyReLU(), nn.Linear(HIDDEN, adim))
            )
        self.keys = nn.ModuleList([nn.Linear(HIDDEN, depth, bias=False) for _ in range(HEADS)])
        self.selectors = nn.ModuleList([nn.Linear(HIDDEN, depth, bias=False) for _ in range(HEADS)])
        self.values = nn.ModuleList(
            [nn.Sequential(nn.Linear(HIDDEN, depth), nn.LeakyReLU()) for _ in range(HEADS)]
        )

    def forward(self, obs0, obs1, obs2, act0, act1, act2):
        states = [obs0, obs1, obs2]
        actions = [F.one_hot(a, n).to(obs0.dtype) for a, n in zip((act0, act1, act2), ACTS)]
        inps = [torch.cat((s, a), dim=1) for s, a in zip(states, actions)]
        sa_encodings = [encoder(inp) for encoder, inp in zip(self.encoders, inps)]
        s_encodings = [encoder(s) for encoder, s in zip(self.state_encoders, states)]
        other_values = [[] for _ in OBS]
        regularizer = 0.0
        for key, value, selector in zip(self.keys, self.values, self.selectors):
            keys = [key(enc) for enc in sa_encodings]
            values = [value(enc) for enc in sa_encodings]
            for i in range(len(OBS)):
                k = torch.stack([x for j, x in enumerate(keys) if j != i]).permute(1, 2, 0)
                v = torch.stack([x for j, x in enumerate(values) if j != i]).permute(1, 2, 0)
                query = selector(s_encodings[i])
                logits = torch.matmul(query.view(query.shape[0], 1, -1), k)
                scaled = logits / np.sqrt(k.shape[1])
                weights = F.softmax(scaled, dim=2)
                other_values[i].append((v * weights).sum(dim=2))
                regularizer = regularizer + 1e-3 * (logits**2).mean()
        rets = []
        for i, critic in enumerate(self.critics):
            all_q = critic(torch.cat((s_encodings[i], *other_values[i]), dim=1))
            baseline = all_q.mean(dim=1, keepdim=True)
            q = (all_q * actions[i]).sum(dim=1, keepdim=True)
            rets.extend([q, q - baseline])
        return (*rets, regularizer)


def make():
    torch.manual_seed(8)
    return AttentionCritic()


def inputs(seed):
    rng = np.random.default_rng(seed)
    data = {f"obs{i}": rng.normal(size=(BATCH, n)).astype("float32") for i, n in enumerate(OBS)}
    data.update({f"act{i}": rng.integers(0, n, size=BATCH) for i, n in enumerate(ACTS)})
    return data
