"""The particle simulator in torch."""
import torch
from torch import nn

FRAMEWORK = "torch"
RADIUS, DT = 0.9, 0.1


def build_mlp(inputs, hidden, outputs, norm=True):
    parts = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)]
    if norm:
        parts.append(nn.LayerNorm(outputs))
    return nn.Sequential(*parts)


class InteractionNetwork(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.edge_fn = build_mlp(3 * latent, latent, latent)
        self.node_fn = build_mlp(2 * latent, latent, latent)

    def forward(self, x, e, edge_index):
        j, i = edge_index  # source, target
        m = self.edge_fn(torch.cat([e, x[j], x[i]], dim=-1))
        aggregated = torch.zeros_like(x).index_add(0, i, m)
        dx = self.node_fn(torch.cat([x, aggregated], dim=-1))
        return x + dx, e + m


class Simulator(nn.Module):
    def __init__(self, latent=16, steps=2, dim=2, n_types=3):
        super().__init__()
        self.embedding = nn.Embedding(n_types, 3)
        self.encode_nodes = build_mlp(3 * dim + 3, latent, latent)
        self.encode_edges = build_mlp(dim + 1, latent, latent)
        self.processor = nn.ModuleList([InteractionNetwork(latent) for _ in range(steps)])
        self.decode = build_mlp(latent, latent, dim, norm=False)

    def features(self, position, velocity, kind, edge_index):
        walls = torch.cat([position + 1, 1 - position], dim=-1) / RADIUS
        x = torch.cat([velocity, walls.clamp(-1, 1), self.embedding(kind)], dim=-1)
        j, i = edge_index
        displacement = (position[j] - position[i]) / RADIUS
        length = displacement.norm(dim=-1, keepdim=True)
        return x, torch.cat([displacement, length], dim=-1)

    def forward(self, position, velocity, kind, senders, receivers):
        edge_index = senders, receivers
        x, e = self.features(position, velocity, kind, edge_index)
        x = self.encode_nodes(x)
        e = self.encode_edges(e)
        for layer in self.processor:
            x, e = layer(x, e, edge_index)
        acceleration = self.decode(x)
        # semi-implicit Euler
        velocity = velocity + DT * acceleration
        position = position + DT * velocity
        energy = velocity.pow(2).sum() / 2
        return position, velocity, acceleration, energy


def make():
    torch.manual_seed(0)
    return Simulator()


@torch.no_grad()
def load(model, reference):
    def put(sequential, mlp):
        linears = [m for m in sequential if isinstance(m, nn.Linear)]
        for linear, w, b in zip(linears, mlp.ws, mlp.bs):
            linear.weight.copy_(torch.from_numpy(w.numpy().T.copy()))
            linear.bias.copy_(torch.from_numpy(b.numpy()))
        if mlp.scale is not None:
            sequential[-1].weight.copy_(torch.from_numpy(mlp.scale.numpy()))
            sequential[-1].bias.copy_(torch.from_numpy(mlp.offset.numpy()))

    put(model.encode_nodes, reference.node_encoder)
    put(model.encode_edges, reference.edge_encoder)
    put(model.decode, reference.decoder)
    for layer, edge, node in zip(model.processor, reference.edge_nets, reference.node_nets):
        put(layer.edge_fn, edge)
        put(layer.node_fn, node)
    model.embedding.weight.copy_(torch.from_numpy(reference.types.numpy()))
