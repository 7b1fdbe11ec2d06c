"""The same memory without a loop: the scan as one masked, decaying sum over pairs of steps."""

import torch
from torch import nn

FRAMEWORK = "torch"


def swish(x):
    return x * torch.sigmoid(x)


def segment_decay(log_a):
    """exp of the sum of log_a over (s, t] for every s <= t, else zero; time is axis 1."""
    total = torch.cumsum(log_a, dim=1)
    span = total.unsqueeze(2) - total.unsqueeze(1)  # batch, t, s, ...
    length = log_a.size(1)
    later = torch.ones(length, length).triu(1).bool()
    later = later.view(1, length, length, *[1] * (log_a.dim() - 2))
    return span.masked_fill(later, float("-inf")).exp()


class ParallelMamba(nn.Module):
    def __init__(self, width, state=6, taps=4):
        super().__init__()
        inner, self.rank, self.state, self.taps = 2 * width, -(-width // 4), state, taps
        self.ln = nn.LayerNorm(width)
        self.project_x = nn.Linear(width, inner, bias=False)
        self.project_z = nn.Linear(width, inner, bias=False)
        self.taps_weight = nn.Parameter(torch.zeros(taps, inner))
        self.taps_bias = nn.Parameter(torch.zeros(inner))
        self.project_dt = nn.Linear(inner, self.rank, bias=False)
        self.project_b = nn.Linear(inner, state, bias=False)
        self.project_c = nn.Linear(inner, state, bias=False)
        self.dt = nn.Linear(self.rank, inner)
        self.log_decay = nn.Parameter(torch.zeros(inner, state))
        self.skip = nn.Parameter(torch.ones(inner))
        self.out = nn.Linear(inner, width, bias=False)

    def causal_conv(self, x):
        padded = nn.functional.pad(x, (0, 0, self.taps - 1, 0))
        total = self.taps_bias
        for k in range(self.taps):
            total = total + self.taps_weight[k] * padded[:, k : k + x.size(1)]
        return total

    def forward(self, x):
        h = self.ln(x)
        u, gate = self.project_x(h), self.project_z(h)
        u = swish(self.causal_conv(u))
        delta = torch.log1p(torch.exp(self.dt(self.project_dt(u))))
        b, c = self.project_b(u), self.project_c(u)
        log_a = delta.unsqueeze(-1) * -self.log_decay.exp()
        decay = segment_decay(log_a)  # batch, t, s, inner, state
        drive = (delta * u).unsqueeze(-1) * b.unsqueeze(2)
        states = (decay * drive.unsqueeze(1)).sum(dim=2)
        y = (states @ c.unsqueeze(-1)).squeeze(-1)
        y = y + self.skip * u
        return x + self.out(y * swish(gate))


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(9, 14)
        self.first, self.second = ParallelMamba(14), ParallelMamba(14)
        self.ln = nn.LayerNorm(14)
        self.head = nn.Linear(14, 5)

    def forward(self, obs):
        x = self.inp(obs)
        x = self.second(self.first(x))
        return self.head(self.ln(x))


def make():
    torch.manual_seed(0)
    return Memory()


@torch.no_grad()
def load(port_model, reference_model):
    ref = reference_model
    port_model.inp.load_state_dict(ref.encoder.state_dict())
    port_model.ln.load_state_dict(ref.norm_f.state_dict())
    port_model.head.load_state_dict(ref.q.state_dict())
    for ours, theirs in zip((port_model.first, port_model.second), ref.layers):
        ours.ln.load_state_dict(theirs.norm.state_dict())
        x, z = theirs.in_proj.weight.chunk(2)
        ours.project_x.weight.copy_(x)
        ours.project_z.weight.copy_(z)
        ours.taps_weight.copy_(theirs.conv1d.weight[:, 0].T)
        ours.taps_bias.copy_(theirs.conv1d.bias)
        dt, b, c = theirs.x_proj.weight.split([ours.rank, ours.state, ours.state])
        ours.project_dt.weight.copy_(dt)
        ours.project_b.weight.copy_(b)
        ours.project_c.weight.copy_(c)
        ours.dt.load_state_dict(theirs.dt_proj.state_dict())
        ours.log_decay.copy_(theirs.A_log)
        ours.skip.copy_(theirs.D)
        ours.out.load_state_dict(theirs.out_proj.state_dict())
