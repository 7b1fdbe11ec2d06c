"""SAC's actor and critics in torch, with torch.distributions."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
LOG_STD_MIN, LOG_STD_MAX = -5.0, 0.5


class Policy(nn.Module):
    def __init__(self, obs, act, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(obs, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-3)
        self.fc2 = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, 2 * act)

    def forward(self, obs):
        x = F.elu(self.fc1(obs))
        x = F.elu(self.fc2(self.norm(x)))
        mean, log_std = self.head(x).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        log_std = LOG_STD_MIN + (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1) / 2
        return Normal(mean, log_std.exp())


def mlp(*sizes):
    steps = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        steps += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*steps[:-1])


class Agent(nn.Module):
    def __init__(self, obs=11, act=3):
        super().__init__()
        self.policy = Policy(obs, act)
        self.critics = nn.ModuleList(mlp(obs + act, 32, 32, 1) for _ in range(2))
        self.alpha = 0.2
        low, high = torch.tensor([-2.0, -1.0, -0.5]), torch.tensor([2.0, 1.0, 1.5])
        self.register_buffer("scale", (high - low) / 2)
        self.register_buffer("centre", (high + low) / 2)

    def forward(self, obs):
        obs = obs.clamp(-3, 3)
        normal = self.policy(obs)
        u = normal.rsample()
        squashed = torch.tanh(u)
        action = squashed * self.scale + self.centre
        log_prob = normal.log_prob(u)
        log_prob = log_prob - torch.log(self.scale * (1 - squashed.pow(2)))
        log_prob = log_prob.sum(dim=-1)
        both = torch.cat([obs, action], dim=-1)
        q1, q2 = (critic(both).squeeze(-1) for critic in self.critics)
        q = torch.min(q1, q2)
        value = q - self.alpha * log_prob
        return {"action": action, "log_prob": log_prob, "value": value}


def make():
    return Agent()


def load(port, ref):
    def put(ours, *theirs):
        kernels = [torch.from_numpy(layer.get_weights()[0].T.copy()) for layer in theirs]
        biases = [torch.from_numpy(layer.get_weights()[1]) for layer in theirs]
        with torch.no_grad():
            ours.weight.copy_(torch.cat(kernels))
            ours.bias.copy_(torch.cat(biases))

    actor, policy = ref.actor, port.policy
    put(policy.fc1, actor.hidden[0])
    put(policy.fc2, actor.hidden[1])
    put(policy.head, actor.mu, actor.log_std)
    with torch.no_grad():
        gamma, beta = actor.norm.get_weights()
        policy.norm.weight.copy_(torch.from_numpy(gamma))
        policy.norm.bias.copy_(torch.from_numpy(beta))
    for ours, theirs in zip(port.critics, (ref.q1, ref.q2)):
        for i, dense in enumerate(theirs.net.layers):
            put(ours[2 * i], dense)
