"""AGCRN (Bai et al. 2020): adaptive graph convolutional recurrent network for traffic."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, T, CIN, H, D, K, HOR, COUT = 7, 4, 2, 8, 4, 3, 3, 2


class AVWGCN(nn.Module):
    def __init__(self, dim_in, dim_out, cheb_k, embed_dim):
        super().__init__()
        self.cheb_k = cheb_k
        self.weights_pool = nn.Parameter(torch.empty(embed_dim, cheb_k, dim_in, dim_out))
        self.bias_pool = nn.Parameter(torch.empty(embed_dim, dim_out))

    def forward(self, x, node_embeddings):
        node_num = node_embeddings.shape[0]
        supports = F.softmax(F.relu(torch.mm(node_embeddings, node_embeddings.transpose(0, 1))), dim=1)
        support_set = [torch.eye(node_num), supports]
        for k in range(2, self.cheb_k):
            support_set.append(torch.matmul(2 * supports, support_set[-1]) - support_set[-2])
        supports = torch.stack(support_set, dim=0)
        weights = torch.einsum('nd,dkio->nkio', node_embeddings, self.weights_pool)
        bias = torch.matmul(node_embeddings, self.bias_pool)
        x_g = torch.einsum("knm,bmc->bknc", supports, x)
        x_g = x_g.permute(0, 2, 1, 3)
        return torch.einsum('bnki,nkio->bno', x_g, weights) + bias


class AGCRNCell(nn.Module):
    def __init__(self, dim_in, dim_out, cheb_k, embed_dim):
        super().__init__()
        self.hidden_dim = dim_out
        self.gate = AVWGCN(dim_in + dim_out, 2 * dim_out, cheb_k, embed_dim)
        self.update = AVWGCN(dim_in + dim_out, dim_out, cheb_k, embed_dim)

    def forward(self, x, state, node_embeddings):
        input_and_state = torch.cat((x, state), dim=-1)
        z_r = torch.sigmoid(self.gate(input_and_state, node_embeddings))
        z, r = torch.split(z_r, self.hidden_dim, dim=-1)
        candidate = torch.cat((x, z * state), dim=-1)
        hc = torch.tanh(self.update(candidate, node_embeddings))
        return r * state + (1 - r) * hc


class AGCRN(nn.Module):
    def __init__(self):
        super().__init__()
        self.node_embeddings = nn.Parameter(torch.empty(N, D))
        self.cells = nn.ModuleList([AGCRNCell(CIN, H, K, D), AGCRNCell(H, H, K, D)])
        self.end_conv = nn.Conv2d(1, HOR * COUT, kernel_size=(1, H), bias=True)

    def forward(self, source):
        # source: B, T, N, C
        current = source
        for cell in self.cells:
            state = torch.zeros(source.shape[0], N, H)
            inner = []
            for t in range(T):
                state = cell(current[:, t], state, self.node_embeddings)
                inner.append(state)
            current = torch.stack(inner, dim=1)
        output = current[:, -1:, :, :]
        output = self.end_conv(output)                       # B, HOR*C, N, 1
        output = output.squeeze(-1).reshape(-1, HOR, COUT, N)
        return output.permute(0, 1, 3, 2)


def make():
    g = torch.Generator().manual_seed(11)
    m = AGCRN()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, T, N, CIN).astype("float32"),)
