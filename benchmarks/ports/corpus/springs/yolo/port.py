"""YOLOv3 in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
ANCHORS = [(3, 4), (6, 5), (8, 11), (14, 10), (18, 22), (30, 26)]
ANCHOR_MASK = [[3, 4, 5], [0, 1, 2]]
CLASSES = 3


class ConvBN(nn.Module):
    def __init__(self, cin, cout, k, stride=1):
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv2d(cin, cout, k, stride, padding=0 if stride == 2 else k // 2, bias=False)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3)

    def forward(self, x):
        if self.stride == 2:
            x = F.pad(x, (1, 0, 1, 0))
        return F.leaky_relu(self.bn(self.conv(x)), 0.1)


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = ConvBN(c, c // 2, 1)
        self.b = ConvBN(c // 2, c, 3)

    def forward(self, x):
        return x + self.b(self.a(x))


def stage(cin, cout, blocks):
    return nn.Sequential(ConvBN(cin, cout, 3, 2), *[ResBlock(cout) for _ in range(blocks)])


class Head(nn.Module):
    def __init__(self, cin, c, out):
        super().__init__()
        self.body = nn.Sequential(ConvBN(cin, c, 1), ConvBN(c, 2 * c, 3), ConvBN(2 * c, c, 1))
        self.conv = ConvBN(c, 2 * c, 3)
        self.out = nn.Conv2d(2 * c, out, 1)

    def forward(self, x):
        x = self.body(x)
        return x, self.out(self.conv(x))


class Decode(nn.Module):
    def __init__(self, mask, size):
        super().__init__()
        self.register_buffer("anchors", torch.tensor([ANCHORS[i] for i in mask], dtype=torch.float32))
        self.size = size

    def forward(self, p):
        b, _, h, w = p.shape
        n = len(self.anchors)
        p = p.view(b, n, CLASSES + 5, h, w).permute(0, 3, 4, 1, 2)
        gy, gx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([gx, gy], -1).view(1, h, w, 1, 2).float()
        xy = (p[..., :2].sigmoid() + grid) / p.new_tensor([w, h])
        wh = p[..., 2:4].exp() * self.anchors / p.new_tensor([self.size[1], self.size[0]])
        scores = p[..., 4:5].sigmoid() * p[..., 5:].sigmoid()
        lo, hi = (xy - wh / 2).flip(-1), (xy + wh / 2).flip(-1)
        boxes = torch.cat([lo, hi], -1) * p.new_tensor(self.size + self.size)
        return boxes.reshape(b, -1, 4), scores.reshape(b, -1, CLASSES)


class Yolo(nn.Module):
    def __init__(self):
        super().__init__()
        out = 3 * (CLASSES + 5)
        self.stem = ConvBN(3, 8, 3)
        self.res1 = stage(8, 16, 1)
        self.res2 = stage(16, 24, 2)
        self.head1 = Head(24, 8, out)
        self.lateral = ConvBN(8, 6, 1)
        self.head2 = Head(22, 6, out)
        self.decode1 = Decode(ANCHOR_MASK[0], (32, 24))
        self.decode2 = Decode(ANCHOR_MASK[1], (32, 24))

    def forward(self, x):
        route = self.res1(self.stem(x))
        x, y1 = self.head1(self.res2(route))
        x = F.interpolate(self.lateral(x), scale_factor=2, mode="nearest")
        _, y2 = self.head2(torch.cat([x, route], 1))
        b1, s1 = self.decode1(y1)
        b2, s2 = self.decode2(y2)
        return torch.cat([b1, b2], 1), torch.cat([s1, s2], 1)


def make():
    torch.manual_seed(1)
    m = Yolo().eval()
    with torch.no_grad():
        for n, t in list(m.named_parameters()) + [b for b in m.named_buffers() if "running" in b[0]]:
            if t.dim() == 4:
                t.normal_(0, (1.3 / t[0].numel()) ** 0.5)
            elif "var" in n or n.endswith("bn.weight"):
                t.uniform_(0.6, 1.4)
            else:
                t.normal_(0, 0.2)
    return m


def inputs(seed):
    x = np.random.RandomState(seed).rand(4, 32, 24, 3).astype("float32")
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def put(t, a):
        t.data.copy_(torch.from_numpy(np.array(a)))

    def cb(m, name):
        put(m.conv.weight, original.get_layer(name + "_conv").get_weights()[0].transpose(3, 2, 0, 1))
        for t, a in zip((m.bn.weight, m.bn.bias, m.bn.running_mean, m.bn.running_var),
                        original.get_layer(name + "_bn").get_weights()):
            put(t, a)

    cb(ported.stem, "stem")
    for s in ("res1", "res2"):
        seq = getattr(ported, s)
        cb(seq[0], s + "_down")
        for i, blk in enumerate(seq[1:]):
            cb(blk.a, "%s_%d_a" % (s, i))
            cb(blk.b, "%s_%d_b" % (s, i))
    for h in ("head1", "head2"):
        m = getattr(ported, h)
        for i in range(3):
            cb(m.body[i], "%s_%d" % (h, i + 1))
        cb(m.conv, h + "_4")
        w, b = original.get_layer(h + "_out").get_weights()
        put(m.out.weight, w.transpose(3, 2, 0, 1))
        put(m.out.bias, b)
    cb(ported.lateral, "lateral")
