"""BC-RNN with a Gaussian mixture head (Mandlekar et al., 2021: robomimic)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributions as D

FRAMEWORK = "torch"
T, SIDE, PROPRIO, ACTION, MODES, KEYPOINTS = 6, 28, 9, 7, 5, 8


class SpatialSoftmax(nn.Module):
    def __init__(self, channels, height, width):
        super().__init__()
        self.nets = nn.Conv2d(channels, KEYPOINTS, 1)
        self.temperature = nn.Parameter(torch.ones(1))
        pos_x, pos_y = np.meshgrid(np.linspace(-1.0, 1.0, width), np.linspace(-1.0, 1.0, height))
        self.register_buffer("pos_x", torch.from_numpy(pos_x.reshape(1, -1)).float())
        self.register_buffer("pos_y", torch.from_numpy(pos_y.reshape(1, -1)).float())

    def forward(self, feature):
        feature = self.nets(feature).flatten(2)
        attention = F.softmax(feature / self.temperature, dim=-1)
        x = torch.sum(self.pos_x * attention, dim=-1)
        y = torch.sum(self.pos_y * attention, dim=-1)
        return torch.stack([x, y], dim=-1)


class VisualCore(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, stride=2)
        self.gn1 = nn.GroupNorm(4, 16)
        self.conv2 = nn.Conv2d(16, 24, 3)
        self.gn2 = nn.GroupNorm(4, 24)
        self.pool = SpatialSoftmax(24, 10, 10)
        self.fc = nn.Linear(2 * KEYPOINTS, 20)

    def forward(self, image):
        h = F.relu(self.gn1(self.conv1(image)))
        h = F.relu(self.gn2(self.conv2(h)))
        return self.fc(self.pool(h).flatten(1))


class RNNGMMActor(nn.Module):
    def __init__(self, hidden=40, min_std=0.01):
        super().__init__()
        self.min_std = min_std
        self.visual = VisualCore()
        self.register_buffer("proprio_mean", torch.zeros(PROPRIO))
        self.register_buffer("proprio_std", torch.ones(PROPRIO))
        self.rnn = nn.LSTM(20 + PROPRIO, hidden, num_layers=2, batch_first=True)
        self.mean = nn.Linear(hidden, MODES * ACTION)
        self.scale = nn.Linear(hidden, MODES * ACTION)
        self.logits = nn.Linear(hidden, MODES)

    def distribution(self, image, proprio):
        b, t = image.shape[:2]
        vision = self.visual(image.flatten(0, 1) - 0.5).view(b, t, -1)
        proprio = (proprio - self.proprio_mean) / self.proprio_std
        h, _ = self.rnn(torch.cat([vision, proprio], dim=-1))
        means = torch.tanh(self.mean(h)).view(b, t, MODES, ACTION)
        scales = F.softplus(self.scale(h)).view(b, t, MODES, ACTION) + self.min_std
        component = D.Independent(D.Normal(means, scales), 1)
        return D.MixtureSameFamily(D.Categorical(logits=self.logits(h)), component)

    def forward(self, image, proprio, action):
        dist = self.distribution(image, proprio)
        return dist.log_prob(action), dist.mean


def make():
    torch.manual_seed(40)
    model = RNNGMMActor().eval()
    rng = np.random.RandomState(40)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "gn" in name and name.endswith("weight"):
                p.uniform_(0.6, 1.5)
            elif p.dim() == 1 and "temperature" not in name:
                p.normal_(0, 0.25)
        model.visual.pool.temperature.fill_(0.6)
        model.visual.pool.nets.weight.mul_(8)  # peaked, as after training
        model.visual.fc.weight.mul_(3)
        model.proprio_mean.copy_(torch.tensor(rng.randn(PROPRIO) * 0.4))
        model.proprio_std.copy_(torch.tensor(rng.uniform(0.5, 1.5, PROPRIO)))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    image = rng.rand(4, T, 3, SIDE, SIDE).astype("float32")
    proprio = rng.randn(4, T, PROPRIO).astype("float32")
    action = np.tanh(rng.randn(4, T, ACTION)).astype("float32")
    return image, proprio, action
