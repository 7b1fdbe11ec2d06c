"""IQN: cosine embedding of drawn taus, quantile values, quantile Huber loss."""
import math
import numpy as np, torch
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, NCOS, HID, N = 8, 4, 16, 32, 8


class TorchIQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.psi = nn.Linear(OBS, HID)
        self.phi = nn.Linear(NCOS, HID)
        self.hidden = nn.Linear(HID, HID)
        self.out = nn.Linear(HID, ACT)
        self.register_buffer("pis", math.pi * torch.arange(0, NCOS).float())

    def forward(self, obs, action, targets):
        taus = torch.rand(obs.shape[0], N)
        x = torch.relu(self.psi(obs))
        cos = torch.cos(taus.unsqueeze(-1) * self.pis)
        phi = torch.relu(self.phi(cos))
        z = self.out(torch.relu(self.hidden(x.unsqueeze(1) * phi)))
        q = z.mean(1)
        chosen = z.gather(2, action.long()[:, None, None].expand(-1, N, 1)).squeeze(-1)
        td = targets[:, None, :] - chosen[:, :, None]
        huber = torch.where(td.abs() <= 1.0, 0.5 * td ** 2, td.abs() - 0.5)
        weight = (taus[:, :, None] - (td < 0).float()).abs()
        loss = (weight * huber).sum(1).mean(1)
        return {"quantiles": z, "q": q, "loss": loss}


def make():
    torch.manual_seed(3)
    net = TorchIQN().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(2)
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 3)
    return (r.normal(size=(5, OBS)).astype("float32"), np.array([0, 3, 1, 2, 1], "int32"),
            r.normal(size=(5, 6)).astype("float32"))
