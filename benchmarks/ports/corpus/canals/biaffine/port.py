import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"


class BiaffineAttention(nn.Module):
    def __init__(self, dim, n_out=1, bias_y=True):
        super().__init__()
        self.bias_y = bias_y
        self.weight = nn.Parameter(torch.randn(n_out, dim + 1, dim + int(bias_y)) * 0.1)

    def forward(self, x, y):
        x = torch.cat([x, torch.ones_like(x[..., :1])], -1)
        if self.bias_y:
            y = torch.cat([y, torch.ones_like(y[..., :1])], -1)
        return torch.einsum("bxi,oij,byj->boxy", x, self.weight, y)


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.LeakyReLU(0.1))


class BiaffineParser(nn.Module):
    def __init__(self, n_words=60, n_tags=12, n_labels=6, dim=24, tag_dim=8, hidden=20, arc=16):
        super().__init__()
        # row 0 is the padding, real ids are shifted by one
        self.word_emb = nn.Embedding(n_words + 1, dim, padding_idx=0)
        self.tag_emb = nn.Embedding(n_tags + 1, tag_dim, padding_idx=0)
        self.encoder = nn.LSTM(dim + tag_dim, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.mlp_arc_d = mlp(2 * hidden, arc)
        self.mlp_arc_h = mlp(2 * hidden, arc)
        self.mlp_rel_d = mlp(2 * hidden, arc)
        self.mlp_rel_h = mlp(2 * hidden, arc)
        self.arc_attn = BiaffineAttention(arc, 1, bias_y=False)
        self.rel_attn = BiaffineAttention(arc, n_labels, bias_y=True)

    def encode(self, words, tags, lengths):
        x = torch.cat([self.word_emb(words + 1), self.tag_emb(tags + 1)], -1)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.encoder(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=words.size(1))
        return out

    def forward(self, words, tags):
        mask = words.ge(0)
        h = self.encode(words, tags, mask.sum(1))
        s_arc = self.arc_attn(self.mlp_arc_d(h), self.mlp_arc_h(h)).squeeze(1)
        s_arc = s_arc.masked_fill(~mask.unsqueeze(1), -1e4)
        s_rel = self.rel_attn(self.mlp_rel_d(h), self.mlp_rel_h(h))
        p = s_arc.softmax(-1)
        label = torch.einsum("bxy,boxy->bxo", p, s_rel)
        return s_arc, label


def make():
    torch.manual_seed(5)
    return BiaffineParser().eval()


ORDER = (0, 1, 2, 3)  # w0..w3: input, forget, cell, output, as torch stacks them


@torch.no_grad()
def load(ported, original):
    def put(dst, src):
        dst.copy_(torch.from_numpy(np.ascontiguousarray(src)))

    put(ported.word_emb.weight[1:], original.word.W.array)
    put(ported.tag_emb.weight[1:], original.tag.W.array)
    ported.word_emb.weight[0] = 0
    ported.tag_emb.weight[0] = 0
    for layer in range(2):
        for direction, suffix in enumerate(("", "_reverse")):
            link = original.lstm[2 * layer + direction]
            for kind, base in (("ih", 0), ("hh", 4)):
                w = [getattr(link, f"w{base + k}").array for k in ORDER]
                b = [getattr(link, f"b{base + k}").array for k in ORDER]
                put(getattr(ported.encoder, f"weight_{kind}_l{layer}{suffix}"), np.concatenate(w))
                put(getattr(ported.encoder, f"bias_{kind}_l{layer}{suffix}"), np.concatenate(b))
    for mine, theirs in (("mlp_arc_d", "arc_dep"), ("mlp_arc_h", "arc_head"), ("mlp_rel_d", "rel_dep"), ("mlp_rel_h", "rel_head")):
        put(getattr(ported, mine)[0].weight, original[theirs].fc.W.array)
        put(getattr(ported, mine)[0].bias, original[theirs].fc.b.array)
    put(ported.arc_attn.weight, original.arc.U.array)
    put(ported.rel_attn.weight, original.rel.U.array)


def inputs(seed=0):
    g = np.random.RandomState(seed)
    w, t = g.randint(0, 60, (5, 9)), g.randint(0, 12, (5, 9))
    for row, n in enumerate((9, 8, 6, 5, 3)):
        w[row, n:] = t[row, n:] = -1
    return w.astype(np.int32), t.astype(np.int32)
