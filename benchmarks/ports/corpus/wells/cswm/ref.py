"""C-SWM: contrastively trained structured world model (objects + GNN transition)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
K, A, Z, HID, SIGMA, HINGE = 4, 3, 4, 16, 0.5, 12.0


def unsorted_segment_sum(tensor, segment_ids, num_segments):
    result = tensor.new_zeros((num_segments, tensor.size(1)))
    segment_ids = segment_ids.unsqueeze(-1).expand(-1, tensor.size(1))
    return result.scatter_add(0, segment_ids, tensor)


class EncoderCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn1 = nn.Conv2d(3, 8, 5, stride=5)
        self.ln1 = nn.BatchNorm2d(8)
        self.act1 = nn.LeakyReLU()
        self.cnn2 = nn.Conv2d(8, K, 1)

    def forward(self, obs):
        h = self.act1(self.ln1(self.cnn1(obs)))
        return torch.sigmoid(self.cnn2(h))


class EncoderMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(16, HID), nn.Linear(HID, HID), nn.Linear(HID, Z)
        self.ln = nn.LayerNorm(HID)

    def forward(self, ins):
        h = ins.view(-1, K, 16)
        h = torch.relu(self.fc1(h))
        h = torch.relu(self.ln(self.fc2(h)))
        return self.fc3(h)


class TransitionGNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge_mlp = nn.Sequential(nn.Linear(2 * Z, HID), nn.ReLU(), nn.Linear(HID, HID),
                                      nn.LayerNorm(HID), nn.ReLU(), nn.Linear(HID, HID))
        self.node_mlp = nn.Sequential(nn.Linear(HID + Z + A, HID), nn.ReLU(), nn.Linear(HID, HID),
                                      nn.LayerNorm(HID), nn.ReLU(), nn.Linear(HID, Z))

    def edges(self, batch):
        adj = torch.ones(K, K) - torch.eye(K)
        e = adj.nonzero()
        off = torch.arange(0, batch * K, K).repeat_interleave(e.size(0)).unsqueeze(-1)
        return (e.repeat(batch, 1) + off).t()

    def forward(self, states, action):
        b = states.size(0)
        node = states.view(-1, Z)
        row, col = self.edges(b)
        edge = self.edge_mlp(torch.cat([node[row], node[col]], dim=1))
        agg = unsorted_segment_sum(edge, row, node.size(0))
        act = action.view(-1, A)
        out = self.node_mlp(torch.cat([node, act, agg], dim=-1))
        return out.view(b, K, Z)


class ContrastiveSWM(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor, self.encoder, self.transition = EncoderCNN(), EncoderMLP(), TransitionGNN()

    def energy(self, state, action, next_state, no_trans=False):
        norm = 0.5 / (SIGMA ** 2)
        if no_trans:
            diff = state - next_state
        else:
            diff = state + self.transition(state, action) - next_state
        return norm * diff.pow(2).sum(2).mean(1)

    def forward(self, obs, action, next_obs):
        state = self.encoder(self.extractor(obs))
        next_state = self.encoder(self.extractor(next_obs))
        neg_state = torch.roll(state, 1, dims=0)
        pos = self.energy(state, action, next_state)
        neg = torch.clamp(HINGE - self.energy(state, action, neg_state, no_trans=True), min=0.0)
        return pos + neg, state, state + self.transition(state, action)


def make():
    g = torch.Generator().manual_seed(61)
    m = ContrastiveSWM().eval()
    with torch.no_grad():
        for n, t in list(m.named_parameters()) + list(m.named_buffers()):
            if "num_batches" in n:
                continue
            r = torch.randn(t.shape, generator=g)
            if "running_var" in n:
                t.copy_(0.6 + torch.rand(t.shape, generator=g))
            elif t.ndim == 1 and n.endswith("weight"):
                t.copy_(1 + 0.2 * r)
            elif t.ndim == 1:
                t.copy_(0.2 * r)
            else:
                t.copy_(1.3 * r / np.sqrt(t[0].numel()))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    o = r.normal(size=(2, 4, 3, 20, 20)).astype("float32")
    a = np.zeros((4, K * A), "float32")
    a[np.arange(4), r.integers(0, K * A, 4)] = 1
    return o[0], a, o[1]
