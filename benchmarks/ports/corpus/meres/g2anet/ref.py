"""G2ANet (game abstraction by two-stage attention), multi-agent Q values."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, OBS, H, ATT, A = 4, 8, 12, 8, 5


class G2ANet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoding = nn.Linear(OBS, H)
        self.h = nn.GRUCell(H, H)
        self.hard_bi_gru = nn.GRU(2 * H, H, bidirectional=True)
        self.hard_encoding = nn.Linear(2 * H, 2)
        self.q = nn.Linear(H, ATT, bias=False)
        self.k = nn.Linear(H, ATT, bias=False)
        self.v = nn.Linear(H, ATT)
        self.decoding = nn.Linear(H + ATT, A)

    def forward(self, obs, hidden, avail):
        B = obs.shape[0]
        x = torch.relu(self.encoding(obs.reshape(B * N, OBS)))
        h = self.h(x, hidden.reshape(B * N, H))
        h_out = h.view(B, N, H)
        # pairs (i, j), j != i, as a sequence over j
        pairs = []
        for i in range(N):
            others = [torch.cat([h_out[:, i], h_out[:, j]], dim=-1) for j in range(N) if j != i]
            pairs.append(torch.stack(others, dim=0))
        pairs = torch.stack(pairs, dim=2).reshape(N - 1, B * N, 2 * H)
        g, _ = self.hard_bi_gru(pairs)
        logits = self.hard_encoding(g)
        hard = F.softmax(logits / 0.5, dim=-1)[..., 1]
        hard = hard.view(N - 1, B, N).permute(1, 2, 0)                     # [B, N, N-1]
        # soft attention among the others
        q = self.q(h).view(B, N, 1, ATT)
        k = self.k(h).view(B, N, ATT)
        v = F.relu(self.v(h)).view(B, N, ATT)
        idx = torch.tensor([[j for j in range(N) if j != i] for i in range(N)])
        ko, vo = k[:, idx], v[:, idx]                                      # [B, N, N-1, ATT]
        score = (q * ko).sum(-1) / np.sqrt(ATT)
        soft = F.softmax(score, dim=-1)
        message = (vo * (soft * hard).unsqueeze(-1)).sum(dim=2)
        final = torch.cat([h_out, message], dim=-1)
        qs = self.decoding(final)
        qs = torch.where(avail > 0, qs, torch.full_like(qs, -3.0))
        return qs, h_out, soft * hard


def make():
    torch.manual_seed(0)
    m = G2ANet().eval()
    g = torch.Generator().manual_seed(11)
    for n, p in m.named_parameters():
        r = torch.randn(p.shape, generator=g)
        p.data = r * (1.5 / p.shape[-1] ** 0.5) if p.dim() > 1 else 0.4 * r
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    avail = (rng.random((4, N, A)) < 0.8).astype("float32")
    avail[..., 0] = 1
    return (rng.normal(size=(4, N, OBS)).astype("float32"),
            (rng.normal(size=(4, N, H)) * 0.5).astype("float32"), avail)
