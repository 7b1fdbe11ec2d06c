"""Crystal graph convolutional network (Xie & Grossman 2018), crystals padded to A atoms."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
B, A, M, F0, FN, FA, HF, CONVS = 4, 6, 4, 7, 5, 8, 10, 2


class ConvLayer(nn.Module):
    def __init__(self, fa, fn):
        super().__init__()
        self.fa = fa
        self.fc_full = nn.Linear(2 * fa + fn, 2 * fa)
        self.sigmoid = nn.Sigmoid()
        self.softplus1 = nn.Softplus()
        self.bn1 = nn.BatchNorm1d(2 * fa)
        self.bn2 = nn.BatchNorm1d(fa)
        self.softplus2 = nn.Softplus()

    def forward(self, atom_in, nbr_fea, nbr_idx):
        n, m = nbr_idx.shape
        atom_nbr = atom_in[nbr_idx, :]
        total = torch.cat([atom_in.unsqueeze(1).expand(n, m, self.fa), atom_nbr, nbr_fea], dim=2)
        gated = self.fc_full(total)
        gated = self.bn1(gated.view(-1, self.fa * 2)).view(n, m, self.fa * 2)
        nbr_filter, nbr_core = gated.chunk(2, dim=2)
        nbr_filter = self.sigmoid(nbr_filter)
        nbr_core = self.softplus1(nbr_core)
        nbr_sumed = torch.sum(nbr_filter * nbr_core, dim=1)
        nbr_sumed = self.bn2(nbr_sumed)
        return self.softplus2(atom_in + nbr_sumed)


class CrystalGraphConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(F0, FA)
        self.convs = nn.ModuleList([ConvLayer(FA, FN) for _ in range(CONVS)])
        self.conv_to_fc = nn.Linear(FA, HF)
        self.conv_to_fc_softplus = nn.Softplus()
        self.fc_out = nn.Linear(HF, 3)

    def forward(self, atom_fea, nbr_fea, nbr_idx, mask):
        b, a, m = nbr_idx.shape
        offset = torch.arange(b).view(b, 1, 1) * a
        idx = (nbr_idx + offset).view(b * a, m)
        x = self.embedding(atom_fea.view(b * a, -1))
        edges = nbr_fea.view(b * a, m, -1)
        for conv in self.convs:
            x = conv(x, edges, idx)
        x = x.view(b, a, -1)
        crys = (x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        crys = self.conv_to_fc(self.conv_to_fc_softplus(crys))
        crys = self.conv_to_fc_softplus(crys)
        return self.fc_out(crys)


def make():
    m = CrystalGraphConvNet()
    g = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(0.4 * torch.randn(p.shape, generator=g))
        for k in m.modules():
            if isinstance(k, nn.BatchNorm1d):
                k.weight.add_(1)
                k.running_mean.copy_(0.3 * torch.randn(k.running_mean.shape, generator=g))
                k.running_var.copy_(0.5 + torch.rand(k.running_var.shape, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.ones((B, A), "float32")
    sizes = [6, 4, 5, 3]
    idx = np.zeros((B, A, M), "int64")
    for i, s in enumerate(sizes):
        mask[i, s:] = 0
        idx[i] = r.randint(0, s, (A, M))
    return (r.randn(B, A, F0).astype("float32"), np.exp(-r.rand(B, A, M, FN) * 2).astype("float32"), idx, mask)
