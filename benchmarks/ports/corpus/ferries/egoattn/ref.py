"""Ego-attention driving policy (highway-env / rl-agents), attention and LSTM written by hand."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VEH, FEATS, DIM, HEADS, ACTIONS, STEPS = 6, 7, 16, 4, 5, 3


def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / np.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    p_attn = F.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn


class MultiLayerPerceptron(nn.Module):
    def __init__(self, in_size, sizes):
        super().__init__()
        dims = [in_size] + sizes
        self.layers = nn.ModuleList([nn.Linear(dims[i], dims[i + 1]) for i in range(len(dims) - 1)])

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class EgoAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.features_per_head = DIM // HEADS
        self.value_all = nn.Linear(DIM, DIM, bias=False)
        self.key_all = nn.Linear(DIM, DIM, bias=False)
        self.query_ego = nn.Linear(DIM, DIM, bias=False)
        self.attention_combine = nn.Linear(DIM, DIM, bias=False)

    def forward(self, ego, others, mask):
        batch = others.shape[0]
        n = others.shape[1] + 1
        input_all = torch.cat((ego.view(batch, 1, DIM), others), dim=1)
        key_all = self.key_all(input_all).view(batch, n, HEADS, self.features_per_head)
        value_all = self.value_all(input_all).view(batch, n, HEADS, self.features_per_head)
        query_ego = self.query_ego(ego).view(batch, 1, HEADS, self.features_per_head)
        key_all = key_all.permute(0, 2, 1, 3)
        value_all = value_all.permute(0, 2, 1, 3)
        query_ego = query_ego.permute(0, 2, 1, 3)
        mask = mask.view((batch, 1, 1, n)).repeat((1, HEADS, 1, 1))
        value, attention_matrix = attention(query_ego, key_all, value_all, mask)
        value = value.permute(0, 2, 1, 3).reshape(batch, DIM)
        result = (self.attention_combine(value) + ego.squeeze(1)) / 2
        return result, attention_matrix


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.ih = nn.Linear(DIM, 4 * DIM)
        self.hh = nn.Linear(DIM, 4 * DIM)

    def forward(self, xs):
        h = torch.zeros(xs.shape[0], DIM)
        c = torch.zeros(xs.shape[0], DIM)
        for t in range(xs.shape[1]):
            i, f, g, o = (self.ih(xs[:, t]) + self.hh(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class EgoAttentionNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.ego_embedding = MultiLayerPerceptron(FEATS, [16, DIM])
        self.others_embedding = MultiLayerPerceptron(FEATS, [16, DIM])
        self.attention_layer = EgoAttention()
        self.memory = LSTM()
        self.value = nn.Linear(DIM, 1)
        self.advantage = nn.Linear(DIM, ACTIONS)

    def split_input(self, x):
        ego = x[:, 0:1, :]
        others = x[:, 1:, :]
        mask = x[:, :, 0] < 0.5
        return ego, others, mask

    def forward(self, x):
        b, s = x.shape[:2]
        x = x.reshape(b * s, VEH, FEATS)
        ego, others, mask = self.split_input(x)
        emb, attn = self.attention_layer(self.ego_embedding(ego), self.others_embedding(others), mask)
        h = self.memory(emb.view(b, s, DIM))
        adv = self.advantage(h)
        q = self.value(h) + adv - adv.mean(dim=1, keepdim=True)
        return q, attn.view(b, s, HEADS, VEH)


def make():
    torch.manual_seed(21)
    model = EgoAttentionNetwork()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, nn.Linear):
                m.weight.normal_(0, 1.3 / np.sqrt(m.in_features))
                if m.bias is not None:
                    m.bias.normal_(0, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    x = rng.randn(5, STEPS, VEH, FEATS).astype(np.float32)
    present = (rng.rand(5, STEPS, VEH) < 0.6).astype(np.float32)
    present[:, :, 0] = 1
    present[:, :, -1] = 0
    x[..., 0] = present
    x *= present[..., None]
    return (x,)
