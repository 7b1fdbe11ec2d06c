"""I2A in PyTorch: the imagined trajectories live in a (batch, action) grid folded into the batch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NUM_ACTIONS = 5


class Imagination(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(4 + NUM_ACTIONS, 16, 3, padding=1)
        self.pooled = nn.Linear(16, 16)
        self.merge = nn.Conv2d(32, 16, kernel_size=1)
        self.to_frame = nn.Conv2d(16, 4, kernel_size=1)
        self.to_reward = nn.Linear(16 * 64, 1)

    def forward(self, frame, action):
        planes = action[..., None, None].expand(-1, -1, *frame.shape[2:])
        x = F.relu(self.stem(torch.cat((frame, planes), dim=1)))
        glob = F.relu(self.pooled(x.amax(dim=(-2, -1))))
        x = F.relu(self.merge(torch.cat((x, glob[..., None, None].expand_as(x)), dim=1)))
        return torch.sigmoid(self.to_frame(x)), self.to_reward(x.flatten(1))


def strided(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1), nn.ReLU(), nn.Flatten())


class RolloutEncoder(nn.Module):
    def __init__(self, size=24):
        super().__init__()
        self.features = nn.Sequential(*strided(4, 10), nn.Linear(160, size - 1), nn.ReLU())
        self.lstm = nn.LSTM(size, size)

    def forward(self, frames, rewards):
        T, N = frames.shape[:2]
        f = self.features(frames.flatten(0, 1)).view(T, N, -1)
        x = torch.cat((f, rewards), dim=-1)
        _, (h, _) = self.lstm(x.flip(0))
        return h[0]


class I2A(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.depth = depth
        self.world = Imagination()
        self.pi_hat = nn.Sequential(*strided(4, 8), nn.Linear(128, NUM_ACTIONS))
        self.encoder = RolloutEncoder()
        self.model_free = nn.Sequential(*strided(4, 12), nn.Linear(192, 32), nn.ReLU())
        self.trunk = nn.Sequential(nn.Linear(NUM_ACTIONS * 24 + 32, 48), nn.ReLU())
        self.actor, self.critic = nn.Linear(48, NUM_ACTIONS), nn.Linear(48, 1)

    def forward(self, obs):
        n = len(obs)
        frame = obs.repeat_interleave(NUM_ACTIONS, dim=0)
        action = torch.eye(NUM_ACTIONS).repeat(n, 1)
        frames, rewards = [], []
        for _ in range(self.depth):
            frame, reward = self.world(frame, action)
            frames.append(frame)
            rewards.append(reward)
            action = self.pi_hat(frame).softmax(dim=1)
        code = self.encoder(torch.stack(frames), torch.stack(rewards)).view(n, -1)
        x = self.trunk(torch.cat((code, self.model_free(obs)), dim=1))
        logits = self.actor(x)
        log_hat = self.pi_hat(obs).log_softmax(dim=1)
        distill = -(logits.softmax(dim=1) * log_hat).sum(1)
        return logits, self.critic(x).squeeze(1), distill


def make():
    torch.manual_seed(2)
    return I2A().eval()


@torch.no_grad()
def load(ported, original):
    def link(module, src):
        module.weight.copy_(torch.tensor(src.W.array))
        module.bias.copy_(torch.tensor(src.b.array))

    env, world = original.env, ported.world
    link(world.stem, env.inp)
    link(world.pooled, env.pool)
    link(world.merge, env.mix)
    link(world.to_frame, env.frame)
    link(world.to_reward, env.reward)
    link(ported.pi_hat[0], original.rollout_policy[0])
    link(ported.pi_hat[3], original.rollout_policy[2])
    link(ported.encoder.features[0], original.enc_conv)
    link(ported.encoder.features[3], original.enc_fc)
    link(ported.model_free[0], original.free_conv)
    link(ported.model_free[3], original.free_fc)
    link(ported.trunk[0], original.joint)
    link(ported.actor, original.policy)
    link(ported.critic, original.value)

    def regate(w):          # (unit, [a i f o]) rows -> [i f a o] blocks
        w = torch.tensor(w).unflatten(0, (24, 4))
        return w[:, [1, 2, 0, 3]].transpose(0, 1).flatten(0, 1)

    lstm = ported.encoder.lstm
    lstm.weight_ih_l0.copy_(regate(original.enc_rnn.upward.W.array))
    lstm.bias_ih_l0.copy_(regate(original.enc_rnn.upward.b.array))
    lstm.weight_hh_l0.copy_(regate(original.enc_rnn.lateral.W.array))
    lstm.bias_hh_l0.zero_()


def inputs(seed):
    rng = np.random.RandomState(seed)
    grid = rng.choice(4, size=(4, 8, 8), p=[0.55, 0.25, 0.15, 0.05])
    return np.eye(4, dtype=np.float32)[grid].transpose(0, 3, 1, 2).copy()
