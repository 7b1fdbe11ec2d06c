"""Slot-attention encoder in PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class PositionEmbedding(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
        grid = torch.stack([y, x, 1 - y, 1 - x])
        self.register_buffer("grid", grid)
        self.proj = nn.Conv2d(4, dim, kernel_size=1)

    def forward(self, x):
        return x + self.proj(self.grid.unsqueeze(0))


class Slots(nn.Module):
    def __init__(self, n_slots, dim, hidden, steps=3):
        super().__init__()
        self.steps = steps
        self.start = nn.Parameter(torch.randn(1, n_slots, dim))
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.norm_in = nn.LayerNorm(dim)
        self.norm_slot = nn.LayerNorm(dim)
        self.norm_ff = nn.LayerNorm(dim)
        self.cell = nn.GRUCell(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, tokens):
        b, _, d = tokens.shape
        k, v = self.to_kv(self.norm_in(tokens)).chunk(2, dim=-1)
        slots = self.start.expand(b, -1, -1)
        for _ in range(self.steps):
            normed = self.norm_slot(slots)
            scores = torch.bmm(self.to_q(normed), k.transpose(1, 2)) / d ** 0.5
            attn = scores.softmax(dim=1)
            mean_weights = attn + 1e-8
            mean_weights = mean_weights / mean_weights.sum(dim=2, keepdim=True)
            update = torch.bmm(mean_weights, v)
            slots = self.cell(update.reshape(-1, d), slots.reshape(-1, d)).view(b, -1, d)
            slots = slots + self.ff(self.norm_ff(slots))
        return slots, attn.transpose(1, 2)


class Encoder(nn.Module):
    def __init__(self, size=10, hidden=16, n_slots=4):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(3, hidden, 5, padding=2), nn.BatchNorm2d(hidden, eps=1e-3), nn.ReLU(),
            nn.Conv2d(hidden, hidden, 5, padding=2), nn.BatchNorm2d(hidden, eps=1e-3), nn.ReLU(),
        )
        self.pos = PositionEmbedding(hidden, size)
        self.token = nn.Linear(hidden, hidden)
        self.slots = Slots(n_slots, hidden, 32)
        self.reward = nn.Linear(hidden, 1)

    def forward(self, image):
        x = self.pos(self.cnn(image))
        tokens = torch.relu(self.token(x.flatten(2).transpose(1, 2)))
        slots, attn = self.slots(tokens)
        return {"slots": slots, "attention": attn, "reward": self.reward(slots).squeeze(-1).sum(1)}


def make():
    torch.manual_seed(1)
    return Encoder().eval()


def _t(variable):
    return torch.from_numpy(np.array(variable))


def _dense(dst, src):
    dst.weight.copy_(_t(src.kernel).T)
    if src.use_bias:
        dst.bias.copy_(_t(src.bias))


def _norm(dst, src):
    dst.weight.copy_(_t(src.gamma))
    dst.bias.copy_(_t(src.beta))


def _reorder(matrix):
    """Keras orders the gates z, r, h; torch r, z, n."""
    z, r, h = matrix.chunk(3, dim=0)
    return torch.cat([r, z, h], dim=0)


@torch.no_grad()
def load(model, reference):
    for i in range(2):
        conv, norm = reference.convs[i], reference.norms[i]
        model.cnn[3 * i].weight.copy_(_t(conv.kernel).permute(3, 2, 0, 1))
        model.cnn[3 * i].bias.copy_(_t(conv.bias))
        _norm(model.cnn[3 * i + 1], norm)
        model.cnn[3 * i + 1].running_mean.copy_(_t(norm.moving_mean))
        model.cnn[3 * i + 1].running_var.copy_(_t(norm.moving_variance))
    model.pos.proj.weight.copy_(_t(reference.position.dense.kernel).T[:, :, None, None])
    model.pos.proj.bias.copy_(_t(reference.position.dense.bias))
    _dense(model.token, reference.dense)
    _dense(model.reward, reference.reward)
    ours, theirs = model.slots, reference.slot_attention
    ours.start.copy_(_t(theirs.init_slots)[None])
    _dense(ours.to_q, theirs.project_q)
    ours.to_kv.weight.copy_(torch.cat([_t(theirs.project_k.kernel), _t(theirs.project_v.kernel)], dim=1).T)
    _norm(ours.norm_in, theirs.norm_inputs)
    _norm(ours.norm_slot, theirs.norm_slots)
    _norm(ours.norm_ff, theirs.norm_mlp)
    ours.cell.weight_ih.copy_(_reorder(_t(theirs.gru.kernel).T))
    ours.cell.weight_hh.copy_(_reorder(_t(theirs.gru.recurrent_kernel).T))
    bias = _t(theirs.gru.bias)
    ours.cell.bias_ih.copy_(_reorder(bias[0]))
    ours.cell.bias_hh.copy_(_reorder(bias[1]))
    _dense(ours.ff[0], theirs.mlp.layers[0])
    _dense(ours.ff[2], theirs.mlp.layers[1])


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.uniform(-1, 1, size=(3, 10, 10, 3)).astype(np.float32)
    return (np.ascontiguousarray(np.moveaxis(image, -1, 1)),)
