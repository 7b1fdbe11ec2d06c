"""SB3-like ActorCriticCnnPolicy: NatureCNN, MlpExtractor, DiagGaussian + Categorical heads."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Normal

FRAMEWORK = "torch"


class NatureCNN(nn.Module):
    def __init__(self, in_channels=4, features_dim=64):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(in_channels, 32, 8, stride=4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(),
            nn.Flatten(),
        )
        self.linear = nn.Sequential(nn.Linear(64 * 2 * 2, features_dim), nn.ReLU())

    def forward(self, obs):
        return self.linear(self.cnn(obs))


class MlpExtractor(nn.Module):
    def __init__(self, dim, pi=(48, 32), vf=(48, 32)):
        super().__init__()

        def stack(sizes):
            mods, last = [], dim
            for s in sizes:
                mods += [nn.Linear(last, s), nn.Tanh()]
                last = s
            return nn.Sequential(*mods)

        self.policy_net, self.value_net = stack(pi), stack(vf)

    def forward(self, features):
        return self.policy_net(features), self.value_net(features)


class TorchPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.features_extractor = NatureCNN()
        self.mlp_extractor = MlpExtractor(64)
        self.mean_net = nn.Linear(32, 3)
        self.log_std = nn.Parameter(torch.tensor([-0.5, 0.3, 0.1]))
        self.logits_net = nn.Linear(32, 5)
        self.value_net = nn.Linear(32, 1)

    def forward(self, obs, actions, choice):
        latent_pi, latent_vf = self.mlp_extractor(self.features_extractor(obs.float() / 255.0))
        gauss = Normal(self.mean_net(latent_pi), self.log_std.exp())
        cat = Categorical(logits=self.logits_net(latent_pi))
        log_prob = gauss.log_prob(actions).sum(dim=1) + cat.log_prob(choice)
        entropy = gauss.entropy().sum(dim=1) + cat.entropy()
        return {"value": self.value_net(latent_vf), "log_prob": log_prob, "entropy": entropy}


def make():
    torch.manual_seed(1)
    return TorchPolicy().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 11)
    return (r.integers(0, 256, (4, 4, 44, 44)).astype("uint8"), r.normal(size=(4, 3)).astype("float32"),
            r.integers(0, 5, 4).astype("int64"))
