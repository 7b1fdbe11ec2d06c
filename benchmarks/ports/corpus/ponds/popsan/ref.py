"""PopSAN: population-coded spiking actor network (torch)."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
OBS, ACT, EN_POP, DE_POP, HID, STEPS = 5, 3, 6, 4, 24, 5
NEURON_VTH, NEURON_CDECAY, NEURON_VDECAY = 0.5, 0.5, 0.75
ENCODER_VTH = 0.999


class PseudoSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, th, window):
        ctx.save_for_backward(v)
        ctx.th, ctx.window = th, window
        return v.gt(th).float()

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g * (torch.abs(v - ctx.th) < ctx.window).float(), None, None


class PopEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(1, OBS, EN_POP))
        self.std = nn.Parameter(torch.ones(1, OBS, EN_POP))

    def forward(self, obs):
        B = obs.shape[0]
        act = torch.exp(-(1.0 / 2.0) * (obs.view(B, OBS, 1) - self.mean).pow(2) / self.std.pow(2))
        act = act.view(B, OBS * EN_POP)
        volt = torch.zeros_like(act)
        spikes = []
        for _ in range(STEPS):
            volt = volt + act
            s = PseudoSpike.apply(volt, ENCODER_VTH, 0.5)
            volt = volt - s * ENCODER_VTH
            spikes.append(s)
        return torch.stack(spikes, dim=2)


class SpikeMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(OBS * EN_POP, HID), nn.Linear(HID, HID)])
        self.out = nn.Linear(HID, ACT * DE_POP)

    def neuron(self, syn, pre, current, volt, spike):
        current = current * NEURON_CDECAY + syn(pre)
        volt = volt * NEURON_VDECAY * (1.0 - spike) + current
        spike = PseudoSpike.apply(volt, NEURON_VTH, 0.5)
        return current, volt, spike

    def forward(self, in_spikes):
        B = in_spikes.shape[0]
        states = [[torch.zeros(B, l.out_features) for _ in range(3)] for l in list(self.hidden) + [self.out]]
        total = torch.zeros(B, ACT * DE_POP)
        for t in range(STEPS):
            pre = in_spikes[:, :, t]
            for i, layer in enumerate(list(self.hidden) + [self.out]):
                states[i] = self.neuron(layer, pre, *states[i])
                pre = states[i][2]
            total = total + pre
        return total / STEPS


class PopSAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PopEncoder()
        self.snn = SpikeMLP()
        self.decoder = nn.Conv1d(ACT, ACT, DE_POP, groups=ACT)
        self.log_std = nn.Linear(OBS, ACT)

    def forward(self, obs):
        rate = self.snn(self.encoder(obs))
        mu = self.decoder(rate.view(-1, ACT, DE_POP)).view(-1, ACT)
        log_std = torch.clamp(self.log_std(obs), -5.0, 2.0)
        return torch.tanh(mu), torch.exp(log_std)


def make():
    m = PopSAN()
    r = np.random.RandomState(4)
    for n, p in m.named_parameters():
        if n.endswith("std") and "encoder" in n:
            v = r.uniform(0.4, 0.9, p.shape)
        elif n.endswith("mean"):
            v = np.linspace(-2, 2, EN_POP)[None, None] + 0.2 * r.randn(*p.shape)
        elif "hidden" in n or "out" in n:
            v = r.randn(*p.shape) * (0.3 if p.dim() == 2 else 0.15) + 0.03
        else:
            v = r.randn(*p.shape) * 0.7
        p.data = torch.tensor(v, dtype=torch.float32)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(6, OBS).astype("f"),)
