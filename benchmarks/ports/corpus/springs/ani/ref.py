"""ANI neural network potential in PyTorch, after torchani."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
SPECIES = 3
RCR, RCA = 5.2, 3.5


def cutoff_cosine(d, rc):
    return torch.where(d <= rc, 0.5 * torch.cos(d * math.pi / rc) + 0.5, torch.zeros_like(d))


class AEVComputer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("EtaR", torch.tensor([3.0]))
        self.register_buffer("ShfR", torch.tensor([0.9, 1.6, 2.3, 3.4]))
        self.register_buffer("EtaA", torch.tensor([1.5]))
        self.register_buffer("Zeta", torch.tensor([4.0]))
        self.register_buffer("ShfA", torch.tensor([0.9, 2.0]))
        self.register_buffer("ShfZ", torch.tensor([0.4, 1.6, 2.7]))
        n = 0
        table = torch.zeros(SPECIES, SPECIES, dtype=torch.long)
        for i in range(SPECIES):
            for j in range(i, SPECIES):
                table[i, j] = table[j, i] = n
                n += 1
        self.n_pairs = n
        self.register_buffer("triu_index", table)

    def radial_terms(self, d):
        fc = cutoff_cosine(d, RCR)
        return 0.25 * torch.exp(-self.EtaR * (d.unsqueeze(-1) - self.ShfR) ** 2) * fc.unsqueeze(-1)

    def angular_terms(self, vec, d):
        cos = torch.einsum("bijc,bikc->bijk", vec, vec) / (d.unsqueeze(3) * d.unsqueeze(2)).clamp(min=1e-8)
        theta = torch.acos(0.95 * cos)
        fc = cutoff_cosine(d, RCA)
        fc = fc.unsqueeze(3) * fc.unsqueeze(2)
        mean = (d.unsqueeze(3) + d.unsqueeze(2)) / 2
        f1 = ((1 + torch.cos(theta.unsqueeze(-1) - self.ShfZ)) / 2) ** self.Zeta
        f2 = torch.exp(-self.EtaA * (mean.unsqueeze(-1) - self.ShfA) ** 2)
        out = 2 * f1.unsqueeze(-1) * f2.unsqueeze(-2) * fc.unsqueeze(-1).unsqueeze(-1)
        return out.flatten(-2)

    def forward(self, species, coords):
        b, n = species.shape
        real = species >= 0
        s = species.clamp(min=0)
        vec = coords.unsqueeze(1) - coords.unsqueeze(2)
        eye = torch.eye(n, dtype=torch.bool)
        d = torch.sqrt((vec ** 2).sum(-1) + eye.float())
        pair = real.unsqueeze(1) & real.unsqueeze(2) & ~eye
        onehot = torch.nn.functional.one_hot(s, SPECIES).float()
        radial = self.radial_terms(d) * pair.unsqueeze(-1).float()
        radial = torch.einsum("bijr,bjs->bisr", radial, onehot).flatten(2)
        upper = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        triple = pair.unsqueeze(3) & pair.unsqueeze(2) & upper
        angular = self.angular_terms(vec, d) * triple.unsqueeze(-1).float()
        kinds = self.triu_index[s.unsqueeze(2), s.unsqueeze(1)]
        kinds = torch.nn.functional.one_hot(kinds, self.n_pairs).float()
        angular = torch.einsum("bijka,bjkp->bipa", angular, kinds).flatten(2)
        return torch.cat([radial, angular], dim=-1)


class ANI(nn.Module):
    def __init__(self):
        super().__init__()
        self.aev = AEVComputer()
        d = SPECIES * 4 + self.aev.n_pairs * 6
        self.networks = nn.ModuleList([nn.Sequential(
            nn.Linear(d, 16), nn.CELU(0.1), nn.Linear(16, 8), nn.CELU(0.1), nn.Linear(8, 1))
            for _ in range(SPECIES)])
        self.self_energies = nn.Parameter(torch.empty(SPECIES))

    def forward(self, species, coords):
        aev = self.aev(species, coords)
        energy = torch.zeros_like(aev[..., 0])
        for i, net in enumerate(self.networks):
            energy = torch.where(species == i, net(aev).squeeze(-1) + self.self_energies[i], energy)
        return energy.sum(dim=1, keepdim=True)


def make():
    torch.manual_seed(13)
    m = ANI()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    species = r.randint(0, SPECIES, (5, 6)).astype("int64")
    species[1, 5] = species[3, 4] = species[3, 5] = -1
    base = np.array([[0, 0, 0], [1.1, 0, 0], [0, 1.3, 0], [0, 0, 1.2], [1.2, 1.1, .1], [.2, 1.3, 1.4]])
    return species, (base + r.randn(5, 6, 3) * 0.15).astype("float32")
