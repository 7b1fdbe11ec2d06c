"""SimBa actor and critic for SAC (RSNorm, residual pre-norm blocks), with a categorical critic, torch."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, HID, BINS = 7, 3, 12, 11
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
VMAX = 4.0


class RSNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", 0.5 * torch.randn(n))
        self.register_buffer("var", 0.4 + 2 * torch.rand(n))

    def forward(self, x):
        return (x - self.mean) / torch.sqrt(self.var + 1e-8)


class ResidualBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer_norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * 4)
        self.fc2 = nn.Linear(dim * 4, dim)

    def forward(self, x):
        res = x
        x = self.layer_norm(x)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return res + x


class SimbaEncoder(nn.Module):
    def __init__(self, n_in, dim, blocks):
        super().__init__()
        self.embed = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList([ResidualBlock(dim) for _ in range(blocks)])
        self.post_norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.post_norm(x)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = SimbaEncoder(OBS, HID, 1)
        self.mean = nn.Linear(HID, ACT)
        self.log_std = nn.Linear(HID, ACT)

    def forward(self, obs, noise):
        z = self.encoder(obs)
        mean, log_std = self.mean(z), self.log_std(z)
        log_std = torch.tanh(log_std)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        u = mean + log_std.exp() * noise
        logp = -0.5 * noise.pow(2) - log_std - 0.5 * math.log(2 * math.pi)
        logp = logp - 2.0 * (math.log(2.0) - u - F.softplus(-2.0 * u))
        return torch.tanh(u), logp.sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = SimbaEncoder(OBS + ACT, HID, 2)
        self.out = nn.Linear(HID, BINS)
        self.register_buffer("support", torch.linspace(-VMAX, VMAX, BINS))

    def forward(self, obs, action):
        logits = self.out(self.encoder(torch.cat([obs, action], 1)))
        probs = F.softmax(logits, dim=-1)
        x = (probs * self.support).sum(-1, keepdim=True)
        return torch.sign(x) * (torch.exp(torch.abs(x)) - 1.0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RSNorm(OBS)
        self.actor = Actor()
        self.critic1 = Critic()
        self.critic2 = Critic()
        self.log_alpha = nn.Parameter(torch.tensor([-1.2]))

    def forward(self, obs, noise):
        obs = self.norm(obs)
        action, logp = self.actor(obs, noise)
        q = torch.min(self.critic1(obs, action), self.critic2(obs, action))
        soft_value = q - self.log_alpha.exp() * logp
        return action, logp, soft_value


def make():
    torch.manual_seed(42)
    model = Agent()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, nn.Linear):
                m.weight.normal_(0, 1.2 / math.sqrt(m.in_features))
                m.bias.normal_(0, 0.3)
            elif isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (1.5 * rng.randn(6, OBS)).astype(np.float32), rng.randn(6, ACT).astype(np.float32)
