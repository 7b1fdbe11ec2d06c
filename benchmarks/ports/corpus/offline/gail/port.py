"""Torch version of the GAIL / AIRL style discriminator."""
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Discriminator(nn.Module):
    def __init__(self, obs_dim=9, n_actions=4, width=32):
        super().__init__()
        self.n_actions = n_actions
        self.register_buffer("obs_mean", torch.zeros(obs_dim))
        self.register_buffer("obs_var", torch.ones(obs_dim))
        self.fc1 = nn.Linear(2 * obs_dim + n_actions, width)
        self.fc2 = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)
        self.label_smoothing = 0.1
        self.ent_coef = 0.1

    def normalise(self, obs):
        scale = torch.rsqrt(self.obs_var + 1e-2)
        return ((obs - self.obs_mean) * scale).clamp(-3, 3)

    def score(self, obs, act, next_obs):
        both = self.normalise(torch.stack([obs, next_obs]))
        act = F.one_hot(act.long(), self.n_actions).to(obs.dtype)
        x = torch.hstack([both[0], act, both[1]])
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.out(x).flatten()

    def forward(self, obs, act, next_obs, expert, log_pi):
        logit = self.score(obs, act, next_obs) - log_pi
        target = torch.lerp(expert, torch.full_like(expert, 0.5), self.label_smoothing)
        bce = F.binary_cross_entropy_with_logits(logit, target, reduction="none")
        prob = torch.sigmoid(logit)
        entropy = -prob * F.logsigmoid(logit) - (1 - prob) * F.logsigmoid(-logit)
        loss = bce.mean() - self.ent_coef * entropy.mean()
        reward = -F.logsigmoid(-logit)
        predicted = (logit > 0).float()
        accuracy = (predicted == expert).float().mean()
        return {"reward": reward, "entropy": entropy, "bce": bce, "loss": loss,
                "accuracy": accuracy}


def make():
    return Discriminator()


def load(port, ref):
    with torch.no_grad():
        port.obs_mean.copy_(torch.tensor(ref.norm.running_mean.numpy()))
        port.obs_var.copy_(torch.tensor(ref.norm.running_var.numpy()))
        for mine, theirs in zip([port.fc1, port.fc2, port.out], ref.body.layers):
            kernel, bias = theirs.get_weights()
            mine.weight.copy_(torch.tensor(kernel.T.copy()))
            mine.bias.copy_(torch.tensor(bias))
