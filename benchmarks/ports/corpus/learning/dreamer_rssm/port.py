"""PyTorch world model in the style of DreamerV3 (sequence observation only)."""
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


def symlog(x):
    return x.sign() * x.abs().log1p()


def symexp(x):
    return x.sign() * x.abs().expm1()


class NormLinear(nn.Sequential):
    def __init__(self, inputs, outputs, act=True):
        layers = [nn.Linear(inputs, outputs, bias=False), nn.LayerNorm(outputs, eps=1e-3)]
        if act:
            layers.append(nn.SiLU())
        super().__init__(*layers)


class NormGRUCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gates = NormLinear(hidden + inputs, 3 * hidden, act=False)

    def forward(self, x, h):
        r, c, u = self.gates(torch.cat([h, x], dim=-1)).chunk(3, dim=-1)
        c = torch.tanh(r.sigmoid() * c)
        u = torch.sigmoid(u - 1)
        return torch.lerp(h, c, u)


class TwoHotHead(nn.Module):
    def __init__(self, inputs, units, bins, limit=5.0):
        super().__init__()
        self.hidden = NormLinear(inputs, units)
        self.logits = nn.Linear(units, bins)
        self.register_buffer("bins", torch.linspace(-limit, limit, bins), persistent=False)

    def forward(self, x):
        p = self.logits(self.hidden(x)).softmax(-1)
        return symexp(p @ self.bins)


class RSSM(nn.Module):
    def __init__(self, embed, act, deter=24, groups=4, classes=6, units=20, unimix=0.01):
        super().__init__()
        self.deter, self.groups, self.classes, self.unimix = deter, groups, classes, unimix
        stoch = groups * classes
        self.inp = NormLinear(stoch + act, units)
        self.cell = NormGRUCell(units, deter)
        self.prior_net = nn.Sequential(NormLinear(deter, units), nn.Linear(units, stoch))
        self.post_net = nn.Sequential(NormLinear(deter + embed, units), nn.Linear(units, stoch))

    def initial(self, batch, like):
        return like.new_zeros(batch, self.deter), like.new_zeros(batch, self.groups * self.classes)

    def categorical(self, logits):
        p = logits.unflatten(-1, (self.groups, self.classes)).softmax(-1)
        p = (1 - self.unimix) * p + self.unimix / self.classes
        return p.log()

    def forward(self, h, z, action, embed, first, gumbel):
        start = first.bool().unsqueeze(-1)
        h, z = h.masked_fill(start, 0), z.masked_fill(start, 0)
        action = action.masked_fill(start, 0)
        action = action / action.abs().clamp(min=1)
        h = self.cell(self.inp(torch.cat([z, action], -1)), h)
        prior = self.categorical(self.prior_net(h))
        post = self.categorical(self.post_net(torch.cat([h, embed], -1)))
        z = F.one_hot((post + gumbel).argmax(-1), self.classes).to(h.dtype).flatten(-2)
        return h, z, prior, post


class WorldModel(nn.Module):
    def __init__(self, obs=9, act=4, units=20, bins=41, free_nats=0.1):
        super().__init__()
        self.free_nats = free_nats
        self.encoder = nn.Sequential(NormLinear(obs, units), NormLinear(units, units))
        self.rssm = RSSM(units, act, units=units)
        feat = self.rssm.deter + self.rssm.groups * self.rssm.classes
        self.reward = TwoHotHead(feat, units, bins)
        self.cont = nn.Linear(feat, 1)

    def forward(self, obs, action, is_first, noise):
        embed = self.encoder(symlog(obs))
        h, z = self.rssm.initial(obs.shape[0], obs)
        trail = []
        for a, e, first, g in zip(*(v.unbind(1) for v in (action, embed, is_first, noise))):
            h, z, prior, post = self.rssm(h, z, a, e, first, g)
            trail.append((h, z, prior, post))
        h, z, prior, post = (torch.stack(v, dim=1) for v in zip(*trail))
        feat = torch.cat([h, z], -1)
        kl = F.kl_div(prior, post, reduction="none", log_target=True).sum((-2, -1))
        return {
            "deter": h,
            "post": post,
            "kl": kl.clamp(min=self.free_nats),
            "reward": self.reward(feat),
            "cont": self.cont(feat).sigmoid().squeeze(-1),
        }


def make(seed=50):
    torch.manual_seed(seed)
    return WorldModel().eval()


def tensor(v):
    return torch.from_numpy(v.numpy().copy())


@torch.no_grad()
def load(model, reference):
    def normed(target, source):
        target[0].weight.copy_(tensor(source.kernel).T)
        target[1].weight.copy_(tensor(source.scale))
        target[1].bias.copy_(tensor(source.offset))

    def linear(target, source):
        target.weight.copy_(tensor(source.kernel).T)
        target.bias.copy_(tensor(source.bias))

    normed(model.encoder[0], reference.enc1)
    normed(model.encoder[1], reference.enc2)
    normed(model.rssm.inp, reference.img_in)
    normed(model.rssm.cell.gates, reference.cell.layer)
    normed(model.rssm.prior_net[0], reference.img_out)
    linear(model.rssm.prior_net[1], reference.img_stats)
    normed(model.rssm.post_net[0], reference.obs_out)
    linear(model.rssm.post_net[1], reference.obs_stats)
    normed(model.reward.hidden, reference.reward1)
    linear(model.reward.logits, reference.reward2)
    linear(model.cont, reference.cont)
