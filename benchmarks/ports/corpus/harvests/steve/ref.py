"""STEVE (Buckman et al. 2018): value expansion whose horizons are weighted by their certainty."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, HORIZON, GAMMA = 11, 3, 3, 0.95
DYN, REW, QS = 3, 2, 2


class EnsembleLinear(nn.Module):
    def __init__(self, members, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(1.1 * torch.randn(members, n_in, n_out) / n_in ** 0.5)
        self.bias = nn.Parameter(0.1 * torch.randn(members, 1, n_out))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class EnsembleMLP(nn.Sequential):
    def __init__(self, members, n_in, n_out, width=32):
        super().__init__(EnsembleLinear(members, n_in, width), nn.SiLU(),
                         EnsembleLinear(members, width, width), nn.SiLU(),
                         EnsembleLinear(members, width, n_out))


class Steve(nn.Module):
    def __init__(self):
        super().__init__()
        self.dynamics = EnsembleMLP(DYN, OBS + ACT, OBS + 1)
        self.reward = EnsembleMLP(REW, 2 * OBS + ACT, 1)
        self.q = EnsembleMLP(QS, OBS + ACT, 1)
        self.policy = nn.Sequential(nn.Linear(OBS, 32), nn.ReLU(), nn.Linear(32, ACT), nn.Tanh())

    def on_all(self, net, members, x):
        """A net's members on all imagined states: (DYN, B, n) -> (DYN, members, B)."""
        d, b, n = x.shape
        flat = x.reshape(1, d * b, n).expand(members, -1, -1)
        return net(flat).reshape(members, d, b).transpose(0, 1)

    def forward(self, reward, next_obs, done):
        b = next_obs.shape[0]
        s = next_obs.expand(DYN, b, OBS)
        alive = (1.0 - done).expand(DYN, b)
        ret = reward.expand(DYN, REW, b)
        targets = []
        for i in range(HORIZON + 1):
            a = self.policy(s)
            sa = torch.cat([s, a], dim=-1)
            q = self.on_all(self.q, QS, sa)
            boot = GAMMA ** (i + 1) * alive[:, None] * q
            targets.append(ret[:, :, None] + boot[:, None])
            if i == HORIZON:
                break
            delta = self.dynamics(sa)
            s_next = s + delta[..., :OBS]
            r = self.on_all(self.reward, REW, torch.cat([s, a, s_next], dim=-1))
            ret = ret + GAMMA ** (i + 1) * alive[:, None] * r
            alive = alive * (1.0 - torch.sigmoid(delta[..., OBS]))
            s = s_next
        t = torch.stack(targets).reshape(HORIZON + 1, DYN * REW * QS, b)
        mean = t.mean(dim=1)
        var = t.var(dim=1, unbiased=False)
        w = 1.0 / (var + 1e-6)
        w = w / w.sum(dim=0, keepdim=True)
        return (w * mean).sum(dim=0), w, mean, var


def make(seed=6):
    torch.manual_seed(seed)
    net = Steve()
    with torch.no_grad():
        for p in net.policy.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    reward = rng.normal(size=7).astype("float32")
    next_obs = rng.normal(size=(7, OBS)).astype("float32")
    done = np.array([0, 0, 1, 0, 0, 1, 0], "float32")
    return reward, next_obs, done
