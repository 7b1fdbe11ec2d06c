"""Rapid Motor Adaptation (Kumar et al., 2021): teacher with privileged factors, student with a history."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
N_OBS, N_ACT, N_ENV, N_Z, HISTORY = 30, 12, 17, 8, 50


class EnvFactorEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_ENV, 64), nn.ELU(), nn.Linear(64, 32), nn.ELU(), nn.Linear(32, N_Z), nn.Tanh())

    def forward(self, e):
        return self.net(e)


class AdaptationModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(N_OBS + N_ACT, 32)
        self.convs = nn.Sequential(
            nn.Conv1d(32, 32, 8, stride=4), nn.LeakyReLU(0.2),
            nn.Conv1d(32, 32, 5, stride=1), nn.LeakyReLU(0.2),
            nn.Conv1d(32, 32, 5, stride=1), nn.LeakyReLU(0.2),
        )
        self.out = nn.Linear(32 * 3, N_Z)

    def forward(self, history):
        x = torch.relu(self.embed(history))
        x = self.convs(x.transpose(1, 2))
        return torch.tanh(self.out(x.flatten(1)))


class BasePolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(N_OBS + N_ACT + N_Z, 128)
        self.fc2 = nn.Linear(128, 64)
        self.mean = nn.Linear(64, N_ACT)

    def forward(self, obs, last_action, z):
        x = torch.cat([obs, last_action, z], dim=-1)
        x = nn.functional.elu(self.fc1(x))
        x = nn.functional.elu(self.fc2(x))
        return self.mean(x)


class RMA(nn.Module):
    """obs = [gravity 3, commands 3, joint position 12, joint velocity 12]."""

    def __init__(self):
        super().__init__()
        self.register_buffer("obs_mean", torch.zeros(N_OBS))
        self.register_buffer("obs_var", torch.ones(N_OBS))
        self.register_buffer("default_pose", torch.zeros(N_ACT))
        self.encoder = EnvFactorEncoder()
        self.adapt = AdaptationModule()
        self.policy = BasePolicy()
        self.kp, self.kd, self.action_scale = 20.0, 0.5, 0.25

    def normalize(self, obs):
        return ((obs - self.obs_mean) / torch.sqrt(self.obs_var + 1e-8)).clamp(-5, 5)

    def torque(self, obs, action):
        position, velocity = obs[:, 6:18], obs[:, 18:30]
        target = self.default_pose + self.action_scale * action
        return (self.kp * (target - position) - self.kd * velocity).clamp(-23.5, 23.5)

    def forward(self, obs, last_action, env, past_obs, past_actions):
        x = self.normalize(obs)
        z = self.encoder(env)
        history = torch.cat([self.normalize(past_obs), past_actions], dim=-1)
        z_hat = self.adapt(history)
        teacher = self.policy(x, last_action, z)
        student = self.policy(x, last_action, z_hat)
        regression = ((z_hat - z.detach()) ** 2).mean(dim=-1)
        return self.torque(obs, teacher), self.torque(obs, student), regression


def make():
    torch.manual_seed(0)
    model = RMA()
    rng = np.random.RandomState(17)
    for p in model.parameters():
        fan = int(np.prod(p.shape[1:])) if p.dim() > 1 else 0
        value = rng.randn(*p.shape) * (1.2 / np.sqrt(fan) if fan else 0.2)
        p.data = torch.tensor(value, dtype=torch.float32)
    model.obs_mean.copy_(torch.tensor(rng.randn(N_OBS) * 0.3))
    model.obs_var.copy_(torch.tensor(rng.uniform(0.3, 2.5, N_OBS)))
    model.default_pose.copy_(torch.tensor(rng.uniform(-0.8, 0.8, N_ACT)))
    return model.eval()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    b = 6
    return tuple(a.astype("float32") for a in (
        rng.randn(b, N_OBS) * 0.6, rng.randn(b, N_ACT) * 0.5, rng.uniform(-1, 1, (b, N_ENV)),
        rng.randn(b, HISTORY, N_OBS) * 0.6, rng.randn(b, HISTORY, N_ACT) * 0.5))
