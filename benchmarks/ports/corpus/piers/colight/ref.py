"""CoLight: graph attention over neighbouring intersections for traffic light control."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
AGENTS, LANES, PHASES, NEIGHBOURS, WIDTH, HEADS, DIM = 6, 8, 4, 3, 16, 3, 5
# the lanes that have green in each phase
GREEN = [[0, 4], [1, 5], [2, 6], [3, 7]]


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2 * LANES + PHASES, WIDTH)
        self.fc2 = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


class MultiHeadsAttModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent = nn.Linear(WIDTH, DIM * HEADS)
        self.neighbour = nn.Linear(WIDTH, DIM * HEADS)
        self.hidden = nn.Linear(WIDTH, DIM * HEADS)
        self.out = nn.Linear(DIM, WIDTH)

    def forward(self, h, adjacency):
        b, n, _ = h.shape
        k = adjacency.size(2)
        near = torch.matmul(adjacency, h.unsqueeze(1))  # (b, n, k, width)
        query = F.relu(self.agent(h)).view(b, n, 1, DIM, HEADS).permute(0, 1, 4, 2, 3)
        key = F.relu(self.neighbour(near)).view(b, n, k, DIM, HEADS).permute(0, 1, 4, 2, 3)
        value = F.relu(self.hidden(near)).view(b, n, k, DIM, HEADS).permute(0, 1, 4, 2, 3)
        att = F.softmax(torch.matmul(query, key.transpose(-1, -2)), dim=-1)
        out = torch.matmul(att, value).mean(dim=2).squeeze(2)
        return F.relu(self.out(out)), att.squeeze(3)


class CoLight(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embedding()
        self.att = nn.ModuleList([MultiHeadsAttModel(), MultiHeadsAttModel()])
        self.value = nn.Linear(WIDTH, 1)
        self.advantage = nn.Linear(WIDTH, PHASES)
        self.pressure_scale = nn.Parameter(torch.tensor(0.35))

    def forward(self, incoming, outgoing, phase, adjacency):
        h = self.embedding(torch.cat([torch.log1p(incoming), outgoing / 10.0, phase], dim=-1))
        attention = []
        for layer in self.att:
            h, a = layer(h, adjacency)
            attention.append(a)
        advantage = self.advantage(h)
        q = self.value(h) + advantage - advantage.mean(-1, keepdim=True)
        pressure = incoming - outgoing
        phase_pressure = torch.stack([pressure[..., lanes].sum(-1) for lanes in GREEN], dim=-1)
        q = q + self.pressure_scale * phase_pressure / LANES
        return q, torch.stack(attention, dim=1)


def make():
    torch.manual_seed(17)
    net = CoLight()
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 1.3 / m.in_features ** 0.5)
            nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    eye = np.eye(AGENTS)
    adjacency = np.stack([np.stack([eye[np.concatenate([[i], rng.choice(
        [j for j in range(AGENTS) if j != i], NEIGHBOURS, replace=False)])] for i in range(AGENTS)])
        for _ in range(b)])
    phase = np.eye(PHASES)[rng.integers(0, PHASES, (b, AGENTS))]
    return tuple(a.astype("float32") for a in (
        rng.gamma(2.0, 2.0, (b, AGENTS, LANES)), rng.gamma(2.0, 2.0, (b, AGENTS, LANES)), phase, adjacency))
