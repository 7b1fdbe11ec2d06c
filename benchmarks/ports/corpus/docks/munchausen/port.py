"""Munchausen DQN in torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
ACTIONS, SIDE, N_STEP = 4, 21, 3


def head(n_out):
    return nn.Sequential(nn.Linear(72, 12), nn.ReLU(), nn.Linear(12, n_out))


class DuelingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 6, 4, stride=2, padding=1),
            nn.BatchNorm2d(6, eps=2e-5),
            nn.ReLU(),
            nn.AvgPool2d(3, stride=2, padding=1),
            nn.Conv2d(6, 8, 2),
            nn.LeakyReLU(0.2),
            nn.MaxPool2d(2, stride=1),
            nn.Flatten(),
        )
        self.advantage = head(ACTIONS)
        self.value = head(1)

    def forward(self, x):
        h = self.features(x)
        adv, val = self.advantage(h), self.value(h)
        return val + adv - adv.mean(dim=1, keepdim=True)


class Munchausen(nn.Module):
    def __init__(self, gamma=0.9, tau=0.3, alpha=0.8, clip=-1.0):
        super().__init__()
        self.online, self.target = DuelingNet(), DuelingNet()
        self.gamma, self.tau, self.alpha, self.clip = gamma, tau, alpha, clip
        self.register_buffer("discounts", gamma ** torch.arange(N_STEP, dtype=torch.float32))

    def forward(self, obs, action, rewards, next_obs):
        q = self.online(obs)
        index = action.argmax(dim=1, keepdim=True)
        log_pi = F.log_softmax(self.target(obs) / self.tau, dim=1)
        bonus = self.tau * log_pi.gather(1, index).squeeze(1)
        bonus = bonus.clamp(min=self.clip, max=0.0)
        q_next = self.target(next_obs)
        log_pi_next = F.log_softmax(q_next / self.tau, dim=1)
        v_next = (log_pi_next.exp() * (q_next - self.tau * log_pi_next)).sum(dim=1)
        n_step = (rewards * self.discounts).sum(dim=1)
        target = n_step + self.alpha * bonus + self.gamma ** N_STEP * v_next
        chosen = q.gather(1, index).squeeze(1)
        loss = F.smooth_l1_loss(chosen, target, reduction="none")
        return q, target, loss


def make():
    torch.manual_seed(16)
    m = Munchausen()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * 0.25)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    a = np.eye(ACTIONS, dtype="float32")[r.integers(0, ACTIONS, 6)]
    return f(6, 2, SIDE, SIDE), a, f(6, N_STEP), f(6, 2, SIDE, SIDE)


def load(m, o):
    t = torch.tensor
    with torch.no_grad():
        for ours, theirs in ((m.online, o.online), (m.target, o.target)):
            f = ours.features
            for l, k in ((f[0], theirs.conv1), (f[4], theirs.conv2),
                         (ours.advantage[0], theirs.adv1), (ours.advantage[2], theirs.adv2),
                         (ours.value[0], theirs.val1), (ours.value[2], theirs.val2)):
                l.weight.copy_(t(k.W.array)), l.bias.copy_(t(k.b.array))
            b = theirs.bn
            f[1].weight.copy_(t(b.gamma.array)), f[1].bias.copy_(t(b.beta.array))
            f[1].running_mean.copy_(t(b.avg_mean)), f[1].running_var.copy_(t(b.avg_var))
