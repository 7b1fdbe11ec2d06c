"""BiLSTM tagger with CRF: emissions, log partition, gold score, nll."""
import numpy as np, torch
from torch import nn

FRAMEWORK = "torch"
V, E, H, TAGS, T = 40, 12, 16, 5, 7


class TorchCRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, E)
        self.lstm = nn.LSTM(E, H, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * H, TAGS)
        self.trans = nn.Parameter(torch.randn(TAGS, TAGS))  # [from, to]
        self.start, self.end = nn.Parameter(torch.randn(TAGS)), nn.Parameter(torch.randn(TAGS))

    def forward(self, ids, tags):
        h, _ = self.lstm(self.emb(ids))
        em = self.fc(h)
        alpha = self.start + em[:, 0]
        for t in range(1, T):
            alpha = torch.logsumexp(alpha[:, :, None] + self.trans[None], 1) + em[:, t]
        logz = torch.logsumexp(alpha + self.end, -1)
        gold = self.start[tags[:, 0]] + self.end[tags[:, -1]]
        gold = gold + em.gather(2, tags[:, :, None]).squeeze(-1).sum(1)
        gold = gold + self.trans[tags[:, :-1], tags[:, 1:]].sum(1)
        return {"emissions": em, "logz": logz, "nll": logz - gold}


def make():
    torch.manual_seed(6)
    net = TorchCRF().eval()
    with torch.no_grad():
        for n, p in net.named_parameters():
            if "lstm" in n or "fc" in n: p.mul_(2.5)
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 6)
    return r.integers(0, V, (4, T)), r.integers(0, TAGS, (4, T))
