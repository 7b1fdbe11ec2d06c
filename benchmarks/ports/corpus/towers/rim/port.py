"""RIM actor-critic, functional PyTorch: a dict of parameters, einsum per mechanism."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, D, UNITS, TOPK, HID, DK, DV, CK, CH, T, ACT = 7, 8, 4, 2, 6, 5, 8, 4, 2, 3, 5


def grouped(x, w):
    return torch.einsum("bui,uio->buo", x, w)


def gru(p, x, h):
    gx = grouped(x, p["gru_x"]).view(-1, UNITS, 3, HID)
    gh = grouped(h, p["gru_h"]).view(-1, UNITS, 3, HID)
    r = torch.sigmoid(gx[:, :, 0] + gh[:, :, 0])
    z = torch.sigmoid(gx[:, :, 1] + gh[:, :, 1])
    n = torch.tanh(gx[:, :, 2] + r * gh[:, :, 2])
    return (1 - z) * n + z * h


def read_input(p, x, h):
    slots = F.pad(x.unsqueeze(1), (0, 0, 0, 1))
    k = F.linear(slots, p["key_w"], p["key_b"])
    v = F.linear(slots, p["value_w"], p["value_b"])
    scores = torch.einsum("bud,bsd->bus", grouped(h, p["query"]), k) * DK ** -0.5
    rank = scores[..., 0].argsort(dim=1, descending=True).argsort(dim=1)
    active = (rank < TOPK).float().unsqueeze(-1)
    att = scores.softmax(dim=-1)
    return torch.einsum("bus,bsv->buv", att, v) * active, active


def talk(p, h, active):
    q, k, v = (grouped(h, p[n]).view(-1, UNITS, CH, CK) for n in ("com_q", "com_k", "com_v"))
    att = (torch.einsum("bihd,bjhd->bhij", q, k) * CK ** -0.5).softmax(dim=-1)
    ctx = torch.einsum("bhij,bjhd->bihd", att, v).flatten(2) * active
    return h + grouped(ctx, p["com_o"])


def rim_step(p, x, h):
    read, active = read_input(p, x, h)
    inner = torch.where(active > 0, gru(p, read, h), h)
    return torch.where(active > 0, talk(p, inner, active), h)


def encode(p, obs):
    x = F.linear(obs, p["enc_w"], p["enc_b"])
    return F.relu(F.layer_norm(x, (D,), p["ln_w"], p["ln_b"], 1e-5))


def agent(p, obs):
    feats = encode(p, obs)
    h = p["h0"].expand(obs.shape[0], UNITS, HID)
    states = []
    for x in feats.unbind(1):
        h = rim_step(p, x, h)
        states.append(h)
    flat = torch.stack(states, dim=1).flatten(2)
    logp = F.log_softmax(F.linear(flat, p["pi_w"], p["pi_b"]), dim=-1)
    return logp, F.linear(flat, p["v_w"], p["v_b"]), h


class Agent(nn.Module):
    def __init__(self, params):
        super().__init__()
        self.p = nn.ParameterDict(params)

    def forward(self, obs):
        return agent(self.p, obs)


def make():
    r = np.random.RandomState(19)
    shapes = dict(enc_w=(D, OBS), enc_b=(D,), ln_w=(D,), ln_b=(D,), key_w=(DK, D), key_b=(DK,), value_w=(DV, D),
                  value_b=(DV,), query=(UNITS, HID, DK), gru_x=(UNITS, DV, 3 * HID), gru_h=(UNITS, HID, 3 * HID),
                  com_q=(UNITS, HID, CK * CH), com_k=(UNITS, HID, CK * CH), com_v=(UNITS, HID, CK * CH),
                  com_o=(UNITS, CK * CH, HID), h0=(UNITS, HID), pi_w=(ACT, UNITS * HID), pi_b=(ACT,),
                  v_w=(1, UNITS * HID), v_b=(1,))
    return Agent({k: nn.Parameter(torch.from_numpy((0.4 * r.randn(*s)).astype("float32"))) for k, s in shapes.items()}).eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(5, T, OBS).astype("float32"),)


NAMES = dict(enc_w="enc.weight", enc_b="enc.bias", ln_w="norm.weight", ln_b="norm.bias", key_w="rim.key.weight",
             key_b="rim.key.bias", value_w="rim.value.weight", value_b="rim.value.bias", query="rim.query.w",
             gru_x="rim.cell.x2h.w", gru_h="rim.cell.h2h.w", com_q="rim.query_c.w", com_k="rim.key_c.w",
             com_v="rim.value_c.w", com_o="rim.out_c.w", h0="h0", pi_w="pi.weight", pi_b="pi.bias", v_w="v.weight",
             v_b="v.bias")


def load(ported, original):
    sd = original.state_dict()
    with torch.no_grad():
        for ours, theirs in NAMES.items():
            ported.p[ours].copy_(sd[theirs])
