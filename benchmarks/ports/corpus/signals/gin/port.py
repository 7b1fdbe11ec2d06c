"""The graph isomorphism network as functions over a state dict: dense incidence matrices, torch."""

import torch
import torch.nn.functional as F

import ref as original

FRAMEWORK = "torch"
MODE = "train"
GRAPHS, LAYERS = 4, 3


def one_hot(index, size, dtype):
    return (index[:, None] == torch.arange(size)[None, :]).to(dtype)


def batch_standardise(h, weight, bias, eps=1e-5):
    centred = h - h.mean(0)
    return centred * torch.rsqrt((centred**2).mean(0) + eps) * weight + bias


class DenseGIN(torch.nn.Module):
    """Takes the state dict of the original as its parameters."""

    def __init__(self, state):
        super().__init__()
        self.names = {name: name.replace(".", "_") for name in state if "num_batches" not in name}
        for name, flat in self.names.items():
            if "running" not in name:
                self.register_parameter(flat, torch.nn.Parameter(state[name].detach().clone()))

    def p(self, name):
        return getattr(self, self.names[name])

    def linear(self, x, name):
        return x @ self.p(name + ".weight").T + self.p(name + ".bias")

    def norm(self, x, name):
        return batch_standardise(x, self.p(name + ".weight"), self.p(name + ".bias"))

    def convolve(self, x, senders, receivers, bonds, i):
        at = f"convs.{i}."
        edge = bonds @ self.p(at + "bond.weight")
        messages = (senders @ x + edge).clamp(min=0)
        combined = x + self.p(at + "eps") * x + receivers.T @ messages
        hidden = self.norm(self.linear(combined, at + "mlp.0"), at + "mlp.1")
        return self.linear(hidden.clamp(min=0), at + "mlp.3")

    def forward(self, atoms, edge_index, bonds, graph):
        dtype = self.p("atom.weight").dtype
        nodes = atoms.shape[0]
        senders = one_hot(edge_index[0], nodes, dtype)
        receivers = one_hot(edge_index[1], nodes, dtype)
        bonds = one_hot(bonds, 4, dtype)
        member = one_hot(graph, GRAPHS, dtype)
        averaging = member / member.sum(0, keepdim=True)

        x = one_hot(atoms, 7, dtype) @ self.p("atom.weight")
        virtual = self.p("virtual.weight").repeat(GRAPHS, 1)
        readouts = [averaging.T @ x]
        for i in range(LAYERS):
            x = x + member @ virtual
            h = self.norm(self.convolve(x, senders, receivers, bonds, i), f"norms.{i}")
            if i + 1 < LAYERS:
                h = F.relu(h)
                pooled = member.T @ x + virtual
                virtual = virtual + F.relu(self.linear(pooled, "virtual_mlp.0"))
            x = x + h
            readouts.append(averaging.T @ x)
        scores = [self.linear(r, f"heads.{i}") for i, r in enumerate(readouts)]
        return torch.stack(scores).sum(0)


def make():
    torch.manual_seed(77)
    return DenseGIN(original.GIN().state_dict())


def load(port, reference):
    state = reference.state_dict()
    with torch.no_grad():
        for name, flat in port.names.items():
            if "running" not in name:
                getattr(port, flat).copy_(state[name])
