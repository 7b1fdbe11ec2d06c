"""Rainbow in torch, after Kaixhin's."""
import math

import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.4):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.std_init = std_init
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features))
        self.weight_sigma = nn.Parameter(torch.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.empty(out_features))
        self.bias_sigma = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        mu_range = 1 / math.sqrt(self.in_features)
        self.weight_mu.data.uniform_(-mu_range, mu_range)
        self.weight_sigma.data.fill_(self.std_init / math.sqrt(self.in_features))
        self.bias_mu.data.uniform_(-mu_range, mu_range)
        self.bias_sigma.data.fill_(self.std_init / math.sqrt(self.out_features))

    def scale_noise(self, size):
        x = torch.randn(size)
        return x.sign().mul(x.abs().sqrt())

    def forward(self, x):
        epsilon_in = self.scale_noise(self.in_features)
        epsilon_out = self.scale_noise(self.out_features)
        weight_epsilon = epsilon_out.outer(epsilon_in)
        weight = self.weight_mu + self.weight_sigma * weight_epsilon
        bias = self.bias_mu + self.bias_sigma * epsilon_out
        return F.linear(x, weight, bias)


class DQN(nn.Module):
    def __init__(self, action_space=4, atoms=11, v_min=-5.0, v_max=5.0):
        super().__init__()
        self.atoms = atoms
        self.action_space = action_space
        self.convs = nn.Sequential(
            nn.Conv2d(2, 8, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3),
            nn.ReLU(),
        )
        self.conv_output_size = 200
        self.fc_h = NoisyLinear(self.conv_output_size, 32)
        self.fc_z_v = NoisyLinear(16, atoms)
        self.fc_z_a = NoisyLinear(16, action_space * atoms)
        self.register_buffer("support", torch.linspace(v_min, v_max, atoms))

    def forward(self, x):
        x = self.convs(x / 255)
        x = x.view(-1, self.conv_output_size)
        h = F.relu(self.fc_h(x))
        a, v = h[:, :16], h[:, 16:]
        a = self.fc_z_a(a).view(-1, self.action_space, self.atoms)
        v = self.fc_z_v(v).view(-1, 1, self.atoms)
        q = v + a - a.mean(1, keepdim=True)
        p = F.softmax(q, dim=2)
        return p, (p * self.support).sum(2)


def make():
    torch.manual_seed(1)
    return DQN()


@torch.no_grad()
def load(model, reference):
    def put(parameter, array):
        parameter.copy_(torch.from_numpy(array.copy()))

    for conv, link in ((model.convs[0], reference.conv1), (model.convs[2], reference.conv2)):
        put(conv.weight, link.W.array)
        put(conv.bias, link.b.array)
    for layer, link in (
        (model.fc_h, reference.main),
        (model.fc_z_a, reference.a_stream),
        (model.fc_z_v, reference.v_stream),
    ):
        put(layer.weight_mu, link.mu.W.array)
        put(layer.bias_mu, link.mu.b.array)
        put(layer.weight_sigma, link.sigma.W.array)
        put(layer.bias_sigma, link.sigma.b.array)
