"""MuZero's three networks on small board-like planes, unrolled for a few actions."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"

PLANES = 4
BOARD = 5
CHANNELS = 12
NUM_ACTIONS = 6
SUPPORT = 10
UNROLL = 3


def conv3x3(cin, cout):
    return nn.Conv2d(cin, cout, kernel_size=3, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = conv3x3(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + x)


def scale_state(s):
    """Scales each sample's hidden state to [0, 1]."""
    flat = s.flatten(1)
    low = flat.min(dim=1)[0][:, None, None, None]
    high = flat.max(dim=1)[0][:, None, None, None]
    span = high - low
    span = torch.where(span < 1e-5, span + 1e-5, span)
    return (s - low) / span


def support_to_scalar(logits, support=SUPPORT, eps=0.001):
    """Expectation over the support, then the inverse of h(x) (appendix F)."""
    probs = torch.softmax(logits, dim=1)
    atoms = torch.arange(-support, support + 1, dtype=probs.dtype, device=probs.device)
    x = (probs * atoms).sum(dim=1, keepdim=True)
    root = torch.sqrt(1 + 4 * eps * (torch.abs(x) + 1 + eps))
    # (root - 1) / (2 eps), written so that float32 does not cancel
    inner = 2 * (torch.abs(x) + 1 + eps) / (root + 1)
    return torch.sign(x) * (inner**2 - 1)


class Head(nn.Module):
    def __init__(self, reduced, hidden, out):
        super().__init__()
        self.conv = nn.Conv2d(CHANNELS, reduced, 1)
        self.fc1 = nn.Linear(reduced * BOARD * BOARD, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        return self.fc2(F.elu(self.fc1(x)))


class Representation(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = conv3x3(PLANES, CHANNELS)
        self.bn = nn.BatchNorm2d(CHANNELS)
        self.block = ResidualBlock(CHANNELS)

    def forward(self, obs):
        return scale_state(self.block(F.relu(self.bn(self.conv(obs)))))


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = conv3x3(CHANNELS + 1, CHANNELS)
        self.bn = nn.BatchNorm2d(CHANNELS)
        self.block = ResidualBlock(CHANNELS)
        self.reward = Head(4, 16, 2 * SUPPORT + 1)

    def forward(self, state, action):
        b, _, h, w = state.shape
        plane = torch.ones(b, 1, h, w, dtype=state.dtype, device=state.device)
        plane = plane * action.view(b, 1, 1, 1) / NUM_ACTIONS
        x = torch.cat((state, plane), dim=1)
        x = self.block(F.relu(self.bn(self.conv(x))))
        return scale_state(x), self.reward(x)


class MuZeroNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.representation = Representation()
        self.dynamics = Dynamics()
        self.policy = Head(4, 16, NUM_ACTIONS)
        self.value = Head(4, 16, 2 * SUPPORT + 1)

    def predict(self, state):
        return torch.log_softmax(self.policy(state), dim=1), support_to_scalar(self.value(state))

    def forward(self, observation, actions):
        state = self.representation(observation)
        policy, value = self.predict(state)
        policies, values, rewards = [policy], [value], []
        for k in range(actions.shape[1]):
            state, reward = self.dynamics(state, actions[:, k])
            policy, value = self.predict(state)
            policies.append(policy)
            values.append(value)
            rewards.append(support_to_scalar(reward))
        return torch.stack(policies, 1), torch.cat(values, 1), torch.cat(rewards, 1)


def make(seed=0):
    torch.manual_seed(seed)
    net = MuZeroNet()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(m.weight, 0.7, 1.3)
            nn.init.normal_(m.bias, 0, 0.1)
        elif isinstance(m, Head):
            nn.init.normal_(m.conv.bias, 0.2, 0.1)
    with torch.no_grad():
        net.value.fc2.weight.mul_(8)
        net.dynamics.reward.fc2.weight.mul_(8)
    return net.eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(6, PLANES, BOARD, BOARD)).astype(np.float32)
    obs *= rng.uniform(0.5, 2.0, size=(6, 1, 1, 1)).astype(np.float32)
    actions = rng.integers(0, NUM_ACTIONS, size=(6, UNROLL)).astype(np.int64)
    return obs, actions
