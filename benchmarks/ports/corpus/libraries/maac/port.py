"""The MAAC critic for all agents at once: stacked weights, one masked attention."""
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
N, OBS, ACT, HID, HEADS = 4, 6, 5, 24, 3


class AgentLinear(nn.Module):
    """A linear layer per agent: (batch, agent, in) to (batch, agent, out)."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(N, n_in, n_out) / n_in**0.5)
        self.bias = nn.Parameter(torch.randn(N, n_out) * 0.1)

    def forward(self, x):
        return torch.einsum("bni,nio->bno", x, self.weight) + self.bias


class AgentNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(N, n))
        self.register_buffer("var", torch.ones(N, n))

    def forward(self, x):
        return (x - self.mean) * torch.rsqrt(self.var + 1e-5)


class Critic(nn.Module):
    def __init__(self, reg=1e-2):
        super().__init__()
        self.reg = reg
        self.sa_norm, self.s_norm = AgentNorm(OBS + ACT), AgentNorm(OBS)
        self.sa_enc, self.s_enc = AgentLinear(OBS + ACT, HID), AgentLinear(OBS, HID)
        self.to_k = nn.Linear(HID, HID, bias=False)
        self.to_q = nn.Linear(HID, HID, bias=False)
        self.to_v = nn.Linear(HID, HID)
        self.head1, self.head2 = AgentLinear(2 * HID, HID), AgentLinear(HID, ACT)

    def attend(self, s, sa):
        split = lambda x: x.reshape(len(x), N, HEADS, -1).transpose(1, 2)
        q, k = split(self.to_q(s)), split(self.to_k(sa))
        v = split(F.leaky_relu(self.to_v(sa)))
        logits = q @ k.transpose(-1, -2)
        eye = torch.eye(N, dtype=torch.bool)
        scaled = logits / q.shape[-1] ** 0.5
        w = scaled.masked_fill(eye, -torch.inf).softmax(-1)
        out = (w @ v).transpose(1, 2).flatten(2)
        square = logits.square().masked_fill(eye, 0.0).sum(-1) / (N - 1)
        reg = self.reg * square.mean(0).sum(0)
        entropy = -(w * (w + 1e-8).log()).sum(-1)
        return out, reg, entropy.transpose(1, 2)

    def forward(self, obs, actions, policy_logits):
        hot = F.one_hot(actions, ACT).to(obs.dtype)
        sa = F.leaky_relu(self.sa_enc(self.sa_norm(torch.cat([obs, hot], -1))))
        s = F.leaky_relu(self.s_enc(self.s_norm(obs)))
        others, reg, entropy = self.attend(s, sa)
        q_all = self.head2(F.leaky_relu(self.head1(torch.cat([s, others], -1))))
        q = (q_all * hot).sum(-1)
        baseline = (q_all * F.softmax(policy_logits, -1)).sum(-1)
        return q_all, q, q - baseline, reg, entropy


def make():
    torch.manual_seed(99)
    return Critic().eval()


@torch.no_grad()
def load(model, reference):
    def stack(mine, linears):
        for i, layer in enumerate(linears):
            mine.weight[i], mine.bias[i] = layer.weight.T, layer.bias

    stack(model.sa_enc, reference.encoders)
    stack(model.s_enc, reference.state_encoders)
    stack(model.head1, [c[0] for c in reference.critics])
    stack(model.head2, [c[2] for c in reference.critics])
    for mine, theirs in ((model.sa_norm, reference.norms), (model.s_norm, reference.state_norms)):
        mine.mean.copy_(torch.stack([n.running_mean for n in theirs]))
        mine.var.copy_(torch.stack([n.running_var for n in theirs]))
    model.to_k.weight.copy_(torch.cat([k.weight for k in reference.keys]))
    model.to_q.weight.copy_(torch.cat([k.weight for k in reference.selectors]))
    model.to_v.weight.copy_(torch.cat([v[0].weight for v in reference.values]))
    model.to_v.bias.copy_(torch.cat([v[0].bias for v in reference.values]))
