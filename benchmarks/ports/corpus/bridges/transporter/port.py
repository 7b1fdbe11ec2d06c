import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
SIDE, K, R, C = 24, 9, 4, 3


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(width, width, 3, padding=1)
        self.b = nn.Conv2d(width, width, 3, padding=2, dilation=2)
        self.skip = nn.Conv2d(width, width, 1)

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.skip(x))


def fully_conv(out, width=8):
    return nn.Sequential(
        nn.Conv2d(4, width, 3, padding=1),
        nn.ReLU(inplace=False),
        Block(width),
        Block(width),
        nn.Conv2d(width, out, 1),
    )


class TransporterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4, 1, 1))
        self.register_buffer("std", torch.ones(4, 1, 1))
        self.attention = fully_conv(1)
        self.key = fully_conv(C)
        self.query = fully_conv(C)

    def crop(self, x, pick):
        pad = K // 2
        x = F.pad(x, (pad, pad, pad, pad))
        windows = []
        for i, (r, c) in enumerate(pick.tolist()):
            windows.append(x[i, :, r:r + K, c:c + K])
        return torch.stack(windows)

    def place(self, x, pick):
        b = x.shape[0]
        key = self.key(x)
        crop = self.crop(x, pick)
        rotated = torch.stack([torch.rot90(crop, k, (2, 3)) for k in range(R)], 1)
        kernels = self.query(rotated.flatten(0, 1))
        # one group per sample: the batch becomes channels
        out = F.conv2d(key.reshape(1, b * C, SIDE, SIDE), kernels, padding=K // 2, groups=b)
        return out.view(b, R, SIDE, SIDE) / (K * K)

    def forward(self, image, pick):
        x = image.permute(0, 3, 1, 2)
        x = (x - self.mean) / self.std
        pick_logits = self.attention(x)
        pick_prob = F.softmax(pick_logits.flatten(1), dim=1).view(-1, SIDE, SIDE)
        place = self.place(x, pick).permute(0, 2, 3, 1)
        place_prob = place.flatten(1).softmax(1).view(place.shape)
        return pick_prob, place, place_prob


def make():
    torch.manual_seed(8)
    net = TransporterNet().eval()
    net.mean.uniform_(0.2, 0.5)
    net.std.uniform_(0.2, 0.4)
    return net


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    image = rng.rand(4, SIDE, SIDE, 4).astype("float32")
    pick = rng.randint(0, SIDE, (4, 2)).astype("int32")
    return image, pick


def load(ported, original):
    w = {k: torch.from_numpy(v.numpy()) for k, v in original.weights.items()}

    def put(layer, name):
        layer.weight.data.copy_(w[name + "/kernel"].permute(3, 2, 0, 1))
        layer.bias.data.copy_(w[name + "/bias"])

    ported.mean.copy_(w["mean"][:, None, None])
    ported.std.copy_(w["std"][:, None, None])
    for net in ("attention", "key", "query"):
        seq = getattr(ported, net)
        put(seq[0], net + "/stem")
        put(seq[4], net + "/out")
        for i in range(2):
            for part in ("a", "b", "skip"):
                put(getattr(seq[2 + i], part), f"{net}/block{i}/{part}")
