"""Play-LMP, functional: a ParameterDict and plain functions, no torch.distributions and no fused RNNs."""
import math
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
T, OBS, ACT, H, Z, MIX = 4, 7, 3, 12, 5, 3
BINS = 64


def shapes():
    s = {}

    def lin(n, i, o):
        s[n + "_w"], s[n + "_b"] = (i, o), (o,)
    for layer, fan in ((0, OBS), (1, 2 * H)):
        for d in ("f", "b"):
            lin(f"gru{layer}{d}_x", fan, 3 * H)
            lin(f"gru{layer}{d}_h", H, 3 * H)
    lin("post_mu", 2 * H, Z); lin("post_sd", 2 * H, Z)
    lin("prop1", 2 * OBS, 16); s["prop_ln_g"] = (16,); s["prop_ln_b"] = (16,)
    lin("prop2", 16, 16); lin("prior_mu", 16, Z); lin("prior_sd", 16, Z)
    lin("lstm", 2 * OBS + Z + 16, 64)
    lin("mu", 16, ACT * MIX); lin("scale", 16, ACT * MIX); lin("mix", 16, ACT * MIX)
    return s


def linear(p, n, x):
    return x @ p[n + "_w"] + p[n + "_b"]


def softplus(x):
    return torch.logaddexp(x, torch.zeros_like(x))


def elu(x):
    return torch.where(x > 0, x, torch.expm1(x.clamp(max=0.0)))


def layer_norm(x, g, b, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + eps) * g + b


def gru_step(p, n, x, h):
    xr, xz, xn = linear(p, n + "_x", x).chunk(3, -1)
    hr, hz, hn = linear(p, n + "_h", h).chunk(3, -1)
    r = torch.sigmoid(xr + hr)
    z = torch.sigmoid(xz + hz)
    n_ = torch.tanh(xn + r * hn)
    return n_ + z * (h - n_)


def bi_gru_layer(p, layer, xs):
    zero = xs[0].new_zeros(xs[0].shape[0], H)
    h, fwd = zero, []
    for x in xs:
        h = gru_step(p, f"gru{layer}f", x, h)
        fwd.append(h)
    h, bwd = zero, [None] * len(xs)
    for t in reversed(range(len(xs))):
        h = gru_step(p, f"gru{layer}b", xs[t], h)
        bwd[t] = h
    return [torch.cat(pair, -1) for pair in zip(fwd, bwd)]


def recognise(p, obs):
    xs = list(obs.unbind(1))
    for layer in range(2):
        xs = bi_gru_layer(p, layer, xs)
    return linear(p, "post_mu", xs[-1]), softplus(linear(p, "post_sd", xs[-1])) + 1e-3


def propose(p, first, goal):
    x = elu(linear(p, "prop1", torch.cat([first, goal], -1)))
    x = layer_norm(x, p["prop_ln_g"], p["prop_ln_b"])
    x = elu(linear(p, "prop2", x))
    return linear(p, "prior_mu", x), softplus(linear(p, "prior_sd", x)) + 1e-3


def gaussian_kl(m1, s1, m2, s2):
    ratio = (s1 / s2) ** 2
    return (0.5 * (ratio + ((m1 - m2) / s2) ** 2 - 1) - 0.5 * torch.log(ratio)).sum(-1)


def decode(p, obs, goal, z):
    h = c = obs.new_zeros(obs.shape[0], 16)
    outs = []
    for t in range(T):
        i, f, g, o = linear(p, "lstm", torch.cat([obs[:, t], goal, z, h], -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        outs.append(h)
    x = torch.stack(outs, 1)
    shape = (-1, T, ACT, MIX)
    means = linear(p, "mu", x).reshape(shape)
    log_scales = torch.clamp(linear(p, "scale", x), min=-3.0).reshape(shape)
    return means, log_scales, linear(p, "mix", x).reshape(shape)


def mixture_log_prob(actions, means, log_scales, logits):
    a = actions[..., None]
    inv = torch.exp(-log_scales)
    half = 1.0 / (BINS - 1)
    centered = a - means
    plus = (centered + half) * inv
    minus = (centered - half) * inv
    delta = torch.sigmoid(plus) - torch.sigmoid(minus)
    mid = centered * inv
    tail = mid - log_scales - 2 * softplus(mid) - math.log((BINS - 1) / 2)
    logp = torch.where(delta > 1e-5, torch.log(torch.clamp(delta, min=1e-12)), tail)
    logp = torch.where(a > 0.999, -softplus(minus), logp)
    logp = torch.where(a < -0.999, plus - softplus(plus), logp)
    logp = logp + torch.log_softmax(logits, -1)
    return torch.logsumexp(logp, -1).sum(-1)


class PlayLMP(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({k: nn.Parameter(torch.randn(s) * 0.3 + (1.0 if k == "prop_ln_g" else 0.0))
                                   for k, s in shapes().items()})

    def forward(self, obs, goal, actions):
        p = self.p
        mu_q, sd_q = recognise(p, obs)
        mu_p, sd_p = propose(p, obs[:, 0], goal)
        kl = gaussian_kl(mu_q, sd_q, mu_p, sd_p)
        means, log_scales, logits = decode(p, obs, goal, mu_q)
        nll = -mixture_log_prob(actions, means, log_scales, logits)
        expected = torch.einsum("btam,btam->bta", torch.softmax(logits, -1), means)
        return nll.mean(1) + 0.01 * kl, kl, expected, sd_p


def make():
    torch.manual_seed(5)
    return PlayLMP().eval()


def load(ported, original):
    sd = original.state_dict()
    p = ported.p

    def lin(n, src):
        p[n + "_w"].data = sd[src + ".weight"].t().clone()
        p[n + "_b"].data = sd[src + ".bias"].clone()
    for layer in range(2):
        for d, suf in (("f", ""), ("b", "_reverse")):
            for mine, th in (("x", "ih"), ("h", "hh")):
                p[f"gru{layer}{d}_{mine}_w"].data = sd[f"recognition.rnn.weight_{th}_l{layer}{suf}"].t().clone()
                p[f"gru{layer}{d}_{mine}_b"].data = sd[f"recognition.rnn.bias_{th}_l{layer}{suf}"].clone()
    lin("post_mu", "recognition.mean"); lin("post_sd", "recognition.var")
    lin("prop1", "proposal.net.0"); lin("prop2", "proposal.net.3")
    p["prop_ln_g"].data = sd["proposal.net.2.weight"].clone()
    p["prop_ln_b"].data = sd["proposal.net.2.bias"].clone()
    lin("prior_mu", "proposal.mean"); lin("prior_sd", "proposal.var")
    p["lstm_w"].data = torch.cat([sd["decoder.rnn.weight_ih_l0"], sd["decoder.rnn.weight_hh_l0"]], 1).t().clone()
    p["lstm_b"].data = sd["decoder.rnn.bias_ih_l0"] + sd["decoder.rnn.bias_hh_l0"]
    lin("mu", "decoder.means"); lin("scale", "decoder.scales"); lin("mix", "decoder.logits")


def inputs(seed):
    rng = np.random.default_rng(seed)
    actions = np.clip(rng.normal(size=(5, T, ACT)) * 0.7, -1, 1)
    return (rng.normal(size=(5, T, OBS)).astype("float32"), rng.normal(size=(5, OBS)).astype("float32"),
            actions.astype("float32"))
