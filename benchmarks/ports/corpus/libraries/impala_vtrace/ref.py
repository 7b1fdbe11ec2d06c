"""IMPALA, small residual encoder and LSTM, with the V-trace targets of the learner."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
T, B, A = 5, 3, 5


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
        self.block = ResBlock(cout)

    def forward(self, x):
        return self.block(self.pool(self.conv(x)))


class Impala(nn.Module):
    gamma, rho_bar, c_bar = 0.97, 1.0, 0.95

    def __init__(self, hidden=24):
        super().__init__()
        self.sections = nn.Sequential(Section(3, 6), Section(6, 8))
        self.fc = nn.Linear(8 * 4 * 4, hidden)
        self.core = nn.LSTMCell(hidden + 1 + A, hidden)
        self.policy = nn.Linear(hidden, A)
        self.baseline = nn.Linear(hidden, 1)

    def forward(self, frame, reward, last_action, done, behaviour_logits):
        t, b = frame.shape[:2]
        x = frame.flatten(0, 1).float() / 255.0
        x = F.relu(self.sections(x))
        x = F.relu(self.fc(x.flatten(1)))
        clipped = reward.clamp(-1, 1)
        one_hot = F.one_hot(last_action, A).float()
        x = torch.cat([x.view(t, b, -1), clipped.unsqueeze(-1), one_hot], dim=-1)

        h = x.new_zeros(b, self.core.hidden_size)
        c = torch.zeros_like(h)
        outs = []
        for x_t, nd in zip(x, (~done).float().unsqueeze(-1)):
            h, c = self.core(x_t, (nd * h, nd * c))
            outs.append(h)
        core = torch.stack(outs)
        logits = self.policy(core)
        values = self.baseline(core).squeeze(-1)
        vs, adv = self.vtrace(logits, values, clipped, last_action, done, behaviour_logits)
        return logits, values, vs, adv

    def vtrace(self, logits, values, reward, action, done, mu):
        # what the environment returned at t + 1 belongs to the action of t
        action, reward = action[1:].unsqueeze(-1), reward[1:]
        discount = (~done[1:]).float() * self.gamma
        log_pi = logits[:-1].log_softmax(-1).gather(-1, action).squeeze(-1)
        log_mu = mu[:-1].log_softmax(-1).gather(-1, action).squeeze(-1)
        ratio = (log_pi - log_mu).exp()
        rho, cs = ratio.clamp(max=self.rho_bar), self.c_bar * ratio.clamp(max=1.0)
        bootstrap, v = values[-1], values[:-1]
        v_next = values[1:]
        delta = rho * (reward + discount * v_next - v)
        acc, accs = torch.zeros_like(bootstrap), []
        for i in reversed(range(len(v))):
            acc = delta[i] + discount[i] * cs[i] * acc
            accs.append(acc)
        vs = v + torch.stack(accs[::-1])
        vs_next = torch.cat([vs[1:], bootstrap[None]])
        adv = rho * (reward + discount * vs_next - v)
        return vs, adv


def make():
    torch.manual_seed(1)
    model = Impala()
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.copy_(torch.randn(p.shape) * (0.3 if p.ndim == 1 else 1.5 / p[0].numel() ** 0.5))
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    done = g.random((T, B)) < 0.25
    done[2, 0] = True
    return (
        g.integers(0, 256, (T, B, 3, 16, 16)).astype("uint8"),
        g.normal(size=(T, B)).astype("float32"),
        g.integers(0, A, (T, B)),
        done,
        g.normal(size=(T, B, A)).astype("float32"),
    )
