import numpy as np
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
import torch.nn.functional as F

FRAMEWORK = "torch"
N, OBS, A, ROLE, HID = 3, 11, 5, 3, 24


class GaussianMLP(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 12), nn.LayerNorm(12), nn.LeakyReLU(), nn.Linear(12, 2 * ROLE))

    def forward(self, x):
        mu, log_sigma = self.net(x).chunk(2, dim=-1)
        return Normal(mu, log_sigma.exp().clamp(min=0.1))


class ChainerGRU(nn.Module):
    """Resets before the recurrent product, and the update gate opens to the candidate."""

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.x = nn.Linear(n_in, 3 * n_hidden)
        self.h_gates = nn.Linear(n_hidden, 2 * n_hidden, bias=False)
        self.h_cand = nn.Linear(n_hidden, n_hidden, bias=False)

    def forward(self, x, h):
        xr, xz, xc = self.x(x).chunk(3, -1)
        hr, hz = self.h_gates(h).chunk(2, -1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        candidate = torch.tanh(xc + self.h_cand(r * h))
        return torch.lerp(h, candidate, z)


class RoleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.role = GaussianMLP(OBS + N)
        self.posterior = GaussianMLP(OBS + N + HID)
        self.embed = nn.Linear(OBS + N + A, HID)
        self.rnn = ChainerGRU(HID, HID)
        self.latent = nn.Linear(ROLE, 16)
        self.hyper_w = nn.Linear(16, HID * A)
        self.hyper_b = nn.Linear(16, A)

    def utility(self, h, role):
        e = F.leaky_relu(self.latent(role))
        w = self.hyper_w(e).unflatten(-1, (HID, A))
        return torch.einsum("bnh,bnha->bna", h, w) + self.hyper_b(e)

    def step(self, obs, last, avail, eps, h):
        ids = torch.eye(N).expand(obs.shape[0], N, N)
        obs = torch.cat([obs, ids], -1)
        prior = self.role(obs)
        role = prior.mean + prior.stddev * eps
        kl = kl_divergence(prior, self.posterior(torch.cat([obs, h.detach()], -1))).sum(-1)
        h = self.rnn(F.relu(self.embed(torch.cat([obs, last], -1))), h)
        q = self.utility(h, role).masked_fill(avail == 0, -1e6)
        pairwise = torch.cdist(prior.mean, prior.mean, p=1)
        return q, kl, pairwise.sum((1, 2)) / (N * (N - 1)), h

    def forward(self, obs, last, avail, eps):
        h = obs.new_zeros(obs.shape[0], N, HID)
        history = []
        for t in range(obs.shape[1]):
            *out, h = self.step(obs[:, t], last[:, t], avail[:, t], eps[:, t], h)
            history.append(out)
        q, kl, diversity = (torch.stack(x, 1) for x in zip(*history))
        return q.amax(-1), q.softmax(-1), kl, diversity


def make():
    torch.manual_seed(19)
    net = RoleNet()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    obs = rng.randn(5, 4, N, OBS).astype("float32")
    last = np.eye(A, dtype="float32")[rng.randint(0, A, (5, 4, N))]
    last[:, 0] = 0
    avail = (rng.rand(5, 4, N, A) < 0.7).astype("float32")
    avail[..., 0] = 1
    return obs, last, avail, rng.randn(5, 4, N, ROLE).astype("float32")


def load(ported, original):
    t = torch.from_numpy

    def linear(m, link):
        m.weight.data.copy_(t(link.W.array))
        m.bias.data.copy_(t(link.b.array))

    for m, chain in ((ported.role.net, original.role), (ported.posterior.net, original.inference)):
        linear(m[0], chain.fc)
        m[1].weight.data.copy_(t(chain.norm.gamma.array))
        m[1].bias.data.copy_(t(chain.norm.beta.array))
        linear(m[3], chain.out)
    linear(ported.embed, original.fc)
    g, rnn = original.gru, ported.rnn
    rnn.x.weight.data = t(np.concatenate([g.W_r.W.array, g.W_z.W.array, g.W.W.array]))
    rnn.x.bias.data = t(np.concatenate([u.b.array + v.b.array for u, v in ((g.W_r, g.U_r), (g.W_z, g.U_z), (g.W, g.U))]))
    rnn.h_gates.weight.data = t(np.concatenate([g.U_r.W.array, g.U_z.W.array]))
    rnn.h_cand.weight.data = t(g.U.W.array.copy())
    linear(ported.latent, original.decoder.latent)
    linear(ported.hyper_w, original.decoder.to_w)
    linear(ported.hyper_b, original.decoder.to_b)
