"""TD-MPC2 rewritten: one class of stacked MLPs (ensembles of size 1 for the single nets), no nn.Linear."""
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
OBS, ACT, TASKS, EMB, Z, W, K, BINS = 12, 4, 5, 6, 32, 24, 5, 11
GROUP, GAMMA = 8, 0.9


def mish(x):
    return x * torch.tanh(F.softplus(x))


def simnorm(z):
    return z.reshape(z.shape[0], Z // GROUP, GROUP).softmax(-1).reshape(z.shape)


class StackedMLP(nn.Module):
    """K networks at once: [B, I] -> [K, B, O]."""

    def __init__(self, k, *sizes, norm_last=False):
        super().__init__()
        self.depth, self.norm_last = len(sizes) - 1, norm_last
        self.w = nn.ParameterList(torch.randn(k, i, o) * 0.1 for i, o in zip(sizes, sizes[1:]))
        self.b = nn.ParameterList(torch.zeros(k, 1, o) for o in sizes[1:])
        self.g = nn.ParameterList(torch.ones(k, 1, o) for o in sizes[1:])
        self.s = nn.ParameterList(torch.zeros(k, 1, o) for o in sizes[1:])

    def forward(self, x):
        x = x.expand(self.w[0].shape[0], *x.shape)
        for n in range(self.depth):
            x = torch.baddbmm(self.b[n], x, self.w[n])
            last = n == self.depth - 1
            if not last or self.norm_last:
                x = self.g[n] * F.layer_norm(x, x.shape[-1:]) + self.s[n]
            if not last:
                x = mish(x)
        return x


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tasks = nn.Parameter(torch.randn(TASKS, EMB))
        self.enc = StackedMLP(1, OBS + EMB, W, W, Z, norm_last=True)
        self.dyn = StackedMLP(1, Z + ACT + EMB, W, W, Z, norm_last=True)
        self.rew = StackedMLP(1, Z + ACT + EMB, W, W, BINS)
        self.pol = StackedMLP(1, Z + EMB, W, W, 2 * ACT)
        self.qs = StackedMLP(K, Z + ACT + EMB, W, W, BINS)
        self.register_buffer("support", torch.linspace(-3, 3, BINS))

    def scalar(self, logits):
        x = logits.softmax(-1) @ self.support
        return x.sign() * torch.expm1(x.abs())

    def embed(self, task):
        e = self.tasks[task]
        return e / e.norm(dim=-1, keepdim=True).clamp(min=1)

    def forward(self, obs, actions, task):
        e = self.embed(task)
        z = simnorm(self.enc(torch.cat((obs, e), 1))[0])
        rewards = []
        for a in actions.unbind(1):
            x = torch.cat((z, a, e), 1)
            rewards.append(self.scalar(self.rew(x)[0]))
            z = simnorm(self.dyn(x)[0])
        horizon = len(rewards)
        weights = GAMMA ** torch.arange(horizon)
        a = self.pol(torch.cat((z, e), 1))[0, :, :ACT].tanh()
        q = self.scalar(self.qs(torch.cat((z, a, e), 1)))[[1, 3]].amin(0)
        value = torch.stack(rewards, 1) @ weights + GAMMA ** horizon * q
        return value[:, None], z


def make():
    torch.manual_seed(77)
    return WorldModel().eval()


@torch.no_grad()
def load(model, reference):
    model.tasks.copy_(reference.task_emb.weight)
    pairs = ((model.enc, [reference.encoder]), (model.dyn, [reference.dynamics]), (model.rew, [reference.reward]),
             (model.pol, [reference.pi]), (model.qs, reference.Qs))
    for dst, nets in pairs:
        for k, net in enumerate(nets):
            for n, layer in enumerate(net):
                dst.w[n][k].copy_(layer.weight.T)
                dst.b[n][k, 0].copy_(layer.bias)
                if hasattr(layer, "ln"):
                    dst.g[n][k, 0].copy_(layer.ln.weight)
                    dst.s[n][k, 0].copy_(layer.ln.bias)
