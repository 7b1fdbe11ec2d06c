"""XLNet two-stream attention in PyTorch, after the transformers library."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VOCAB, D, HEADS, DH, FF, LAYERS = 14, 12, 2, 6, 20, 2
B, L, TGT = 4, 7, 3


def rel_shift(x, klen):
    """(b, n, i, j) -> shifted, first klen columns"""
    b, n, i, j = x.shape
    x = x.reshape(b, n, j, i)[:, :, 1:, :]
    x = x.reshape(b, n, i, j - 1)
    return x[:, :, :, :klen]


class RelativeAttention(nn.Module):
    def __init__(self):
        super().__init__()
        for k in "qkvor":
            setattr(self, k, nn.Parameter(torch.empty(D, HEADS, DH)))
        for k in ("r_w_bias", "r_r_bias", "r_s_bias"):
            setattr(self, k, nn.Parameter(torch.empty(HEADS, DH)))
        self.seg_embed = nn.Parameter(torch.empty(2, HEADS, DH))
        self.layer_norm = nn.LayerNorm(D, eps=1e-12)
        self.scale = 1 / DH ** 0.5

    def rel_attn_core(self, q_head, k_head, v_head, k_head_r, seg_mat, attn_mask):
        ac = torch.einsum("bind,bjnd->bnij", q_head + self.r_w_bias, k_head)
        bd = torch.einsum("bind,jnd->bnij", q_head + self.r_r_bias, k_head_r)
        bd = rel_shift(bd, klen=ac.shape[3])
        ef = torch.einsum("bind,snd->bnis", q_head + self.r_s_bias, self.seg_embed)
        ef = torch.einsum("bijs,bnis->bnij", seg_mat, ef)
        score = (ac + bd + ef) * self.scale
        score = score - 65500 * attn_mask.unsqueeze(1)
        prob = F.softmax(score, dim=3)
        return torch.einsum("bnij,bjnd->bind", prob, v_head)

    def post_attention(self, h, vec):
        return self.layer_norm(torch.einsum("bind,hnd->bih", vec, self.o) + h)

    def forward(self, h, g, mask_h, mask_g, r, seg_mat, target_mapping):
        k_head = torch.einsum("bih,hnd->bind", h, self.k)
        v_head = torch.einsum("bih,hnd->bind", h, self.v)
        k_head_r = torch.einsum("ih,hnd->ind", r, self.r)
        q_h = torch.einsum("bih,hnd->bind", h, self.q)
        out_h = self.post_attention(h, self.rel_attn_core(q_h, k_head, v_head, k_head_r, seg_mat, mask_h))
        q_g = torch.einsum("bih,hnd->bind", g, self.q)
        q_g = torch.einsum("bmnd,bml->blnd", q_g, target_mapping)
        vec = self.rel_attn_core(q_g, k_head, v_head, k_head_r, seg_mat, mask_g)
        vec = torch.einsum("blnd,bml->bmnd", vec, target_mapping)
        return out_h, self.post_attention(g, vec)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(D, FF)
        self.layer_2 = nn.Linear(FF, D)
        self.layer_norm = nn.LayerNorm(D, eps=1e-12)

    def forward(self, x):
        return self.layer_norm(self.layer_2(F.gelu(self.layer_1(x))) + x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rel_attn = RelativeAttention()
        self.ff = FeedForward()

    def forward(self, h, g, *args):
        h, g = self.rel_attn(h, g, *args)
        return self.ff(h), self.ff(g)


class XLNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embedding = nn.Embedding(VOCAB, D)
        self.mask_emb = nn.Parameter(torch.empty(1, 1, D))
        self.layer = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.lm_bias = nn.Parameter(torch.empty(VOCAB))

    def relative_positional_encoding(self, qlen, klen):
        freq_seq = torch.arange(0, D, 2.0)
        inv_freq = 1 / torch.pow(10000, freq_seq / D)
        pos_seq = torch.arange(klen, -qlen, -1.0)
        sinusoid = torch.einsum("i,d->id", pos_seq, inv_freq)
        return torch.cat([torch.sin(sinusoid), torch.cos(sinusoid)], dim=-1)

    def forward(self, ids, perm_mask, target_mapping, token_type):
        n = ids.shape[1]
        non_tgt = perm_mask - torch.eye(n)
        mask_h = (non_tgt > 0).float()
        mask_g = perm_mask
        seg_mat = (token_type[:, :, None] != token_type[:, None, :]).long()
        seg_mat = F.one_hot(seg_mat, num_classes=2).float()
        h = self.word_embedding(ids)
        g = self.mask_emb.expand(ids.shape[0], target_mapping.shape[1], -1)
        r = self.relative_positional_encoding(n, n)
        for layer in self.layer:
            h, g = layer(h, g, mask_h, mask_g, r, seg_mat, target_mapping)
        return F.linear(g, self.word_embedding.weight, self.lm_bias), h


def make():
    torch.manual_seed(29)
    m = XLNet()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if "layer_norm.weight" in n:
                p.uniform_(0.7, 1.3)
            else:
                p.normal_(0, 0.35)
        m.word_embedding.weight.mul_(3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    ids = r.randint(0, VOCAB, (B, L)).astype("int64")
    perm = np.zeros((B, L, L), "float32")
    target = np.zeros((B, TGT, L), "float32")
    for b in range(B):
        order = r.permutation(L)
        rank = np.argsort(order)
        perm[b] = (rank[None, :] >= rank[:, None])
        perm[b][:, order[0]] = 0.0
        for t in range(TGT):
            target[b, t, order[L - TGT + t]] = 1.0
    seg = (np.arange(L)[None] >= np.array([[3], [4], [2], [5]])).astype("int64")
    return ids, perm, target, seg
