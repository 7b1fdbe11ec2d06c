"""NGU / R2D2 learner net: LSTM with resets, two Q streams combined under the rescaling h."""
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
FRAMEWORK = "torch"
N_ACTIONS, N_BETAS, HIDDEN, OBS = 6, 4, 24, 9
EPS = 1e-2


def h(x):
    return x.sign() * ((x.abs() + 1).sqrt() - 1) + EPS * x


def h_inv(x):
    root = (torch.sqrt(1 + 4 * EPS * (x.abs() + 1 + EPS)) - 1) / (2 * EPS)
    return x.sign() * (root ** 2 - 1)


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.adv = nn.Sequential(nn.Linear(HIDDEN, 20), nn.ReLU(), nn.Linear(20, N_ACTIONS))
        self.val = nn.Sequential(nn.Linear(HIDDEN, 20), nn.ReLU(), nn.Linear(20, 1))

    def forward(self, x):
        adv = self.adv(x)
        return self.val(x) + adv - adv.mean(-1, keepdim=True)


class NGU(nn.Module):
    def __init__(self):
        super().__init__()
        self.torso = nn.Linear(OBS, 16)
        self.core = nn.LSTMCell(16 + N_ACTIONS + 2 + N_BETAS, HIDDEN)
        self.extrinsic, self.intrinsic = Dueling(), Dueling()
        self.register_buffer("betas", torch.tensor([0.0, 0.1, 0.25, 0.3]))

    def forward(self, obs, last_action, reward_e, reward_i, reset, arm, hx, cx):
        """obs [B,T,O]; last_action, rewards, reset [B,T]; arm [B]; hx, cx [B,H]."""
        act = nn.functional.one_hot(last_action, N_ACTIONS).float()
        arm_code = nn.functional.one_hot(arm, N_BETAS).float()
        beta = self.betas[arm].view(-1, 1, 1)
        x = torch.relu(self.torso(obs))
        core_out = []
        for t in range(obs.shape[1]):
            keep = 1 - reset[:, t, None]
            hx, cx = hx * keep, cx * keep
            step = torch.cat([x[:, t], act[:, t], reward_e[:, t, None], reward_i[:, t, None], arm_code], -1)
            hx, cx = self.core(step, (hx, cx))
            core_out.append(hx)
        y = torch.stack(core_out, 1)
        q_e, q_i = self.extrinsic(y), self.intrinsic(y)
        q = h(h_inv(q_e) + beta * h_inv(q_i))
        return {"q": q, "greedy_value": q.max(-1).values, "state": (hx, cx)}


def make():
    torch.manual_seed(5)
    net = NGU()
    with torch.no_grad():
        for head in (net.extrinsic, net.intrinsic):
            for p in head.parameters():
                p.mul_(2.5)
    return net.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    B, T = 4, 5
    f = lambda *s: g.normal(size=s).astype("float32")
    reset = np.zeros((B, T), "float32")
    reset[0, 2] = reset[2, 0] = reset[3, 3] = 1
    return (f(B, T, OBS), g.integers(0, N_ACTIONS, (B, T)), f(B, T), np.abs(f(B, T)), reset,
            np.array([1, 3, 0, 2]), f(B, HIDDEN) * 0.5, f(B, HIDDEN) * 0.5)
