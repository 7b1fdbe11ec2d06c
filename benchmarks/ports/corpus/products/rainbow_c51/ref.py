"""Rainbow-style C51: conv + group norm trunk, dueling atoms, double selection, categorical projection, KL loss."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, CH, SIDE, A, ATOMS, HID = 6, 3, 10, 4, 21, 24
V_MIN, V_MAX, GAMMA = -5.0, 5.0, 0.9
DELTA = (V_MAX - V_MIN) / (ATOMS - 1)


class DuelingC51(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(CH, 8, 3, stride=2, padding=1)
        self.gn = nn.GroupNorm(4, 8)
        self.conv2 = nn.Conv2d(8, 8, 3)
        self.fc_v = nn.Linear(72, HID)
        self.fc_a = nn.Linear(72, HID)
        self.value = nn.Linear(HID, ATOMS)
        self.advantage = nn.Linear(HID, A * ATOMS)

    def forward(self, x):
        x = F.relu(self.gn(self.conv1(x.float() / 255.0)))
        x = F.relu(self.conv2(x)).flatten(1)
        v = self.value(F.relu(self.fc_v(x))).view(-1, 1, ATOMS)
        a = self.advantage(F.relu(self.fc_a(x))).view(-1, A, ATOMS)
        return F.log_softmax(v + a - a.mean(dim=1, keepdim=True), dim=-1)


class RainbowLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = DuelingC51()
        self.target = DuelingC51()
        self.register_buffer("support", torch.linspace(V_MIN, V_MAX, ATOMS))

    def project(self, p_next, reward, done):
        b = reward.size(0)
        tz = reward.unsqueeze(1) + (1 - done).unsqueeze(1) * GAMMA * self.support
        pos = (tz.clamp(V_MIN, V_MAX) - V_MIN) / DELTA
        lo, hi = pos.floor().long(), pos.ceil().long()
        lo[(hi > 0) & (lo == hi)] -= 1
        hi[(lo < ATOMS - 1) & (lo == hi)] += 1
        offset = torch.arange(b).unsqueeze(1) * ATOMS
        m = torch.zeros(b * ATOMS)
        m.index_add_(0, (lo + offset).flatten(), (p_next * (hi - pos)).flatten())
        m.index_add_(0, (hi + offset).flatten(), (p_next * (pos - lo)).flatten())
        return m.view(b, ATOMS)

    def forward(self, obs, action, reward, next_obs, done):
        rows = torch.arange(obs.size(0))
        log_p = self.online(obs)
        q = (log_p.exp() * self.support).sum(-1)
        best = (self.online(next_obs).exp() * self.support).sum(-1).argmax(1)
        p_next = self.target(next_obs).exp()[rows, best]
        m = self.project(p_next, reward, done)
        loss = -(m * log_p[rows, action]).sum(-1)
        return q, m, loss


def make():
    torch.manual_seed(55)
    net = RainbowLearner()
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() == 1:
                p.normal_(0, 0.3)
            else:
                p.normal_(0, 1.2 / p[0].numel() ** 0.5)
        net.online.gn.weight.add_(1)
        net.target.gn.weight.add_(1)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed + 17)
    frame = lambda: rng.randint(0, 256, size=(B, CH, SIDE, SIDE)).astype(np.uint8)
    obs, nxt = frame(), frame()
    action = rng.randint(0, A, size=B).astype(np.int64)
    reward = np.array([0.3, 1.0, -1.0, 0.0, 2.7, -0.4], np.float32)[rng.permutation(B)]
    done = np.array([0, 1, 0, 0, 1, 0], np.float32)
    reward[1] = np.float32(rng.choice([-1.0, 1.0]))       # a terminal win or loss
    return obs, action, reward, nxt, done
