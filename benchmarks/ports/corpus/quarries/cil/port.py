"""CIL in PyTorch. Images come channels first here."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class SameConv(nn.Conv2d):
    """strided convolution with TensorFlow's 'SAME' padding (surplus goes to bottom/right)"""

    def forward(self, x):
        pads = []
        for size, k, s in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        return super().forward(F.pad(x, pads))


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.conv = SameConv(cin, cout, k, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3)
        self.drop = nn.Dropout2d(0.2)

    def forward(self, x):
        return self.drop(F.relu(self.bn(self.conv(x))))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(64, 24), nn.Linear(24, 3)

    def forward(self, x):
        raw = self.out(F.relu(self.fc(x)))
        return torch.cat([torch.tanh(raw[:, :1]), torch.sigmoid(raw[:, 1:])], dim=1)


class CIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(ConvBlock(3, 12, 5), ConvBlock(12, 16, 3), ConvBlock(16, 24, 3))
        self.img_fc = nn.Linear(24 * 4 * 6, 64)
        self.speed_in = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.join = nn.Linear(80, 64)
        self.branches = nn.ModuleList([Branch() for _ in range(4)])
        self.speed_out = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, image, speed, command):
        feats = self.backbone(image)
        percept = F.relu(self.img_fc(feats.flatten(1)))
        joint = F.relu(self.join(torch.cat([percept, self.speed_in(speed)], dim=1)))
        options = torch.stack([branch(joint) for branch in self.branches], dim=1)
        idx = command.argmax(dim=1)
        control = options[torch.arange(len(idx)), idx]
        return control, self.speed_out(percept)


def make():
    torch.manual_seed(4)
    net = CIL()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.8, 1.2)
            nn.init.normal_(m.bias, 0, 0.1)
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.4, 0.9)
    return net.eval()


@torch.no_grad()
def load(ported, original):
    get = lambda n: original.get_layer(n).get_weights()
    put = lambda p, v: p.copy_(torch.tensor(np.ascontiguousarray(v)))

    for i, block in enumerate(ported.backbone, 1):
        put(block.conv.weight, get(f"conv{i}")[0].transpose(3, 2, 0, 1))
        gamma, beta, mean, var = get(f"conv{i}_bn")
        put(block.bn.weight, gamma)
        put(block.bn.bias, beta)
        put(block.bn.running_mean, mean)
        put(block.bn.running_var, var)
    k, b = get("img_fc")
    k = k.reshape(4, 6, 24, 64).transpose(2, 0, 1, 3).reshape(-1, 64)   # HWC rows to CHW
    put(ported.img_fc.weight, k.T)
    put(ported.img_fc.bias, b)
    pairs = [(ported.speed_in[0], "speed_fc1"), (ported.speed_in[2], "speed_fc2"), (ported.join, "join_fc"),
             (ported.speed_out[0], "pred_fc"), (ported.speed_out[2], "pred_speed")]
    names = ("follow", "left", "right", "straight")
    pairs += [(branch.fc, c + "_fc") for branch, c in zip(ported.branches, names)]
    for lin, name in pairs:
        put(lin.weight, get(name)[0].T)
        put(lin.bias, get(name)[1])
    for branch, c in zip(ported.branches, names):
        (sk, sb), (pk, pb) = get(c + "_steer"), get(c + "_pedals")
        put(branch.out.weight, np.concatenate([sk, pk], axis=1).T)
        put(branch.out.bias, np.concatenate([sb, pb]))


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 6
    image = rng.uniform(size=(B, 32, 48, 3))
    image[:, :14] = 0.5 * image[:, :14] + 0.5
    speed = rng.uniform(0, 1.2, size=(B, 1)).astype(np.float32)
    command = np.eye(4)[np.array([0, 1, 2, 3, 2, 1])].astype(np.float32)
    return image.transpose(0, 3, 1, 2).astype(np.float32).copy(), speed, command
