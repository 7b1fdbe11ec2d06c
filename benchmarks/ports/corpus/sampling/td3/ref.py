"""TD3's critic update (Fujimoto et al. 2018), after the authors' torch code."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, HID = 11, 3, 32


class Actor(nn.Module):
    def __init__(self, max_action):
        super().__init__()
        self.l1 = nn.Linear(OBS, HID)
        self.l2 = nn.Linear(HID, HID)
        self.l3 = nn.Linear(HID, ACT)
        self.max_action = max_action

    def forward(self, state):
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return self.max_action * torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(OBS + ACT, HID)
        self.l2 = nn.Linear(HID, HID)
        self.l3 = nn.Linear(HID, 1)
        self.l4 = nn.Linear(OBS + ACT, HID)
        self.l5 = nn.Linear(HID, HID)
        self.l6 = nn.Linear(HID, 1)

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        q1 = F.relu(self.l1(sa))
        q1 = F.relu(self.l2(q1))
        q1 = self.l3(q1)
        q2 = F.relu(self.l4(sa))
        q2 = F.relu(self.l5(q2))
        q2 = self.l6(q2)
        return q1, q2


class TD3(nn.Module):
    def __init__(self, max_action=2.0, discount=0.99, policy_noise=0.2, noise_clip=0.5):
        super().__init__()
        self.actor_target = Actor(max_action)
        self.critic = Critic()
        self.critic_target = Critic()
        self.max_action = max_action
        self.discount = discount
        self.policy_noise = policy_noise * max_action
        self.noise_clip = noise_clip * max_action

    def forward(self, state, action, next_state, reward, not_done):
        with torch.no_grad():
            noise = (torch.randn_like(action) * self.policy_noise).clamp(-self.noise_clip, self.noise_clip)
            next_action = (self.actor_target(next_state) + noise).clamp(-self.max_action, self.max_action)
            target_q1, target_q2 = self.critic_target(next_state, next_action)
            target_q = torch.min(target_q1, target_q2)
            target_q = reward + not_done * self.discount * target_q
        q1, q2 = self.critic(state, action)
        loss = F.mse_loss(q1, target_q) + F.mse_loss(q2, target_q)
        return {"target_q": target_q, "q1": q1, "q2": q2, "loss": loss}


def make():
    torch.manual_seed(1)
    return TD3()


def inputs(seed):
    rng = np.random.default_rng(seed)
    n = 16
    return {
        "state": rng.normal(size=(n, OBS)).astype("float32"),
        "action": rng.uniform(-2, 2, (n, ACT)).astype("float32"),
        "next_state": rng.normal(size=(n, OBS)).astype("float32"),
        "reward": rng.normal(size=(n, 1)).astype("float32"),
        "not_done": (rng.random((n, 1)) > 0.3).astype("float32"),
    }
