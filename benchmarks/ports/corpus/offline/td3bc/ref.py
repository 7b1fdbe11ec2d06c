"""TD3+BC (Fujimoto & Gu 2021): targets with policy smoothing, and the actor's loss."""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT = 8, 3


class Actor(nn.Module):
    def __init__(self, max_action):
        super().__init__()
        self.l1 = nn.Linear(OBS, 32)
        self.l2 = nn.Linear(32, 32)
        self.l3 = nn.Linear(32, ACT)
        self.max_action = max_action

    def forward(self, state):
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return self.max_action * torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(OBS + ACT, 32), nn.Linear(32, 32), nn.Linear(32, 1)
        self.l4, self.l5, self.l6 = nn.Linear(OBS + ACT, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def Q1(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.l3(F.relu(self.l2(F.relu(self.l1(sa)))))

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.Q1(state, action), self.l6(F.relu(self.l5(F.relu(self.l4(sa)))))


class TD3BC(nn.Module):
    def __init__(self, discount=0.98, policy_noise=0.2, noise_clip=0.3, alpha=2.5, max_action=1.5):
        super().__init__()
        self.actor, self.critic = Actor(max_action), Critic()
        self.actor_target = copy.deepcopy(self.actor)
        self.critic_target = copy.deepcopy(self.critic)
        self.register_buffer("mean", torch.randn(1, OBS))
        self.register_buffer("std", torch.rand(1, OBS) * 0.5)
        self.discount, self.policy_noise, self.noise_clip = discount, policy_noise, noise_clip
        self.alpha, self.max_action = alpha, max_action

    def forward(self, state, action, next_state, reward, not_done):
        state = (state - self.mean) / (self.std + 1e-3)
        next_state = (next_state - self.mean) / (self.std + 1e-3)
        with torch.no_grad():
            noise = (torch.randn_like(action) * self.policy_noise).clamp(
                -self.noise_clip, self.noise_clip
            )
            next_action = (self.actor_target(next_state) + noise).clamp(
                -self.max_action, self.max_action
            )
            target_q = torch.min(*self.critic_target(next_state, next_action))
            target_q = reward + not_done * self.discount * target_q
        q1, q2 = self.critic(state, action)
        critic_loss = F.mse_loss(q1, target_q) + F.mse_loss(q2, target_q)
        pi = self.actor(state)
        q = self.critic.Q1(state, pi)
        lmbda = self.alpha / q.abs().mean().detach()
        actor_loss = -lmbda * q.mean() + F.mse_loss(pi, action)
        return pi, target_q, q, critic_loss, actor_loss


def make():
    torch.manual_seed(13)
    agent = TD3BC()
    with torch.no_grad():  # the targets trail behind
        for net in (agent.actor_target, agent.critic_target):
            for p in net.parameters():
                p.add_(0.1 * torch.randn_like(p))
        for net in (agent.critic, agent.critic_target):
            net.l3.weight.mul_(6), net.l6.weight.mul_(6)
            net.l3.bias.add_(2.6)
    return agent


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 7
    return (
        rng.normal(size=(b, OBS)).astype("float32"),
        rng.uniform(-1.5, 1.5, size=(b, ACT)).astype("float32"),
        rng.normal(size=(b, OBS)).astype("float32"),
        rng.normal(size=(b, 1)).astype("float32"),
        (np.arange(b) % 4 != 0).astype("float32")[:, None],
    )
