"""ToMnet in PyTorch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
EPISODES, T, C, G, CH, EC, EM, ACTIONS, OBJ = 2, 3, 5, 5, 8, 4, 6, 5, 4


class BasicBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(ch, ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(ch, eps=2e-5),
            nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(ch, eps=2e-5),
        )

    def forward(self, x):
        return F.relu(x + self.body(x))


def trunk(cin):
    return nn.Sequential(nn.Conv2d(cin, CH, 3, padding=1), nn.ReLU(), BasicBlock(CH))


class CharacterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = trunk(C)
        self.lstm = nn.LSTM(CH, CH, batch_first=True)
        self.out = nn.Linear(CH, EC)

    def forward(self, past):
        B = past.size(0)
        x = self.trunk(past.flatten(0, 2)).mean(dim=(-2, -1))
        x = x.view(B * EPISODES, T, CH)
        _, (h, _) = self.lstm(x)
        e = self.out(h[-1])
        return e.view(B, EPISODES, EC).sum(dim=1)


class ToMnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.char = CharacterNet()
        self.mental = nn.Sequential(trunk(2 * C + EC), nn.Conv2d(CH, EM, 1), nn.Tanh())
        self.pred = trunk(C + EC + EM)
        self.policy = nn.Linear(CH, ACTIONS)
        self.consume = nn.Linear(CH, OBJ)
        self.sr = nn.Conv2d(CH, 2, 1)

    def forward(self, past, current, query):
        e_char = self.char(past)
        tiled = e_char[..., None, None].expand(-1, -1, G, G)
        e_mental = self.mental(torch.cat([current.flatten(1, 2), tiled], dim=1))
        x = self.pred(torch.cat([query, tiled, e_mental], dim=1))
        pooled = x.mean(dim=(2, 3))
        policy = F.log_softmax(self.policy(pooled), dim=-1)
        consume = torch.sigmoid(self.consume(pooled))
        sr = self.sr(x)
        sr = F.softmax(sr.flatten(2), dim=-1).view_as(sr)
        return policy, consume, sr, e_char


def make():
    torch.manual_seed(9)
    m = ToMnet().eval()
    for n, p in m.named_parameters():
        p.data = torch.randn_like(p) * 0.2
    for l in m.modules():
        if isinstance(l, nn.BatchNorm2d):
            l.weight.data = 1 + 0.2 * torch.randn_like(l.weight)
            l.running_mean = torch.randn_like(l.running_mean) * 0.2
            l.running_var = torch.rand_like(l.running_var) + 0.5
    return m


def load(ported, original):
    def put(dst, src):
        dst.weight.data = torch.tensor(np.array(src.W.array))
        if src.b is not None:
            dst.bias.data = torch.tensor(np.array(src.b.array))

    def bn(dst, src):
        dst.weight.data = torch.tensor(np.array(src.gamma.array))
        dst.bias.data = torch.tensor(np.array(src.beta.array))
        dst.running_mean = torch.tensor(np.array(src.avg_mean))
        dst.running_var = torch.tensor(np.array(src.avg_var))

    def put_trunk(dst, src):
        put(dst[0], src.stem)
        put(dst[2].body[0], src.res.conv1); bn(dst[2].body[1], src.res.bn1)
        put(dst[2].body[3], src.res.conv2); bn(dst[2].body[4], src.res.bn2)

    put_trunk(ported.char.trunk, original.char.trunk)
    put_trunk(ported.mental[0], original.mental)
    put_trunk(ported.pred, original.pred)
    put(ported.mental[1], original.mental_out)
    for n in ("policy", "consume", "sr"):
        put(getattr(ported, n), getattr(original, n))
    put(ported.char.out, original.char.out)
    order = np.array([u * 4 + k for k in (1, 2, 0, 3) for u in range(CH)])      # a i f o -> i f g o
    lstm = ported.char.lstm
    lstm.weight_ih_l0.data = torch.tensor(original.char.upward.W.array[order])
    lstm.weight_hh_l0.data = torch.tensor(original.char.lateral.W.array[order])
    lstm.bias_ih_l0.data = torch.tensor(original.char.upward.b.array[order])
    lstm.bias_hh_l0.data = torch.zeros(4 * CH)


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(4, EPISODES, T, C, G, G)).astype("float32"),
            rng.normal(size=(4, 2, C, G, G)).astype("float32"),
            rng.normal(size=(4, C, G, G)).astype("float32"))
