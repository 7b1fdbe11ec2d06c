"""Rainbow: C51 + dueling + noisy nets, on small stacked frames."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
ACTIONS, ATOMS, V_MIN, V_MAX = 5, 11, -4.0, 6.0


class NoisyLinear(nn.Module):
    def __init__(self, fan_in, fan_out, sigma0=0.5):
        super().__init__()
        bound = fan_in ** -0.5
        self.weight_mu = nn.Parameter(torch.empty(fan_out, fan_in).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((fan_out, fan_in), sigma0 * bound))
        self.bias_mu = nn.Parameter(torch.empty(fan_out).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((fan_out,), sigma0 * bound))
        self.register_buffer("noise_in", torch.randn(fan_in))
        self.register_buffer("noise_out", torch.randn(fan_out))

    @staticmethod
    def scale(noise):
        return noise.sign() * noise.abs().sqrt()

    def forward(self, x):
        eps_in, eps_out = self.scale(self.noise_in), self.scale(self.noise_out)
        weight = self.weight_mu + self.weight_sigma * torch.outer(eps_out, eps_in)
        return F.linear(x, weight, self.bias_mu + self.bias_sigma * eps_out)


class Rainbow(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 8, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(8, 12, 3, stride=2)
        self.value_hidden, self.value_out = NoisyLinear(108, 24), NoisyLinear(24, ATOMS)
        self.adv_hidden, self.adv_out = NoisyLinear(108, 24), NoisyLinear(24, ACTIONS * ATOMS)
        self.register_buffer("support", torch.linspace(V_MIN, V_MAX, ATOMS))

    def forward(self, frames):
        x = frames.float() / 255.0
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = x.flatten(1)
        value = self.value_out(F.relu(self.value_hidden(x))).view(-1, 1, ATOMS)
        adv = self.adv_out(F.relu(self.adv_hidden(x))).view(-1, ACTIONS, ATOMS)
        logits = value + adv - adv.mean(1, keepdim=True)
        log_p = F.log_softmax(logits, dim=2)
        q = (log_p.exp() * self.support).sum(2)
        return q, log_p


def make():
    torch.manual_seed(11)
    return Rainbow().eval()


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, 256, (4, 2, 16, 16), dtype=np.uint8),)
