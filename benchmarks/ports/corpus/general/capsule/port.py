"""CapsNet in PyTorch: einsum for the votes, routing by agreement without a loop over capsules."""

import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


def squash(x, dim=-1):
    length2 = x.square().sum(dim=dim, keepdim=True)
    return x * length2 / ((1 + length2) * torch.sqrt(length2 + 1e-7))


class PrimaryCapsules(nn.Module):
    def __init__(self, cin, kinds, size):
        super().__init__()
        self.kinds, self.size = kinds, size
        self.conv = nn.Conv2d(cin, kinds * size, kernel_size=3, stride=2)

    def forward(self, x):
        maps = self.conv(x).flatten(2)
        capsules = maps.unflatten(1, (self.kinds, self.size)).transpose(2, 3)
        capsules = capsules.flatten(1, 2)
        return squash(capsules, dim=-1)


class Routing(nn.Module):
    """Class capsules by routing by agreement."""

    def __init__(self, n_in, size_in, n_out, size_out, iterations=3):
        super().__init__()
        self.iterations = iterations
        self.weight = nn.Parameter(torch.randn(n_in, n_out, size_in, size_out) * 0.1)

    def forward(self, u):
        votes = torch.einsum("bid,icde->bice", u, self.weight)
        logits = votes.new_zeros(votes.shape[:3])
        for _ in range(self.iterations - 1):
            out = self.combine(votes, logits)
            logits = logits + torch.einsum("bice,bce->bic", votes, out)
        return self.combine(votes, logits)

    @staticmethod
    def combine(votes, logits):
        coupling = logits.softmax(dim=2)
        mixed = torch.einsum("bic,bice->bce", coupling, votes)
        return squash(mixed, dim=2)


class CapsNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 4)
        self.primary = PrimaryCapsules(12, kinds=4, size=6)
        self.routing = Routing(36, 6, classes, 8)
        self.decoder = nn.Sequential(
            nn.Linear(classes * 8, 24), nn.ReLU(), nn.Linear(24, 100), nn.Sigmoid()
        )

    def forward(self, images):
        capsules = self.routing(self.primary(F.relu(self.stem(images))))
        lengths = torch.sqrt(capsules.square().sum(-1) + 1e-9)
        best = lengths.argmax(dim=1)
        keep = F.one_hot(best, lengths.shape[1]).to(capsules.dtype)
        return lengths, self.decoder((capsules * keep[..., None]).flatten(1))


def make(seed=50):
    torch.manual_seed(seed)
    return CapsNet().eval()


@torch.no_grad()
def load(model, reference):
    pairs = [
        (model.stem, reference.conv1),
        (model.primary.conv, reference.primary.conv),
        (model.decoder[0], reference.fc1),
        (model.decoder[2], reference.fc2),
    ]
    for module, link in pairs:
        module.weight.copy_(torch.tensor(link.W.array))
        module.bias.copy_(torch.tensor(link.b.array))
    model.routing.weight.copy_(torch.tensor(reference.digits.W.array))
