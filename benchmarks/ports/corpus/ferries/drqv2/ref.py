"""DrQ-v2 networks (pixel encoder, actor, twin critic), torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
ACT, FEAT, HID = 3, 16, 24


class Encoder(nn.Module):
    def __init__(self, channels=9, width=8):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=1), nn.ReLU())
        self.repr_dim = width * 3 * 3

    def forward(self, obs):
        obs = obs / 255.0 - 0.5
        h = self.convnet(obs)
        return h.view(h.shape[0], -1)


def trunk(n_in):
    return nn.Sequential(nn.Linear(n_in, FEAT), nn.LayerNorm(FEAT), nn.Tanh())


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, HID), nn.ReLU(inplace=True),
                         nn.Linear(HID, HID), nn.ReLU(inplace=True),
                         nn.Linear(HID, n_out))


class Actor(nn.Module):
    def __init__(self, repr_dim):
        super().__init__()
        self.trunk = trunk(repr_dim)
        self.policy = mlp(FEAT, ACT)

    def forward(self, h):
        mu = self.policy(self.trunk(h))
        return torch.tanh(mu)


class Critic(nn.Module):
    def __init__(self, repr_dim):
        super().__init__()
        self.trunk = trunk(repr_dim)
        self.Q1 = mlp(FEAT + ACT, 1)
        self.Q2 = mlp(FEAT + ACT, 1)

    def forward(self, h, action):
        h = self.trunk(h)
        h_action = torch.cat([h, action], dim=-1)
        q1 = self.Q1(h_action)
        q2 = self.Q2(h_action)
        return q1, q2


class DrQV2(nn.Module):
    def __init__(self, std=0.4, clip=0.3):
        super().__init__()
        self.std, self.clip = std, clip
        self.encoder = Encoder()
        self.actor = Actor(self.encoder.repr_dim)
        self.critic = Critic(self.encoder.repr_dim)

    def truncated_sample(self, mu, noise):
        eps = noise * self.std
        eps = torch.clamp(eps, -self.clip, self.clip)
        x = mu + eps
        return torch.clamp(x, -1.0 + 1e-6, 1.0 - 1e-6)

    def forward(self, obs, noise):
        h = self.encoder(obs)
        mu = self.actor(h)
        action = self.truncated_sample(mu, noise)
        q1, q2 = self.critic(h, action)
        target_v = torch.min(q1, q2)
        return action, torch.cat([q1, q2], dim=-1), target_v


def make():
    torch.manual_seed(11)
    model = DrQV2()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, (nn.Linear, nn.Conv2d)):
                nn.init.orthogonal_(m.weight, nn.init.calculate_gain("relu"))
                m.bias.normal_(0, 0.2)
            elif isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0, 0.2)
        # small features before the norm, as with a fresh trunk
        model.actor.trunk[0].weight.mul_(0.05)
        model.actor.trunk[0].bias.mul_(0.1)
        model.critic.trunk[0].weight.mul_(0.05)
        model.critic.trunk[0].bias.mul_(0.1)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    obs = rng.randint(0, 256, (6, 9, 20, 20)).astype(np.float32)
    noise = rng.randn(6, ACT).astype(np.float32)
    return obs, noise
