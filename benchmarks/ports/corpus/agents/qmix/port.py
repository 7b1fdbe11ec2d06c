"""QMIX without the time loop: one GRU call over the episode, einsums for the mixer."""
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
N, A, OBS, STATE, H, E = 3, 5, 7, 9, 16, 8


class Agents(nn.Module):
    """The one-hot inputs of the first layer are rows of two tables here."""

    def __init__(self):
        super().__init__()
        self.from_obs = nn.Linear(OBS, H)
        self.from_action = nn.Parameter(torch.randn(A, H))
        self.from_id = nn.Parameter(torch.randn(N, H))
        self.gru = nn.GRU(H, H, batch_first=True)
        self.out = nn.Linear(H, A)

    def forward(self, obs, actions):
        b, t = obs.shape[:2]
        taken = self.from_action[actions[:, :-1]]
        taken = F.pad(taken, (0, 0, 0, 0, 1, 0))
        x = (self.from_obs(obs) + taken + self.from_id).relu()
        x = x.transpose(1, 2).reshape(b * N, t, H)
        y, _ = self.gru(x)
        return self.out(y).view(b, N, t, A).transpose(1, 2)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper = nn.Linear(STATE, N * E + 3 * E)
        self.bias_out = nn.Linear(E, 1)

    def forward(self, qs, state):
        w1, b1, w2, v = self.hyper(state).split([N * E, E, E, E], dim=-1)
        w1 = w1.unflatten(-1, (N, E)).abs()
        hidden = F.elu(torch.einsum("btn,btne->bte", qs, w1) + b1)
        total = torch.einsum("bte,bte->bt", hidden, w2.abs())
        return total + self.bias_out(v.relu())[..., 0]


class QMix(nn.Module):
    def __init__(self):
        super().__init__()
        self.agents = Agents()
        self.mixer = Mixer()

    def forward(self, obs, avail, actions, state):
        q = self.agents(obs, actions)
        taken = (q * F.one_hot(actions, A)).sum(-1)
        greedy = torch.where(avail, q, torch.full_like(q, -1e7)).amax(-1)
        return self.mixer(taken, state), self.mixer(greedy, state), q


def make():
    torch.manual_seed(99)
    return QMix().eval()


@torch.no_grad()
def load(model, reference):
    agents, mixer, theirs, mix = model.agents, model.mixer, reference.agent, reference.mixer
    obs, action, ident = theirs.fc1.weight.split([OBS, A, N], dim=1)
    agents.from_obs.weight.copy_(obs)
    agents.from_obs.bias.copy_(theirs.fc1.bias)
    agents.from_action.copy_(action.T)
    agents.from_id.copy_(ident.T)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(agents.gru, name + "_l0").copy_(getattr(theirs.rnn, name))
    agents.out.load_state_dict(theirs.fc2.state_dict())
    parts = [mix.hyper_w_1, mix.hyper_b_1, mix.hyper_w_final, mix.V[0]]
    mixer.hyper.weight.copy_(torch.cat([p.weight for p in parts]))
    mixer.hyper.bias.copy_(torch.cat([p.bias for p in parts]))
    mixer.bias_out.load_state_dict(mix.V[2].state_dict())
