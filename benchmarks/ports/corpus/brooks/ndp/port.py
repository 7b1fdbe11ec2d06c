"""Neural dynamic policies, functional: parameters in a ParameterDict, forcing term for all steps at once."""
import math
import numpy as np
import torch
import torch.nn.functional as F

FRAMEWORK = "torch"
STATE, DOF, NB, STEPS, HID = 6, 2, 5, 7, 16
TAU, DT, ALPHA_X, ALPHA_Z = 1.0, 0.12, 1.5, 10.0
BETA_Z = ALPHA_Z / 4


def phase():
    return (1 - ALPHA_X * DT / TAU) ** torch.arange(1, STEPS + 1, dtype=torch.float32)


def basis(x):
    c = torch.exp(-ALPHA_X * torch.linspace(0, 1, NB))
    h = NB ** 1.5 / (c * ALPHA_X)
    psi = torch.exp(-h * (x[:, None] - c) ** 2)
    return psi / psi.sum(dim=1, keepdim=True)


def rollout(w, goal, y0, yd0):
    x = phase()
    forcing = torch.einsum("bdn,tn->btd", w, basis(x)) * x[None, :, None]
    forcing = forcing * (goal - y0).unsqueeze(1)
    y, z = y0, TAU * yd0
    ys, zs = [y], [z]
    for t in range(STEPS):
        acc = ALPHA_Z * (BETA_Z * (goal - y) - z) + forcing[:, t]
        y, z = y + DT / TAU * z, z + DT / TAU * acc
        ys.append(y)
        zs.append(z)
    return torch.stack(ys, 1), torch.stack(zs, 1)


def normal_log_prob(x, mean, log_std):
    return -0.5 * ((x - mean) * torch.exp(-log_std)) ** 2 - log_std - 0.5 * math.log(2 * math.pi)


def dense(p, name, x):
    return F.linear(x, p[name + "_w"], p[name + "_b"])


def norm(p, name, x):
    return F.layer_norm(x, (HID,), p[name + "_g"], p[name + "_b"], 1e-5)


def ndp(p, state, pos, vel):
    h = torch.cat([state, pos, vel], dim=-1)
    h = torch.tanh(norm(p, "ln1", dense(p, "fc1", h)))
    h = h + torch.tanh(norm(p, "ln2", dense(p, "fc2", h)))
    goal, w = dense(p, "dmp", h).split([DOF, NB * DOF], dim=-1)
    w = 20.0 * w.view(-1, DOF, NB)
    y, z = rollout(w, goal, pos, vel)
    mean = y.diff(dim=1) / DT
    logp = normal_log_prob(z[:, 1:], mean, p["log_std"])
    return y, mean, logp.sum(-1), dense(p, "value", h)


class NDP(torch.nn.Module):
    def __init__(self, params):
        super().__init__()
        self.p = torch.nn.ParameterDict(params)

    def forward(self, state, pos, vel):
        return ndp(self.p, state, pos, vel)


def make():
    g = torch.Generator().manual_seed(1)
    rnd = lambda *s: torch.nn.Parameter(torch.randn(*s, generator=g) * 0.3)
    p = {}
    for name, i, o in (("fc1", STATE + 2 * DOF, HID), ("fc2", HID, HID), ("dmp", HID, NB * DOF + DOF), ("value", HID, STEPS)):
        p[name + "_w"], p[name + "_b"] = rnd(o, i), rnd(o)
    for name in ("ln1", "ln2"):
        p[name + "_g"], p[name + "_b"] = rnd(HID), rnd(HID)
    p["log_std"] = rnd(DOF)
    return NDP(p).eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    return (r.randn(B, STATE).astype("float32"), r.randn(B, DOF).astype("float32"),
            (0.5 * r.randn(B, DOF)).astype("float32"))


def load(ported, original):
    sd = original.state_dict()
    with torch.no_grad():
        for name, key in (("fc1", "fc1"), ("fc2", "fc2"), ("dmp", "dmp_head"), ("value", "value_head")):
            ported.p[name + "_w"].copy_(sd[key + ".weight"])
            ported.p[name + "_b"].copy_(sd[key + ".bias"])
        for name in ("ln1", "ln2"):
            ported.p[name + "_g"].copy_(sd[name + ".weight"])
            ported.p[name + "_b"].copy_(sd[name + ".bias"])
        ported.p["log_std"].copy_(sd["log_std"])
