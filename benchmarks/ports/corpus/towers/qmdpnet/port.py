"""QMDP-net in PyTorch (channels first)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
G, A, Z, K, T, C = 6, 5, 7, 4, 3, 8
GAMMA = 0.95


class Transition(nn.Module):
    """One normalised 3x3 kernel per action."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(A, 9))

    def forward(self, x):
        kernel = self.logits.softmax(dim=1).view(A, 1, 3, 3)
        return F.conv2d(x, kernel, padding=1)


class ValueIteration(nn.Module):
    def __init__(self):
        super().__init__()
        self.reward = nn.Sequential(nn.Conv2d(2, C, 3, padding=1), nn.ReLU(), nn.Conv2d(C, A, 1))
        self.trans = Transition()

    def forward(self, env):
        r = self.reward(env)
        v = torch.zeros_like(env[:, :1])
        for _ in range(K):
            q = r + GAMMA * self.trans(v)
            v = q.amax(dim=1, keepdim=True)
        return q, v


class BayesFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans = Transition()
        self.obs_map = nn.Sequential(nn.Conv2d(1, C, 3, padding=1), nn.Tanh(), nn.Conv2d(C, Z, 1), nn.Sigmoid())
        self.obs_fc = nn.Linear(4, Z)

    def forward(self, zmap, belief, action, obs):
        moved = self.trans(belief)
        moved = torch.einsum("bahw,ba->bhw", moved, action)
        weight = self.obs_fc(obs).softmax(dim=-1)
        like = torch.einsum("bzhw,bz->bhw", zmap, weight)
        post = (moved * like).unsqueeze(1)
        total = post.sum(dim=(1, 2, 3), keepdim=True)
        return post / (total + 1e-8)


class QMDPNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.planner = ValueIteration()
        self.filter = BayesFilter()
        self.policy = nn.Linear(A, A)

    def forward(self, env, b0, actions, obs):
        q_map, v = self.planner(env)
        zmap = self.filter.obs_map(env[:, 0:1])
        belief, logits = b0, []
        for act, ob in zip(actions.unbind(1), obs.unbind(1)):
            belief = self.filter(zmap, belief, act, ob)
            q = (q_map * belief).sum(dim=(2, 3))
            logits.append(self.policy(q))
        return torch.stack(logits, dim=1), belief, v


def make():
    m = QMDPNet()
    g = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    env = np.zeros((4, G, G, 2), "float32")
    env[..., 0] = r.rand(4, G, G) < 0.3
    for i in range(4):
        env[i, r.randint(G), r.randint(G), 1] = 1
    env += 0.05 * r.randn(4, G, G, 2).astype("float32")
    b0 = r.rand(4, G, G, 1).astype("float32") ** 3
    b0 /= b0.sum((1, 2, 3), keepdims=True)
    actions = np.eye(A, dtype="float32")[r.randint(0, A, (4, T))]
    obs = r.randn(4, T, 4).astype("float32")
    return env.transpose(0, 3, 1, 2).copy(), b0.transpose(0, 3, 1, 2).copy(), actions, obs


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.ascontiguousarray(a)))

    def conv(layer, src):
        put(layer.weight, src.w.numpy().transpose(3, 2, 0, 1))
        put(layer.bias, src.b.numpy())

    def fc(layer, src):
        put(layer.weight, src.w.numpy().T)
        put(layer.bias, src.b.numpy())

    conv(ported.planner.reward[0], original.planner.f_r1)
    conv(ported.planner.reward[2], original.planner.f_r2)
    put(ported.planner.trans.logits, original.planner.kernel.numpy().T)
    put(ported.filter.trans.logits, original.filter.kernel.numpy().T)
    conv(ported.filter.obs_map[0], original.filter.f_z1)
    conv(ported.filter.obs_map[2], original.filter.f_z2)
    fc(ported.filter.obs_fc, original.filter.f_o)
    fc(ported.policy, original.f_pi)
