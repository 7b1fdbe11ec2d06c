"""A small AlphaStar: scatter connection, LSTM core, autoregressive action and pointer heads."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, N, ENT, SCALAR, MAP, EMB, CORE, TYPES, KEY, PICKS = 4, 9, 11, 13, 8, 16, 40, 7, 12, 3


class GLU(nn.Module):
    """Gates what comes in by a context."""

    def __init__(self, n_in, n_out, n_context):
        super().__init__()
        self.gate = nn.Linear(n_context, n_in)
        self.out = nn.Linear(n_in, n_out)

    def forward(self, x, context):
        return self.out(torch.sigmoid(self.gate(context)) * x)


class AlphaStar(nn.Module):
    def __init__(self):
        super().__init__()
        self.entity = nn.Sequential(nn.Linear(ENT, 32), nn.ReLU(), nn.Linear(32, EMB))
        self.entity_mean = nn.Linear(EMB, EMB)
        self.scatter_proj = nn.Linear(EMB, 6)
        self.conv = nn.Conv2d(6 + 2, 10, 3, padding=1)
        self.spatial = nn.Linear(10 * (MAP // 2) ** 2, 24)
        self.scalar = nn.Linear(SCALAR, 16)
        self.core = nn.LSTMCell(16 + EMB + 24, CORE)
        self.type_res = nn.Linear(CORE, CORE)
        self.type_norm = nn.LayerNorm(CORE)
        self.type_glu = GLU(CORE, TYPES, 16)
        self.type_embed = nn.Embedding(TYPES, 24)
        self.auto = GLU(CORE, 24, 16)
        self.keys = nn.Linear(EMB, KEY)
        self.query = nn.Linear(24, 20)
        self.pointer = nn.LSTMCell(KEY, 20)
        self.pointer_out = nn.Linear(20, KEY)
        self.back = nn.Linear(KEY, 24)
        self.target_query = nn.Linear(24, KEY)
        self.baseline = nn.Linear(CORE, 1)

    def scatter(self, embedded, xy, planes):
        b = embedded.shape[0]
        index = xy[..., 1] * MAP + xy[..., 0]
        values = F.relu(self.scatter_proj(embedded))
        canvas = values.new_zeros(b, MAP * MAP, values.shape[-1])
        canvas = canvas.scatter_add(1, index.unsqueeze(-1).expand_as(values), values)
        canvas = canvas.transpose(1, 2).reshape(b, -1, MAP, MAP)
        return torch.cat([canvas, planes], dim=1)

    def forward(self, entities, mask, xy, planes, scalars, hx, cx, action_type, picked):
        e = self.entity(entities) * mask.unsqueeze(-1)
        mean = F.relu(self.entity_mean(e.sum(1) / mask.sum(1, keepdim=True)))
        x = F.max_pool2d(F.relu(self.conv(self.scatter(e, xy, planes))), 2)
        spatial = F.relu(self.spatial(x.flatten(1)))
        context = F.relu(self.scalar(scalars))
        h, c = self.core(torch.cat([context, mean, spatial], dim=1), (hx, cx))

        y = self.type_norm(h + F.relu(self.type_res(h)))
        type_logits = self.type_glu(y, context)
        auto = self.auto(h, context) + self.type_embed(action_type)

        keys = self.keys(e)
        free = mask > 0.5
        state = (F.relu(self.query(auto)), torch.zeros(len(h), 20))
        last = torch.zeros(len(h), KEY)
        steps = []
        for i in range(PICKS):
            state = self.pointer(last, state)
            logits = torch.einsum("bk,bnk->bn", self.pointer_out(state[0]), keys)
            steps.append(logits.masked_fill(~free, -1e9))
            chosen = F.one_hot(picked[:, i], N)
            last = (chosen.unsqueeze(-1) * keys).sum(1)
            auto = auto + F.relu(self.back(last))
            free = free & (chosen == 0)
        target = torch.einsum("bk,bnk->bn", self.target_query(auto), keys)
        target = target.masked_fill(mask < 0.5, -1e9)
        return {"type": type_logits, "units": torch.log_softmax(torch.stack(steps, 1), dim=-1),
                "target": torch.log_softmax(target, dim=-1), "h": h, "c": c,
                "value": self.baseline(h)[:, 0]}


def make(seed=7):
    torch.manual_seed(seed)
    net = AlphaStar()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    mask = np.ones((B, N), "float32")
    mask[0, 7:] = mask[2, 5:] = mask[3, 8:] = 0
    xy = rng.integers(0, MAP, (B, N, 2)).astype("int64")
    picked = np.array([[0, 3, 2], [8, 1, 4], [2, 4, 0], [6, 5, 7]], "int64")
    return (f(B, N, ENT), mask, xy, f(B, 2, MAP, MAP), f(B, SCALAR), np.tanh(f(B, CORE)),
            f(B, CORE), rng.integers(0, TYPES, B).astype("int64"), picked)
