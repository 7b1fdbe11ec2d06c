"""Option-critic (Bacon et al., 2017) from pixels: option values, terminations, intra-option policies."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class Config:
    frames = 2
    size = 16
    options = 4
    actions = 5
    hidden = 32
    temperature = 0.8
    epsilon = 0.1
    gamma = 0.95
    deliberation_cost = 0.02


def conv_out(size, kernel, stride):
    return (size - kernel) // stride + 1


class Features(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        side = conv_out(conv_out(cfg.size, 4, 2), 3, 1)
        self.conv1 = nn.Conv2d(cfg.frames, 6, 4, stride=2)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8 * side * side, cfg.hidden)

    def forward(self, obs):
        x = obs.float() / 255.0
        x = F.relu(self.conv1(x))
        x = F.relu(self.norm(self.conv2(x)))
        return F.relu(self.fc(x.flatten(1)))


class OptionCritic(nn.Module):
    def __init__(self, cfg=Config):
        super().__init__()
        self.cfg = cfg
        self.features = Features(cfg)
        self.Q = nn.Linear(cfg.hidden, cfg.options)
        self.terminations = nn.Linear(cfg.hidden, cfg.options)
        self.options_W = nn.Parameter(torch.randn(cfg.options, cfg.hidden, cfg.actions) * 0.3)
        self.options_b = nn.Parameter(torch.randn(cfg.options, cfg.actions) * 0.3)

    def action_logits(self, state, option):
        logits = torch.bmm(state.unsqueeze(1), self.options_W[option]).squeeze(1)
        logits = logits + self.options_b[option]
        return logits / self.cfg.temperature

    def beta(self, state, option):
        logit = self.terminations(state).gather(1, option.unsqueeze(1)).squeeze(1)
        return logit.sigmoid()

    def state_value(self, q):
        """Value of an epsilon-greedy policy over options."""
        eps = self.cfg.epsilon
        return (1 - eps) * q.max(dim=-1)[0] + eps * q.mean(dim=-1)

    def forward(self, obs, next_obs, option, action, reward, done):
        cfg = self.cfg
        state, next_state = self.features(obs), self.features(next_obs)
        q, next_q = self.Q(state), self.Q(next_state)
        q_option = q.gather(1, option.unsqueeze(1)).squeeze(1)
        next_q_option = next_q.gather(1, option.unsqueeze(1)).squeeze(1)
        next_beta = self.beta(next_state, option)

        # one-step off-policy target
        next_value = self.state_value(next_q)
        continuation = (1 - next_beta) * next_q_option + next_beta * next_value
        target = reward + (1 - done) * cfg.gamma * continuation

        logp = self.action_logits(state, option).log_softmax(dim=-1)
        entropy = -(logp.exp() * logp).sum(dim=-1)
        logp_action = logp.gather(1, action.unsqueeze(1)).squeeze(1)
        advantage = next_q_option - next_value + cfg.deliberation_cost

        losses = {
            "td": 0.5 * F.mse_loss(q_option, target, reduction="none"),
            "termination": next_beta * advantage * (1 - done),
            "actor": -logp_action * (target - q_option) - 0.01 * entropy,
        }
        return {"q": q, "beta": next_beta, "log_policy": logp, **losses}


def make(seed=0):
    torch.manual_seed(seed)
    model = OptionCritic()
    nn.init.normal_(model.features.norm.weight, 1.0, 0.2)
    nn.init.normal_(model.features.norm.bias, 0.0, 0.2)
    return model.eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, c = 6, Config
    obs = rng.integers(0, 256, size=(2, b, c.frames, c.size, c.size), dtype=np.uint8)
    option = rng.integers(0, c.options, size=b).astype(np.int64)
    action = rng.integers(0, c.actions, size=b).astype(np.int64)
    reward = rng.normal(size=b).astype(np.float32)
    done = np.zeros(b, np.float32)
    done[2] = 1
    return obs[0], obs[1], option, action, reward, done
