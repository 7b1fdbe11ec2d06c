"""Rewrite of the diffusion-policy U-Net as pure functions over a flat dictionary of parameters."""
import math

import numpy as np
import torch
import torch.nn.functional as F

FRAMEWORK = "torch"
LOW, HIGH, ACT, OBS, STEP = 16, 32, 4, 7, 12
COND = STEP + OBS


def mish(x):
    return x * torch.tanh(F.softplus(x))


def group_norm(x, weight, bias, groups=4, eps=1e-5):
    b, c, t = x.shape
    g = x.reshape(b, groups, -1)
    mean = g.mean(-1, keepdim=True)
    var = g.var(-1, keepdim=True, unbiased=False)
    g = (g - mean) / torch.sqrt(var + eps)
    return g.reshape(b, c, t) * weight[:, None] + bias[:, None]


def step_embedding(k, dim=STEP):
    half = dim // 2
    freqs = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / (half - 1))
    angle = k.unsqueeze(-1).float() * freqs
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def conv_block(p, name, x):
    x = F.conv1d(x, p[name + "_conv_w"], p[name + "_conv_b"], padding=2)
    return mish(group_norm(x, p[name + "_gn_w"], p[name + "_gn_b"]))


def res_block(p, name, x, cond):
    film = F.linear(mish(cond), p[name + "_film_w"], p[name + "_film_b"])
    gamma, beta = film.unsqueeze(-1).chunk(2, dim=1)
    h = conv_block(p, name + "_0", x)
    h = torch.addcmul(beta, gamma, h)
    h = conv_block(p, name + "_1", h)
    if name + "_skip_w" in p:
        x = F.conv1d(x, p[name + "_skip_w"], p[name + "_skip_b"])
    return x + h


def _shapes():
    shapes = {"t1_w": (48, STEP), "t1_b": (48,), "t2_w": (STEP, 48), "t2_b": (STEP,)}
    for name, cin, cout in (("d0a", ACT, LOW), ("d0b", LOW, LOW), ("d1a", LOW, HIGH), ("d1b", HIGH, HIGH),
                            ("mid", HIGH, HIGH), ("u0a", 2 * HIGH, LOW), ("u0b", LOW, LOW)):
        for j, c in ((0, cin), (1, cout)):
            shapes.update({f"{name}_{j}_conv_w": (cout, c, 5), f"{name}_{j}_conv_b": (cout,),
                           f"{name}_{j}_gn_w": (cout,), f"{name}_{j}_gn_b": (cout,)})
        shapes.update({f"{name}_film_w": (2 * cout, COND), f"{name}_film_b": (2 * cout,)})
        if cin != cout:
            shapes.update({f"{name}_skip_w": (cout, cin, 1), f"{name}_skip_b": (cout,)})
    shapes.update({"down_w": (LOW, LOW, 3), "down_b": (LOW,), "up_w": (LOW, LOW, 4), "up_b": (LOW,),
                   "out_conv_w": (LOW, LOW, 5), "out_conv_b": (LOW,), "out_gn_w": (LOW,), "out_gn_b": (LOW,),
                   "head_w": (ACT, LOW, 1), "head_b": (ACT,)})
    return shapes


class NoiseNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(9)
        for name, shape in _shapes().items():
            self.register_parameter(name, torch.nn.Parameter(torch.randn(shape, generator=generator) * 0.1))

    def forward(self, actions, k, obs):
        p = dict(self.named_parameters())
        temb = F.linear(step_embedding(k), p["t1_w"], p["t1_b"])
        temb = F.linear(mish(temb), p["t2_w"], p["t2_b"])
        cond = torch.cat([temb, obs], dim=1)

        x = actions.transpose(1, 2)
        x = res_block(p, "d0a", x, cond)
        x = res_block(p, "d0b", x, cond)
        x = F.conv1d(x, p["down_w"], p["down_b"], stride=2, padding=1)
        x = res_block(p, "d1a", x, cond)
        skip = res_block(p, "d1b", x, cond)
        x = res_block(p, "mid", skip, cond)
        x = torch.cat([x, skip], dim=1)
        x = res_block(p, "u0a", x, cond)
        x = res_block(p, "u0b", x, cond)
        x = F.conv_transpose1d(x, p["up_w"], p["up_b"], stride=2, padding=1)
        x = conv_block(p, "out", x)
        x = F.conv1d(x, p["head_w"], p["head_b"])
        return x.transpose(1, 2)


def make():
    return NoiseNet().eval()


def load(model, reference):
    p = dict(model.named_parameters())

    def put(name, layer):
        p[name + "_w"].data.copy_(layer.weight.data)
        p[name + "_b"].data.copy_(layer.bias.data)

    def put_block(name, block):
        put(name + "_conv", block.block[0])
        put(name + "_gn", block.block[1])

    put("t1", reference.diffusion_step_encoder[1])
    put("t2", reference.diffusion_step_encoder[3])
    down, up = reference.down_modules, reference.up_modules
    for name, res in (("d0a", down[0][0]), ("d0b", down[0][1]), ("d1a", down[1][0]), ("d1b", down[1][1]),
                      ("mid", reference.mid_modules[0]), ("u0a", up[0][0]), ("u0b", up[0][1])):
        put_block(name + "_0", res.blocks[0])
        put_block(name + "_1", res.blocks[1])
        put(name + "_film", res.cond_encoder[1])
        if name + "_skip_w" in p:
            put(name + "_skip", res.residual_conv)
    put("down", down[0][2])
    put("up", up[0][2])
    put_block("out", reference.final_conv[0])
    put("head", reference.final_conv[1])
