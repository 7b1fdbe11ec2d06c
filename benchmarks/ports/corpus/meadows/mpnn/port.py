"""Message passing with an edge network and Set2Set, in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
N_ATOMS, ATOM_DIM, BOND_DIM, DIM = 7, 8, 4, 12


class EdgeMessages(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(BOND_DIM, 16), nn.ReLU(), nn.Linear(16, DIM * DIM))
        self.bias = nn.Parameter(torch.zeros(DIM))

    def forward(self, nodes, bonds, adjacency):
        matrices = self.network(bonds).unflatten(-1, (DIM, DIM))
        matrices = matrices * adjacency[..., None, None]
        return torch.einsum("bvwij,bwj->bvi", matrices, nodes) + self.bias


class Set2Set(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.cell = nn.LSTMCell(2 * DIM, DIM)

    def forward(self, nodes, present):
        batch = nodes.shape[0]
        query = nodes.new_zeros(batch, DIM)
        cell = nodes.new_zeros(batch, DIM)
        summary = nodes.new_zeros(batch, 2 * DIM)
        for _ in range(self.steps):
            query, cell = self.cell(summary, (query, cell))
            scores = torch.bmm(nodes, query.unsqueeze(2)).squeeze(2)
            scores = scores.masked_fill(~present, float("-inf"))
            attention = scores.softmax(dim=1)
            read = torch.bmm(attention.unsqueeze(1), nodes).squeeze(1)
            summary = torch.cat([query, read], dim=1)
        return summary


class MoleculeNet(nn.Module):
    def __init__(self, rounds=3, steps=3):
        super().__init__()
        self.rounds = rounds
        self.embed = nn.Linear(ATOM_DIM, DIM)
        self.messages = EdgeMessages()
        self.gru = nn.GRUCell(DIM, DIM)
        self.readout = Set2Set(steps)
        self.regress = nn.Sequential(nn.Linear(2 * DIM, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, atoms, bonds, adjacency, mask):
        gate = mask.unsqueeze(-1)
        nodes = torch.tanh(self.embed(atoms)) * gate
        for _ in range(self.rounds):
            message = self.messages(nodes, bonds, adjacency)
            flat = self.gru(message.flatten(0, 1), nodes.flatten(0, 1))
            nodes = flat.view_as(nodes) * gate
        return self.regress(self.readout(nodes, mask > 0))


def make(seed=1):
    torch.manual_seed(seed)
    return MoleculeNet().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.array([7, 5, 4, 6])
    mask = (np.arange(N_ATOMS)[None] < sizes[:, None]).astype("float32")
    atoms = rng.normal(size=(4, N_ATOMS, ATOM_DIM)).astype("float32") * mask[..., None]
    upper = np.triu(rng.uniform(size=(4, N_ATOMS, N_ATOMS)) < 0.45, 1)
    adjacency = (upper | upper.transpose(0, 2, 1)).astype("float32")
    adjacency = adjacency * mask[:, :, None] * mask[:, None, :]
    bonds = rng.uniform(size=(4, N_ATOMS, N_ATOMS, BOND_DIM)).astype("float32")
    bonds = (bonds + bonds.transpose(0, 2, 1, 3)) / 2 * adjacency[..., None]
    return atoms, bonds.astype("float32"), adjacency, mask


@torch.no_grad()
def load(ported, original):
    def t(variable):
        return torch.from_numpy(variable.numpy().copy())

    def linear(module, w, b):
        module.weight.copy_(t(w).T)
        module.bias.copy_(t(b))

    def rzn(x):  # z, r, n -> torch's r, z, n
        z, r, n = x.chunk(3, dim=-1)
        return torch.cat([r, z, n], dim=-1)

    linear(ported.embed, original.w_in, original.b_in)
    linear(ported.messages.network[0], original.w_edge1, original.b_edge1)
    linear(ported.messages.network[2], original.w_edge2, original.b_edge2)
    ported.messages.bias.copy_(t(original.message_bias))
    ported.gru.weight_ih.copy_(rzn(t(original.gru_w)).T)
    ported.gru.weight_hh.copy_(rzn(t(original.gru_u)).T)
    ported.gru.bias_ih.copy_(rzn(t(original.gru_bw)))
    ported.gru.bias_hh.copy_(rzn(t(original.gru_bu)))
    cell = ported.readout.cell
    cell.weight_ih.copy_(t(original.lstm_w).T)
    cell.weight_hh.copy_(t(original.lstm_u).T)
    cell.bias_ih.copy_(t(original.lstm_b))
    cell.bias_hh.zero_()
    linear(ported.regress[0], original.w_out1, original.b_out1)
    linear(ported.regress[2], original.w_out2, original.b_out2)
