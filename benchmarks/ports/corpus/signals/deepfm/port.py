"""DeepFM with low-rank crosses in torch; one table for all fields, with offsets."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class LowRankCross(nn.Module):
    def __init__(self, width, rank=4, experts=2):
        super().__init__()
        self.V = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(experts))
        self.C = nn.ModuleList(nn.Linear(rank, rank, bias=False) for _ in range(experts))
        self.U = nn.ModuleList(nn.Linear(rank, width, bias=False) for _ in range(experts))
        self.bias = nn.Parameter(torch.zeros(width))
        self.gate = nn.Linear(width, experts)

    def forward(self, x0, xl):
        outputs = []
        for V, C, U in zip(self.V, self.C, self.U):
            low = torch.tanh(C(torch.tanh(V(xl))))
            outputs.append(x0 * (U(low) + self.bias))
        outputs = torch.stack(outputs, dim=2)
        gates = F.softmax(self.gate(xl), dim=1).unsqueeze(2)
        return xl + torch.bmm(outputs, gates).squeeze(2)


class DeepFM(nn.Module):
    def __init__(self, field_sizes=(11, 7, 5, 13), n_dense=4, k=6, hidden=(24, 16)):
        super().__init__()
        offsets = np.array((0, *np.cumsum(field_sizes)[:-1]))
        self.register_buffer("offsets", torch.from_numpy(offsets))
        self.factors = nn.Embedding(sum(field_sizes), k)
        self.weights = nn.Embedding(sum(field_sizes), 1)
        self.numeric_factors = nn.Parameter(torch.randn(n_dense, k))
        self.numeric_linear = nn.Linear(n_dense, 1)
        width = (len(field_sizes) + n_dense) * k
        self.cross = LowRankCross(width)
        blocks = []
        for size in hidden:
            blocks += [
                nn.Linear(width, size, bias=False),
                nn.BatchNorm1d(size, eps=1e-3, momentum=0.01),
                nn.LeakyReLU(0.1),
                nn.Dropout(0.2),
            ]
            width = size
        self.deep = nn.Sequential(*blocks, nn.Linear(width, 1))

    def interactions(self, v):
        """Sum over pairs i < j of the inner product of the vectors i and j."""
        gram = torch.einsum("bik,bjk->bij", v, v)
        pairs = torch.triu_indices(v.shape[1], v.shape[1], offset=1)
        return gram[:, pairs[0], pairs[1]].sum(dim=1)

    def forward(self, categories, numbers):
        index = categories + self.offsets
        numbers = torch.log(1 + numbers.clamp(min=0))
        first_order = self.weights(index).sum(dim=1).squeeze(-1)
        first_order = first_order + self.numeric_linear(numbers).squeeze(-1)
        numeric = torch.einsum("bn,nk->bnk", numbers, self.numeric_factors)
        v = torch.cat((self.factors(index), numeric), dim=1)
        second_order = self.interactions(v)
        flat = v.flatten(start_dim=1)
        deep = self.deep(self.cross(flat, flat)).squeeze(-1)
        score = first_order + second_order + deep
        return torch.sigmoid(score).unsqueeze(-1)


def make():
    torch.manual_seed(21)
    return DeepFM().eval()


def load(port, reference):
    def t(array):
        return torch.from_numpy(np.array(array))

    with torch.no_grad():
        tables = [np.array(e.embeddings) for e in reference.embeddings]
        port.factors.weight.copy_(t(np.concatenate(tables)))
        tables = [np.array(e.embeddings) for e in reference.linears]
        port.weights.weight.copy_(t(np.concatenate(tables)))
        port.numeric_factors.copy_(t(reference.dense_factors))
        port.numeric_linear.weight.copy_(t(reference.dense_linear.kernel).T)
        port.numeric_linear.bias.copy_(t(reference.dense_linear.bias))
        for i in range(2):
            port.cross.V[i].weight.copy_(t(reference.cross.v)[i].T)
            port.cross.C[i].weight.copy_(t(reference.cross.c)[i].T)
            port.cross.U[i].weight.copy_(t(reference.cross.u)[i].T)
            port.deep[4 * i].weight.copy_(t(reference.hidden[i].kernel).T)
            norm = reference.norms[i]
            port.deep[4 * i + 1].weight.copy_(t(norm.gamma))
            port.deep[4 * i + 1].bias.copy_(t(norm.beta))
            port.deep[4 * i + 1].running_mean.copy_(t(norm.moving_mean))
            port.deep[4 * i + 1].running_var.copy_(t(norm.moving_variance))
        port.cross.bias.copy_(t(reference.cross.bias))
        port.cross.gate.weight.copy_(t(reference.cross.gate.kernel).T)
        port.cross.gate.bias.copy_(t(reference.cross.gate.bias))
        port.deep[8].weight.copy_(t(reference.out.kernel).T)
        port.deep[8].bias.copy_(t(reference.out.bias))
