"""MultiPath++ (Varadarajan et al. 2022): multi-context gating, learned anchors, Gaussian mixture trajectories."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
TH, HF, P, PF, D, K, TF = 5, 5, 6, 7, 8, 3, 4


class ContextGating(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp_s = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.mlp_c = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, s, c, valid):
        s = self.mlp_s(s) * self.mlp_c(c).unsqueeze(1)
        pooled = s.masked_fill(valid.unsqueeze(-1) == 0, -1e9).max(dim=1)[0]
        return s, pooled


class MultiContextGating(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.blocks = nn.ModuleList([ContextGating(d) for _ in range(n)])

    def forward(self, s, c, valid):
        s_mean, c_mean = s, c
        for i, block in enumerate(self.blocks, start=1):
            s_new, c_new = block(s_mean, c_mean, valid)
            s_mean = (s_mean * i + s_new) / (i + 1)
            c_mean = (c_mean * i + c_new) / (i + 1)
        return s_mean, c_mean


class MultiPathPP(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos_lstm = nn.LSTM(HF, D, batch_first=True)
        self.diff_lstm = nn.LSTM(HF, D, batch_first=True)
        self.hist_fc = nn.Linear(2 * D, D)
        self.line_fc = nn.Sequential(nn.Linear(PF, D), nn.ReLU(), nn.Linear(D, D))
        self.road_mcg = MultiContextGating(D, 2)
        self.anchors = nn.Parameter(torch.zeros(K, D))
        self.dec_mcg = MultiContextGating(D, 2)
        self.prob_head = nn.Linear(D, 1)
        self.traj_head = nn.Linear(D, TF * 5)

    def history(self, hist):
        _, (h, _) = self.pos_lstm(hist)
        diff = hist[:, 1:] - hist[:, :-1]
        _, (hd, _) = self.diff_lstm(diff)
        return self.hist_fc(torch.cat([h[-1], hd[-1]], dim=-1))

    def forward(self, hist, lines, line_valid):
        b = hist.shape[0]
        agent = self.history(hist)
        road = self.line_fc(lines)
        _, road_ctx = self.road_mcg(road, agent, line_valid)
        ctx = agent + road_ctx

        anchors = self.anchors.unsqueeze(0).expand(b, K, D)
        modes, _ = self.dec_mcg(anchors, ctx, torch.ones(b, K))
        probs = torch.softmax(self.prob_head(modes).squeeze(-1), dim=-1)

        out = self.traj_head(modes).view(b, K, TF, 5)
        steps = torch.cumsum(out[..., :2], dim=2)
        log_sigma = out[..., 2:4].clamp(-3.0, 3.0)
        rho = torch.tanh(out[..., 4:5])

        heading = hist[:, -1, 2]
        cos, sin = torch.cos(heading), torch.sin(heading)
        rot = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], dim=-2)
        world = torch.einsum("bij,bktj->bkti", rot, steps) + hist[:, -1, None, None, :2]
        return probs, world, torch.exp(log_sigma), rho


def make():
    g = torch.Generator().manual_seed(23)
    m = MultiPathPP()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.4 if p.dim() == 1 else 1.3 / p.shape[1] ** 0.5))
        m.anchors.copy_(torch.randn(K, D, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    hist = r.randn(B, TH, HF).astype("float32")
    lines = r.randn(B, P, PF).astype("float32")
    valid = (r.rand(B, P) > 0.4).astype("float32")
    valid[:, 0] = 1
    return hist, lines, valid
