"""Implicit behaviour cloning, torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
IMG, N, ACT, ITERS, HID = 16, 8, 2, 3, 16
SIGMA, SHRINK = 0.33, 0.5


class ConvMaxPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.conv3 = nn.Conv2d(12, 16, 3, stride=2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        # "same" for stride 2 on an even size pads on the right and below only
        x = self.conv3(F.pad(x, (0, 1, 0, 1)))
        x = F.leaky_relu(x, 0.3)
        return x.mean(dim=(2, 3))


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1 = nn.LayerNorm(width, eps=1e-3)
        self.fc1 = nn.Linear(width, width)
        self.ln2 = nn.LayerNorm(width, eps=1e-3)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        h = self.fc1(self.ln1(x).relu())
        h = self.fc2(self.ln2(h).relu())
        return x + h


class ImplicitPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = ConvMaxPool()
        self.inp = nn.Linear(16 + ACT, HID)
        self.blocks = nn.Sequential(ResBlock(HID), ResBlock(HID))
        self.out = nn.Linear(HID, 1)

    def energy(self, feat, actions):
        obs = feat[:, None].expand(-1, actions.shape[1], -1)
        x = self.inp(torch.cat([obs, actions], -1))
        return self.out(self.blocks(x)).squeeze(-1)

    def forward(self, image, candidates, noise):
        feat = self.encoder(image)
        actions = candidates
        sigma = SIGMA
        for k in range(noise.shape[1]):
            e = self.energy(feat, actions)
            idx = torch.topk(e, actions.shape[1] // 2, dim=1, largest=False).indices
            elites = actions.gather(1, idx.unsqueeze(-1).expand(-1, -1, ACT))
            elites = elites.repeat(1, 2, 1)
            actions = (elites + sigma * noise[:, k]).clamp(-1, 1)
            sigma *= SHRINK
        e = self.energy(feat, actions)
        probs = torch.softmax(-e, dim=1)
        action = torch.einsum("bn,bna->ba", probs, actions)
        return action, e, probs


def make():
    torch.manual_seed(9)
    model = ImplicitPolicy()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    image = rng.rand(4, IMG, IMG, 3).astype(np.float32)
    return (np.ascontiguousarray(image.transpose(0, 3, 1, 2)),
            rng.uniform(-1, 1, (4, N, ACT)).astype(np.float32),
            rng.randn(4, ITERS, N, ACT).astype(np.float32))


@torch.no_grad()
def load(ported, original):
    def t(v):
        return torch.from_numpy(np.array(v.numpy()))

    def dense(dst, src):
        dst.weight.copy_(t(src.kernel).T)
        dst.bias.copy_(t(src.bias))

    def norm(dst, src):
        dst.weight.copy_(t(src.gamma))
        dst.bias.copy_(t(src.beta))

    for name in ("conv1", "conv2", "conv3"):
        src, dst = original.get_layer(name), getattr(ported.encoder, name)
        dst.weight.copy_(t(src.kernel).permute(3, 2, 0, 1))
        dst.bias.copy_(t(src.bias))
    net = original.get_layer("energy_net")
    dense(ported.inp, net.inp)
    for blk, (ln1, d1, ln2, d2) in zip(ported.blocks, net.blocks):
        norm(blk.ln1, ln1)
        dense(blk.fc1, d1)
        norm(blk.ln2, ln2)
        dense(blk.fc2, d2)
    dense(ported.out, net.energy)
