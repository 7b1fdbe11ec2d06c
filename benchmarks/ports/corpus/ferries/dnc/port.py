"""A DNC agent, torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, HID, N, W, R, STEPS, ACTIONS = 6, 12, 6, 5, 2, 6, 4
EPS = 1e-6


class SonnetLSTMCell(nn.Module):
    def __init__(self, n_in, n_out, forget_bias=1.0):
        super().__init__()
        self.linear = nn.Linear(n_in + n_out, 4 * n_out)
        self.forget_bias = forget_bias

    def forward(self, x, hc):
        h, c = hc
        gates = self.linear(torch.cat([x, h], dim=-1))
        i, g, f, o = gates.chunk(4, dim=-1)
        c = c * (f + self.forget_bias).sigmoid() + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c


def cosine_attention(memory, keys, beta):
    mem = memory.pow(2).sum(-1).add(EPS).sqrt()
    key = keys.pow(2).sum(-1).add(EPS).sqrt()
    sim = torch.einsum("brw,bnw->brn", keys, memory) / (key[:, :, None] * mem[:, None, :] + EPS)
    beta = 1 + F.softplus(beta)
    return torch.softmax(sim * beta[..., None], dim=-1)


def allocation_weights(usage):
    usage = EPS + (1 - EPS) * usage
    ordered, free_list = usage.sort(dim=1)
    before = torch.cumprod(ordered, dim=1)
    before = torch.cat([torch.ones_like(before[:, :1]), before[:, :-1]], dim=1)
    alloc = (1 - ordered) * before
    return torch.zeros_like(usage).scatter(1, free_list, alloc)


class Interface(nn.Module):
    SIZES = {"read_keys": R * W, "read_strengths": R, "write_key": W, "write_strength": 1, "erase": W,
             "write": W, "free_gates": R, "alloc_gate": 1, "write_gate": 1, "read_modes": 3 * R}

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({k: nn.Linear(HID, n) for k, n in self.SIZES.items()})

    def forward(self, h):
        v = {k: head(h) for k, head in self.heads.items()}
        for k in ("erase", "free_gates", "alloc_gate", "write_gate"):
            v[k] = torch.sigmoid(v[k])
        v["read_keys"] = v["read_keys"].view(-1, R, W)
        v["read_modes"] = v["read_modes"].view(-1, R, 3).softmax(-1)
        return v


class DNC(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = SonnetLSTMCell(OBS + R * W, HID)
        self.interface = Interface()
        self.policy = nn.Linear(HID + R * W, ACTIONS)
        self.value = nn.Linear(HID + R * W, 1)
        self.register_buffer("off_diagonal", 1 - torch.eye(N))

    def forward(self, obs):
        B, T, _ = obs.shape
        h, c = obs.new_zeros(B, HID), obs.new_zeros(B, HID)
        memory, link = obs.new_zeros(B, N, W), obs.new_zeros(B, N, N)
        usage, precedence, ww = obs.new_zeros(B, N), obs.new_zeros(B, N), obs.new_zeros(B, N)
        rw, reads = obs.new_zeros(B, R, N), obs.new_zeros(B, R, W)
        outs = []
        for t in range(T):
            h, c = self.cell(torch.cat([obs[:, t], reads.flatten(1)], -1), (h, c))
            v = self.interface(h)

            retention = (1 - v["free_gates"][..., None] * rw).prod(dim=1)
            usage = (usage + ww - usage * ww) * retention

            content = cosine_attention(memory, v["write_key"][:, None], v["write_strength"]).squeeze(1)
            ga, gw = v["alloc_gate"], v["write_gate"]
            ww = gw * (ga * allocation_weights(usage) + (1 - ga) * content)
            memory = (memory * (1 - torch.einsum("bn,bw->bnw", ww, v["erase"]))
                      + torch.einsum("bn,bw->bnw", ww, v["write"]))

            link = ((1 - ww[:, :, None] - ww[:, None, :]) * link
                    + ww[:, :, None] * precedence[:, None, :]) * self.off_diagonal
            precedence = (1 - ww.sum(1, keepdim=True)) * precedence + ww

            fwd = torch.einsum("bij,brj->bri", link, rw)
            bwd = torch.einsum("bij,bri->brj", link, rw)
            content = cosine_attention(memory, v["read_keys"], v["read_strengths"])
            b_mode, c_mode, f_mode = v["read_modes"].unsqueeze(-1).unbind(2)
            rw = b_mode * bwd + c_mode * content + f_mode * fwd
            reads = torch.bmm(rw, memory)
            outs.append(torch.cat([h, reads.flatten(1)], -1))
        outs = torch.stack(outs, dim=1)
        return F.log_softmax(self.policy(outs), -1), self.value(outs).squeeze(-1), memory


def make():
    torch.manual_seed(31)
    model = DNC()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(5, STEPS, OBS).astype(np.float32),)


@torch.no_grad()
def load(ported, original):
    def linear(dst, src):
        dst.weight.copy_(torch.from_numpy(src.w.numpy().T.copy()))
        dst.bias.copy_(torch.from_numpy(src.b.numpy()))

    linear(ported.cell.linear, original.controller.gates)
    for name, head in ported.interface.heads.items():
        linear(head, getattr(original, name))
    linear(ported.policy, original.policy)
    linear(ported.value, original.value)
