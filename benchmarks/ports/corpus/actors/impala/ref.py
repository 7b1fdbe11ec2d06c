"""IMPALA agent (deep residual torso + LSTM core) with V-trace targets."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, B, A = 6, 3, 5


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv0 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        y = self.conv0(F.relu(x))
        y = self.conv1(F.relu(y))
        return x + y


class Section(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.res = nn.ModuleList([ResBlock(cout) for _ in range(2)])

    def forward(self, x):
        x = self.pool(self.conv(x))
        for r in self.res:
            x = r(x)
        return x


def vtrace(behaviour_logits, target_logits, actions, discounts, rewards, values, bootstrap,
           clip_rho=1.0, clip_pg_rho=1.0):
    def logp(lg):
        return F.log_softmax(lg, -1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    rhos = torch.exp(logp(target_logits) - logp(behaviour_logits))
    clipped = torch.clamp(rhos, max=clip_rho)
    cs = torch.clamp(rhos, max=1.0)
    values_tp1 = torch.cat([values[1:], bootstrap[None]], 0)
    deltas = clipped * (rewards + discounts * values_tp1 - values)
    acc = torch.zeros_like(bootstrap)
    out = []
    for t in reversed(range(values.shape[0])):
        acc = deltas[t] + discounts[t] * cs[t] * acc
        out.append(acc)
    vs = torch.stack(out[::-1]) + values
    vs_tp1 = torch.cat([vs[1:], bootstrap[None]], 0)
    pg_adv = torch.clamp(rhos, max=clip_pg_rho) * (rewards + discounts * vs_tp1 - values)
    return vs, pg_adv


class Impala(nn.Module):
    def __init__(self, num_actions=A, hidden=24, core=16, gamma=0.97):
        super().__init__()
        self.num_actions, self.core_size, self.gamma = num_actions, core, gamma
        self.sections = nn.ModuleList([Section(3, 4), Section(4, 6)])
        self.fc = nn.Linear(6 * 4 * 4, hidden)
        self.core = nn.LSTM(hidden + num_actions + 1, core)
        self.policy = nn.Linear(core, num_actions)
        self.baseline = nn.Linear(core, 1)

    def forward(self, frame, reward, done, action, behaviour_logits, h0, c0):
        t, b = frame.shape[:2]
        x = frame.flatten(0, 1).float() / 255.0
        for s in self.sections:
            x = s(x)
        x = F.relu(self.fc(F.relu(x).flatten(1)))
        r = torch.clamp(reward, -1, 1)
        onehot = F.one_hot(action, self.num_actions).float()
        core_in = torch.cat([x.view(t, b, -1), r.unsqueeze(-1), onehot], -1)
        notdone = (~done).float()
        state = (h0[None], c0[None])
        outs = []
        for inp, nd in zip(core_in, notdone):
            nd = nd.view(1, -1, 1)
            state = tuple(nd * s for s in state)
            y, state = self.core(inp[None], state)
            outs.append(y[0])
        core = torch.stack(outs)
        logits = self.policy(core)
        baseline = self.baseline(core).squeeze(-1)
        vs, adv = vtrace(behaviour_logits[1:], logits[:-1], action[1:],
                         notdone[1:] * self.gamma, r[1:], baseline[:-1], baseline[-1])
        return {"logits": logits, "baseline": baseline, "vs": vs, "pg_advantages": adv,
                "h": state[0][0], "c": state[1][0]}


def make():
    m = Impala()
    rng = np.random.default_rng(11)
    with torch.no_grad():
        for p in m.parameters():
            s = 1.2 / np.sqrt(p[0].numel()) if p.ndim > 1 else 0.2
            p.copy_(torch.from_numpy(rng.normal(0, s, tuple(p.shape)).astype("f4")))
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    done = g.random((T, B)) < 0.2
    done[3, 1] = True
    return {
        "frame": g.integers(0, 256, (T, B, 3, 16, 16)).astype(np.uint8),
        "reward": (1.5 * g.normal(size=(T, B))).astype(np.float32),
        "done": done,
        "action": g.integers(0, A, (T, B)),
        "behaviour_logits": g.normal(size=(T, B, A)).astype(np.float32),
        "h0": (0.5 * g.normal(size=(B, 16))).astype(np.float32),
        "c0": (0.5 * g.normal(size=(B, 16))).astype(np.float32),
    }
