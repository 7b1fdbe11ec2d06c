"""LaneGCN (small): ActorNet, MapNet, actor-map attention, multi-mode header (torch)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
A, M, E, T, C, K, HOR = 3, 6, 5, 8, 8, 2, 4


class LinearGN(nn.Module):
    def __init__(self, i, o, act=True):
        super().__init__()
        self.linear = nn.Linear(i, o, bias=False)
        self.norm = nn.GroupNorm(1, o)
        self.act = act

    def forward(self, x):
        x = self.norm(self.linear(x))
        return F.relu(x) if self.act else x


class Res1d(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1 = nn.Conv1d(i, o, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.GroupNorm(1, o)
        self.conv2 = nn.Conv1d(o, o, 3, padding=1, bias=False)
        self.bn2 = nn.GroupNorm(1, o)
        self.down = None
        if stride != 1 or i != o:
            self.down = nn.Sequential(nn.Conv1d(i, o, 1, stride=stride, bias=False), nn.GroupNorm(1, o))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down is not None:
            x = self.down(x)
        return F.relu(out + x)


class ActorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.g0 = Res1d(3, 6)
        self.g1 = Res1d(6, C, stride=2)
        self.lat0 = nn.Conv1d(6, C, 3, padding=1, bias=False)
        self.lat1 = nn.Conv1d(C, C, 3, padding=1, bias=False)
        self.output = Res1d(C, C)

    def forward(self, x):
        x0 = self.g0(x)
        x1 = self.g1(x0)
        out = self.lat1(x1)
        out = F.interpolate(out, scale_factor=2, mode="linear", align_corners=False)
        out = out + self.lat0(x0)
        return self.output(out)[:, :, -1]


class MapNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.input = nn.Sequential(nn.Linear(2, C), nn.ReLU(), LinearGN(C, C, act=False))
        self.seg = nn.Sequential(nn.Linear(2, C), nn.ReLU(), LinearGN(C, C, act=False))
        self.ctr = nn.Linear(C, C, bias=False)
        self.pre = nn.Linear(C, C, bias=False)
        self.suc = nn.Linear(C, C, bias=False)
        self.norm = nn.GroupNorm(1, C)
        self.ctr2 = LinearGN(C, C, act=False)

    def forward(self, ctrs, feats, pre, suc):
        feat = F.relu(self.input(ctrs) + self.seg(feats))
        temp = self.ctr(feat)
        temp = temp.index_add(0, pre[:, 0], self.pre(feat[pre[:, 1]]))
        temp = temp.index_add(0, suc[:, 0], self.suc(feat[suc[:, 1]]))
        out = F.relu(self.norm(temp))
        out = self.ctr2(out)
        return F.relu(out + feat)


class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.dist = nn.Sequential(nn.Linear(2, C), nn.ReLU(), LinearGN(C, C))
        self.query = LinearGN(C, C)
        self.ctx = nn.Sequential(LinearGN(3 * C, C), nn.Linear(C, C, bias=False))
        self.agt = nn.Linear(C, C, bias=False)
        self.norm = nn.GroupNorm(1, C)
        self.linear = LinearGN(C, C, act=False)

    def forward(self, agts, agt_ctrs, ctx, ctx_ctrs, th):
        """agts [B*n, C], agt_ctrs [B, n, 2]; ctx likewise"""
        n, m = agt_ctrs.shape[1], ctx_ctrs.shape[1]
        d = (agt_ctrs[:, :, None] - ctx_ctrs[:, None]).pow(2).sum(-1).sqrt()
        b, i, j = torch.nonzero(d <= th, as_tuple=True)
        hi, wi = b * n + i, b * m + j
        dist = agt_ctrs.reshape(-1, 2)[hi] - ctx_ctrs.reshape(-1, 2)[wi]
        dist = self.dist(dist)
        query = self.query(agts[hi])
        c = self.ctx(torch.cat([dist, query, ctx[wi]], 1))
        out = self.agt(agts).index_add(0, hi, c)
        out = F.relu(self.norm(out))
        return F.relu(self.linear(out) + agts)


class LaneGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = ActorNet()
        self.map = MapNet()
        self.a2m = Att()
        self.m2a = Att()
        self.pred = nn.ModuleList([nn.Sequential(LinearGN(C, C), nn.Linear(C, 2 * HOR)) for _ in range(K)])
        self.dest = nn.Sequential(nn.Linear(2, C), nn.ReLU(), LinearGN(C, C))
        self.dest_agt = LinearGN(2 * C, C)
        self.cls = nn.Linear(C, 1)

    def forward(self, actors, actor_ctrs, lane_ctrs, lane_feats, pre, suc):
        B = actors.shape[0]
        off = torch.arange(B).view(B, 1, 1) * M
        pre = (pre + off).reshape(-1, 2)
        suc = (suc + off).reshape(-1, 2)
        act = self.actor(actors.reshape(B * A, 3, T))
        nodes = self.map(lane_ctrs.reshape(-1, 2), lane_feats.reshape(-1, 2), pre, suc)
        nodes = self.a2m(nodes, lane_ctrs, act, actor_ctrs, 2.5)
        act = self.m2a(act, actor_ctrs, nodes, lane_ctrs, 2.0)

        reg = torch.stack([p(act) for p in self.pred], 1).view(B * A, K, HOR, 2)
        reg = reg + actor_ctrs.reshape(-1, 1, 1, 2)
        dist = (actor_ctrs.reshape(-1, 1, 2) - reg[:, :, -1]).reshape(-1, 2)
        hidden = torch.cat([self.dest(dist), act.repeat_interleave(K, 0)], 1)
        cls = F.softmax(self.cls(self.dest_agt(hidden)).view(-1, K), dim=1)
        cls, order = cls.sort(1, descending=True)
        reg = torch.gather(reg, 1, order[:, :, None, None].expand(-1, -1, HOR, 2))
        return cls.view(B, A, K), reg.view(B, A, K, HOR, 2)


def make():
    m = LaneGCN()
    r = np.random.RandomState(9)
    for n, p in m.named_parameters():
        if p.dim() > 1:
            v = r.randn(*p.shape) * 1.3 / np.sqrt(np.prod(p.shape[1:]))
        elif "norm" in n or "bn" in n or "down.1" in n:
            v = r.uniform(0.6, 1.4, p.shape) if n.endswith("weight") else r.randn(*p.shape) * 0.2
        else:
            v = r.randn(*p.shape) * 0.2
        p.data = torch.tensor(v, dtype=torch.float32)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    return (r.randn(B, A, 3, T).astype("f"), (1.3 * r.randn(B, A, 2)).astype("f"),
            (1.3 * r.randn(B, M, 2)).astype("f"), r.randn(B, M, 2).astype("f"),
            r.randint(0, M, (B, E, 2)).astype("int64"), r.randint(0, M, (B, E, 2)).astype("int64"))
