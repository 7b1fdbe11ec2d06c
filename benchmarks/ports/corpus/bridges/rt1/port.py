import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, K, D, DIMS, BINS = 4, 3, 24, 4, 11


class SameConv(nn.Conv2d):
    """TF-like SAME: the odd pixel of padding goes to the right and the bottom."""

    def forward(self, x):
        pads = []
        for size, k, s in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        return super().forward(F.pad(x, pads))


class Stage(nn.Module):
    def __init__(self, inp, out, stride, text=16):
        super().__init__()
        wide = 2 * out
        self.residual = stride == 1
        self.expand = nn.Conv2d(inp, wide, 1)
        self.depthwise = SameConv(wide, wide, 3, stride, groups=wide, bias=False)
        self.bn = nn.BatchNorm2d(wide, eps=1e-3)
        self.se = nn.Sequential(nn.Linear(wide, 8), nn.SiLU(), nn.Linear(8, wide), nn.Sigmoid())
        self.project = nn.Conv2d(wide, out, 1)
        self.gamma = nn.Linear(text, out)
        self.beta = nn.Linear(text, out)

    def forward(self, x, text):
        y = F.silu(self.expand(x))
        y = F.silu(self.bn(self.depthwise(y)))
        y = y * self.se(y.mean((2, 3)))[..., None, None]
        y = self.project(y)
        y = (1 + self.gamma(text)[..., None, None]) * y + self.beta(text)[..., None, None]
        return x + y if self.residual else y


class TokenLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.LayerNorm(D, eps=1e-6), nn.Linear(D, 16), nn.GELU(), nn.Linear(16, K))

    def forward(self, x):
        x = x.flatten(2).transpose(1, 2)
        weight = self.mlp(x).softmax(dim=1)
        return weight.transpose(1, 2) @ x


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D, eps=1e-6), nn.LayerNorm(D, eps=1e-6)
        self.attn = nn.MultiheadAttention(D, 3, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))

    def forward(self, x, blocked):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, attn_mask=blocked, need_weights=False)[0]
        return x + self.ff(self.ln2(x))


class RoboticsTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = SameConv(3, 16, 3, 2)
        self.stage1 = Stage(16, 16, 1)
        self.stage2 = Stage(16, D, 2)
        self.learner = TokenLearner()
        self.pos = nn.Parameter(torch.zeros(T * K, D))
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.ln = nn.LayerNorm(D, eps=1e-6)
        self.head = nn.Linear(D, DIMS * BINS)
        frame = torch.arange(T).repeat_interleave(K)
        self.register_buffer("blocked", frame[None, :] > frame[:, None], persistent=False)

    def forward(self, images, text):
        b = images.shape[0]
        x = images.flatten(0, 1).permute(0, 3, 1, 2) / 127.5 - 1
        text = text.repeat_interleave(T, dim=0)
        x = F.silu(self.stem(x))
        x = self.stage2(self.stage1(x, text), text)
        x = self.learner(x).reshape(b, T * K, D) + self.pos
        for layer in self.layers:
            x = layer(x, self.blocked)
        x = self.ln(x).view(b, T, K, D)[:, :, K - 1]
        logits = self.head(x).view(b, T, DIMS, BINS)
        centres = torch.linspace(-1, 1, BINS)
        return logits, (logits.softmax(-1) * centres).sum(-1)


def make():
    torch.manual_seed(6)
    net = RoboticsTransformer().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.1 * torch.randn_like(p))
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.5, 1.5)
    return net


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    return rng.uniform(0, 255, (4, T, 24, 24, 3)).astype("float32"), rng.randn(4, 16).astype("float32")


def load(ported, original):
    t = lambda v: torch.tensor(np.asarray(v))

    def conv(m, layer):
        m.weight.data = t(layer.kernel).permute(3, 2, 0, 1).contiguous()
        m.bias.data = t(layer.bias)

    def dense(m, layer):
        m.weight.data, m.bias.data = t(layer.kernel).T.contiguous(), t(layer.bias)

    def norm(m, layer):
        m.weight.data, m.bias.data = t(layer.gamma), t(layer.beta)

    conv(ported.stem, original.stem)
    for m, s in ((ported.stage1, original.stages[0]), (ported.stage2, original.stages[1])):
        conv(m.expand, s.expand)
        m.depthwise.weight.data = t(s.depthwise.kernel).permute(2, 3, 0, 1).contiguous()
        norm(m.bn, s.bn)
        m.bn.running_mean.copy_(t(s.bn.moving_mean))
        m.bn.running_var.copy_(t(s.bn.moving_variance))
        dense(m.se[0], s.squeeze)
        dense(m.se[2], s.excite)
        conv(m.project, s.project)
        dense(m.gamma, s.film.scale)
        dense(m.beta, s.film.shift)
    mlp, tokens = ported.learner.mlp, original.tokens
    norm(mlp[0], tokens.norm), dense(mlp[1], tokens.hidden), dense(mlp[3], tokens.maps)
    ported.pos.data = t(original.positions.embeddings)
    for m, s in zip(ported.layers, original.blocks):
        norm(m.ln1, s.norm1), norm(m.ln2, s.norm2)
        dense(m.ff[0], s.up), dense(m.ff[2], s.down)
        q, qb, k, kb, v, vb, o, ob = [t(w) for w in s.attn.get_weights()]
        m.attn.in_proj_weight.data = torch.cat([w.reshape(D, D).T for w in (q, k, v)]).contiguous()
        m.attn.in_proj_bias.data = torch.cat([w.flatten() for w in (qb, kb, vb)])
        m.attn.out_proj.weight.data, m.attn.out_proj.bias.data = o.reshape(D, D).T.contiguous(), ob
    norm(ported.ln, original.final)
    dense(ported.head, original.logits)
