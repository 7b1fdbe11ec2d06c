"""Caser in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, L, D, NV, NH, ITEMS, UF, T = 4, 6, 8, 3, 4, 25, 5, 7


class Caser(nn.Module):
    def __init__(self):
        super().__init__()
        self.item_embeddings = nn.Embedding(ITEMS, D)
        self.user_embeddings = nn.Linear(UF, D)
        self.conv_v = nn.Conv2d(1, NV, (L, 1))
        self.conv_h = nn.ModuleList([nn.Conv2d(1, NH, (i + 1, D)) for i in range(L)])
        self.fc1 = nn.Linear(NV * D + NH * L, D)
        self.W2 = nn.Embedding(ITEMS, 2 * D)
        self.b2 = nn.Embedding(ITEMS, 1)

    def forward(self, seq_var, user_var, item_var):
        item_embs = self.item_embeddings(seq_var)
        item_embs = item_embs * (seq_var != 0).unsqueeze(-1).float()
        item_embs = item_embs.unsqueeze(1)
        out_v = self.conv_v(item_embs).squeeze(2)
        out_v = out_v.transpose(1, 2).flatten(1)
        out_hs = []
        for conv in self.conv_h:
            conv_out = F.relu(conv(item_embs).squeeze(3))
            pool_out = F.max_pool1d(conv_out, conv_out.size(2)).squeeze(2)
            out_hs.append(pool_out)
        out_h = torch.cat(out_hs, 1)
        out = torch.cat([out_v, out_h], 1)
        z = F.relu(self.fc1(out))
        x = torch.cat([z, self.user_embeddings(user_var)], 1)
        w2 = self.W2(item_var)
        b2 = self.b2(item_var)
        return torch.baddbmm(b2, w2, x.unsqueeze(2)).squeeze(2)


def make():
    torch.manual_seed(2)
    m = Caser()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    seq = r.randint(1, ITEMS, (B, L))
    seq[0, :2] = 0
    seq[2, :3] = 0
    seq[3, :1] = 0
    return (seq.astype("int64"), r.randn(B, UF).astype("float32"), r.randint(1, ITEMS, (B, T)).astype("int64"))


def load(p, o):
    def get(name):
        return [torch.from_numpy(np.array(w)) for w in o.get_layer(name).get_weights()]
    with torch.no_grad():
        p.item_embeddings.weight.copy_(get("item_emb")[0])
        p.W2.weight.copy_(get("W2")[0])
        p.b2.weight.copy_(get("b2")[0])
        for lin, name in ((p.user_embeddings, "user_emb"), (p.fc1, "fc1")):
            w, b = get(name)
            lin.weight.copy_(w.T)
            lin.bias.copy_(b)
        for conv, name in [(p.conv_v, "conv_v")] + [(c, f"conv_h{i + 1}") for i, c in enumerate(p.conv_h)]:
            w, b = get(name)
            conv.weight.copy_(w.permute(3, 2, 0, 1))
            conv.bias.copy_(b)
