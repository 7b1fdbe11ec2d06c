"""SLAC's model in PyTorch."""
import numpy as np
import torch
from torch import distributions as td
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class Gauss(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2),
            nn.Linear(32, 2 * n_out))

    def forward(self, *xs):
        mean, scale = self.net(torch.cat(xs, dim=-1)).chunk(2, dim=-1)
        return td.Normal(mean, F.softplus(scale) + 1e-3, validate_args=False)


class Encoder(nn.Module):
    """TensorFlow's SAME is asymmetric where the stride is 2, hence the pads."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.conv3 = nn.Conv2d(16, 24, 4)

    def forward(self, clip):
        b, t = clip.shape[:2]
        x = clip.flatten(0, 1).permute(0, 3, 1, 2) / 255.0 - 0.5
        x = F.leaky_relu(self.conv1(F.pad(x, (1, 2, 1, 2))), 0.2)
        x = F.leaky_relu(self.conv2(F.pad(x, (0, 1, 0, 1))), 0.2)
        x = F.leaky_relu(self.conv3(x), 0.2)
        return x.view(b, t, -1)


class LatentModel(nn.Module):
    def __init__(self, act=3, d1=8, d2=12, feat=24):
        super().__init__()
        self.encoder = Encoder()
        self.q_z1_init = Gauss(feat, d1)
        self.q_z1 = Gauss(feat + d2 + act, d1)
        self.p_z1 = Gauss(d2 + act, d1)
        self.z2_init = Gauss(d1, d2)
        self.z2 = Gauss(d1 + d2 + act, d2)
        self.r = Gauss(2 * (d1 + d2) + act, 1)

    def forward(self, clip, actions, eps1, eps2):
        feat = self.encoder(clip)
        zs = []
        kl = 0.0
        z2 = None
        for t in range(clip.shape[1]):
            if t == 0:
                q1 = self.q_z1_init(feat[:, 0])
                p1 = td.Normal(torch.zeros_like(q1.loc), torch.ones_like(q1.scale), validate_args=False)
            else:
                action = actions[:, t - 1]
                q1 = self.q_z1(feat[:, t], z2, action)
                p1 = self.p_z1(z2, action)
            kl = kl + td.kl_divergence(q1, p1).sum(-1)
            z1 = q1.loc + q1.scale * eps1[:, t]
            d2 = self.z2_init(z1) if t == 0 else self.z2(z1, z2, action)
            z2 = d2.loc + d2.scale * eps2[:, t]
            zs.append(torch.cat([z1, z2], dim=-1))
        z = torch.stack(zs, dim=1)
        reward = self.r(z[:, :-1], actions[:, :-1], z[:, 1:])
        return z, kl, reward.loc.squeeze(-1), reward.scale.squeeze(-1)


def make(seed=4):
    torch.manual_seed(seed)
    return LatentModel().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (4, 4, 16, 16, 3)).astype("float32")
    actions = np.tanh(rng.normal(size=(4, 4, 3))).astype("float32")
    return (images, actions, rng.normal(size=(4, 4, 8)).astype("float32"),
            rng.normal(size=(4, 4, 12)).astype("float32"))


@torch.no_grad()
def load(ported, original):
    to = lambda v: torch.from_numpy(v.numpy().copy())
    convs = (ported.encoder.conv1, ported.encoder.conv2, ported.encoder.conv3)
    for conv, k, b in zip(convs, original.encoder.kernels, original.encoder.biases):
        conv.weight.copy_(to(k).permute(3, 2, 0, 1))
        conv.bias.copy_(to(b))
    for ours, theirs in ((ported.q_z1_init, original.z1_first_posterior),
                         (ported.q_z1, original.z1_posterior), (ported.p_z1, original.z1_prior),
                         (ported.z2_init, original.z2_first), (ported.z2, original.z2_next),
                         (ported.r, original.reward)):
        for lin, tf_lin in zip((ours.net[0], ours.net[2], ours.net[4]), theirs.hidden + [theirs.out]):
            lin.weight.copy_(to(tf_lin.w).T)
            lin.bias.copy_(to(tf_lin.b))
