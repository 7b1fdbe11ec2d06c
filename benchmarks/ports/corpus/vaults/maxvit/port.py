"""MaxViT for torch, NCHW convolutions and NHWC attention."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class Conv2dSame(nn.Conv2d):
    """TensorFlow's padding "same", also with strides."""

    def forward(self, x):
        pads = []
        for size, k, s in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        return super().forward(F.pad(x, pads))


class SqueezeExcite(nn.Module):
    def __init__(self, dim, reduced):
        super().__init__()
        self.fc1 = nn.Conv2d(dim, reduced, 1)
        self.fc2 = nn.Conv2d(reduced, dim, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.fc2(F.silu(self.fc1(s))))


class MBConv(nn.Module):
    def __init__(self, dim, expansion=3):
        super().__init__()
        hidden = dim * expansion
        self.shortcut = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(dim, 2 * dim, 1))
        self.layers = nn.Sequential(
            nn.BatchNorm2d(dim, eps=1e-3),
            nn.Conv2d(dim, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden, eps=1e-3),
            nn.GELU(approximate="tanh"),
            Conv2dSame(hidden, hidden, 3, stride=2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden, eps=1e-3),
            nn.GELU(approximate="tanh"),
            SqueezeExcite(hidden, dim // 2),
            nn.Conv2d(hidden, 2 * dim, 1),
        )

    def forward(self, x):
        return self.shortcut(x) + self.layers(x)


class RelativeAttention(nn.Module):
    def __init__(self, dim, head_dim, size):
        super().__init__()
        self.heads, self.head_dim, self.size = dim // head_dim, head_dim, size
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.zeros((2 * size - 1) ** 2, self.heads))
        at = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"))
        at = at.flatten(1)
        delta = at[:, :, None] - at[:, None, :] + size - 1
        self.register_buffer("index", delta[0] * (2 * size - 1) + delta[1])

    def forward(self, x):
        *lead, n, c = x.shape
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, self.head_dim)).unbind(-3)
        q, k, v = (t.transpose(-3, -2) for t in (q, k, v))
        bias = self.table[self.index].permute(2, 0, 1)
        attention = q @ k.transpose(-2, -1) * self.head_dim**-0.5 + bias
        y = attention.softmax(-1) @ v
        return self.proj(y.transpose(-3, -2).reshape(*lead, n, c))


def window_partition(x, s):
    b, h, w, c = x.shape
    x = x.view(b, h // s, s, w // s, s, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(b, -1, s * s, c)


def window_reverse(x, s, h, w):
    x = x.view(x.shape[0], h // s, w // s, s, s, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(x.shape[0], h, w, -1)


def grid_partition(x, s):
    b, h, w, c = x.shape
    x = x.view(b, s, h // s, s, w // s, c)
    return x.permute(0, 2, 4, 1, 3, 5).reshape(b, -1, s * s, c)


def grid_reverse(x, s, h, w):
    x = x.view(x.shape[0], h // s, w // s, s, s, -1)
    return x.permute(0, 3, 1, 4, 2, 5).reshape(x.shape[0], h, w, -1)


class PartitionAttention(nn.Module):
    def __init__(self, dim, head_dim, size, grid):
        super().__init__()
        self.size = size
        self.partition = grid_partition if grid else window_partition
        self.reverse = grid_reverse if grid else window_reverse
        self.norm1 = nn.LayerNorm(dim)
        self.attn = RelativeAttention(dim, head_dim, size)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim))

    def forward(self, x):
        _, h, w, _ = x.shape
        windows = self.partition(self.norm1(x), self.size)
        x = x + self.reverse(self.attn(windows), self.size, h, w)
        return x + self.mlp(self.norm2(x))


class MaxViT(nn.Module):
    def __init__(self, dim=8, classes=5):
        super().__init__()
        self.stem = Conv2dSame(3, dim, 3, stride=2)
        self.conv = MBConv(dim)
        self.attn_block = PartitionAttention(2 * dim, 8, 2, grid=False)
        self.attn_grid = PartitionAttention(2 * dim, 8, 2, grid=True)
        self.norm = nn.LayerNorm(2 * dim)
        self.pre_logits = nn.Linear(2 * dim, 2 * dim)
        self.fc = nn.Linear(2 * dim, classes)

    def forward(self, x):
        x = self.conv(self.stem(x))
        x = x.permute(0, 2, 3, 1)
        x = self.attn_grid(self.attn_block(x))
        x = self.norm(x.mean(dim=(1, 2)))
        return self.fc(torch.tanh(self.pre_logits(x)))


def make():
    torch.manual_seed(4)
    net = MaxViT()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.2 * torch.randn_like(p))
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.2)
                m.running_var.uniform_(0.5, 1.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 32, 32, 3)).astype("float32")
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def put(p, v):
        p.data.copy_(torch.tensor(np.asarray(v)))

    def dense(m, l):
        put(m.weight, l.kernel.numpy().T.reshape(m.weight.shape))
        put(m.bias, l.bias.numpy())

    def conv(m, l):
        put(m.weight, l.kernel.numpy().transpose(3, 2, 0, 1))
        if m.bias is not None:
            put(m.bias, l.bias.numpy())

    def norm(m, l):
        put(m.weight, l.gamma.numpy())
        put(m.bias, l.beta.numpy())
        if isinstance(m, nn.BatchNorm2d):
            put(m.running_mean, l.moving_mean.numpy())
            put(m.running_var, l.moving_variance.numpy())

    conv(ported.stem, original.stem)
    a, b = ported.conv.layers, original.mbconv
    conv(ported.conv.shortcut[1], b.shortcut)
    norm(a[0], b.pre_norm)
    conv(a[1], b.conv1)
    norm(a[2], b.norm1)
    put(a[4].weight, b.depthwise.kernel.numpy().transpose(2, 3, 0, 1))
    norm(a[5], b.norm2)
    dense(a[7].fc1, b.se.reduce)
    dense(a[7].fc2, b.se.expand)
    conv(a[8], b.conv3)
    for a, b in ((ported.attn_block, original.block_attention), (ported.attn_grid, original.grid_attention)):
        norm(a.norm1, b.norm1)
        norm(a.norm2, b.norm2)
        dense(a.attn.qkv, b.attention.qkv)
        dense(a.attn.proj, b.attention.out)
        put(a.attn.table, b.attention.table.numpy())
        dense(a.mlp[0], b.mlp1)
        dense(a.mlp[2], b.mlp2)
    norm(ported.norm, original.norm)
    dense(ported.pre_logits, original.pre_logits)
    dense(ported.fc, original.head)
