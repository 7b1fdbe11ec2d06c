"""Crossformer (Zhang & Yan 2023): segment embedding, two-stage attention, hierarchical decoder."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
DIMS, IN_LEN, OUT_LEN, SEG, WIN = 5, 24, 12, 6, 2
D, HEADS, FF, FACTOR, LAYERS = 12, 3, 20, 3, 2


class FullAttention(nn.Module):
    def forward(self, queries, keys, values):
        E = queries.shape[-1]
        scores = torch.einsum("blhe,bshe->bhls", queries, keys)
        A = torch.softmax(scores / math.sqrt(E), dim=-1)
        return torch.einsum("bhls,bshd->blhd", A, values)


class AttentionLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = FullAttention()
        self.query_projection = nn.Linear(D, D)
        self.key_projection = nn.Linear(D, D)
        self.value_projection = nn.Linear(D, D)
        self.out_projection = nn.Linear(D, D)

    def forward(self, queries, keys, values):
        B, L, _ = queries.shape
        S = keys.shape[1]
        queries = self.query_projection(queries).view(B, L, HEADS, -1)
        keys = self.key_projection(keys).view(B, S, HEADS, -1)
        values = self.value_projection(values).view(B, S, HEADS, -1)
        out = self.inner(queries, keys, values).reshape(B, L, -1)
        return self.out_projection(out)


class TwoStageAttention(nn.Module):
    def __init__(self, seg_num):
        super().__init__()
        self.time_attention = AttentionLayer()
        self.dim_sender = AttentionLayer()
        self.dim_receiver = AttentionLayer()
        self.router = nn.Parameter(torch.randn(seg_num, FACTOR, D))
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.norm3, self.norm4 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.MLP1 = nn.Sequential(nn.Linear(D, FF), nn.GELU(), nn.Linear(FF, D))
        self.MLP2 = nn.Sequential(nn.Linear(D, FF), nn.GELU(), nn.Linear(FF, D))

    def forward(self, x):
        b, ts_d, seg_num, d = x.shape
        time_in = x.reshape(b * ts_d, seg_num, d)
        dim_in = time_in + self.time_attention(time_in, time_in, time_in)
        dim_in = self.norm1(dim_in)
        dim_in = dim_in + self.MLP1(dim_in)
        dim_in = self.norm2(dim_in)

        dim_send = dim_in.view(b, ts_d, seg_num, d).transpose(1, 2).reshape(b * seg_num, ts_d, d)
        batch_router = self.router.repeat(b, 1, 1)
        dim_buffer = self.dim_sender(batch_router, dim_send, dim_send)
        dim_receive = self.dim_receiver(dim_send, dim_buffer, dim_buffer)
        dim_enc = self.norm3(dim_send + dim_receive)
        dim_enc = self.norm4(dim_enc + self.MLP2(dim_enc))
        return dim_enc.view(b, seg_num, ts_d, d).transpose(1, 2)


class SegMerging(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_trans = nn.Linear(WIN * D, D)
        self.norm = nn.LayerNorm(WIN * D)

    def forward(self, x):
        seg_to_merge = [x[:, :, i::WIN, :] for i in range(WIN)]
        x = torch.cat(seg_to_merge, dim=-1)
        return self.linear_trans(self.norm(x))


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attention = TwoStageAttention(OUT_LEN // SEG)
        self.cross_attention = AttentionLayer()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.MLP1 = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.Linear(D, D))
        self.linear_pred = nn.Linear(D, SEG)

    def forward(self, x, cross):
        b, ts_d, out_seg, d = x.shape
        x = self.self_attention(x).reshape(b * ts_d, out_seg, d)
        cross = cross.reshape(b * ts_d, -1, d)
        x = self.norm1(x + self.cross_attention(x, cross, cross))
        out = self.norm2(x + self.MLP1(x)).view(b, ts_d, out_seg, d)
        predict = self.linear_pred(out).reshape(b, ts_d * out_seg, SEG)
        return out, predict


class Crossformer(nn.Module):
    def __init__(self):
        super().__init__()
        seg_num = IN_LEN // SEG
        self.value_embedding = nn.Linear(SEG, D)
        self.enc_pos_embedding = nn.Parameter(torch.randn(1, DIMS, seg_num, D))
        self.pre_norm = nn.LayerNorm(D)
        self.blocks = nn.ModuleList(TwoStageAttention(seg_num // WIN**i) for i in range(LAYERS))
        self.merges = nn.ModuleList(SegMerging() for _ in range(LAYERS - 1))
        self.dec_pos_embedding = nn.Parameter(torch.randn(1, DIMS, OUT_LEN // SEG, D))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(LAYERS + 1))

    def embed(self, x_seq):
        batch, ts_len, ts_dim = x_seq.shape
        x = x_seq.view(batch, ts_len // SEG, SEG, ts_dim)
        x = x.permute(0, 3, 1, 2)  # b d seg_num seg_len
        return self.value_embedding(x)

    def encode(self, x):
        out = [x]
        for i, block in enumerate(self.blocks):
            if i > 0:
                x = self.merges[i - 1](x)
            x = block(x)
            out.append(x)
        return out

    def forward(self, x_seq):
        base = x_seq.mean(dim=1, keepdim=True)
        b = x_seq.shape[0]
        x = self.embed(x_seq)
        x = self.pre_norm(x + self.enc_pos_embedding)
        enc = self.encode(x)
        x = self.dec_pos_embedding.repeat(b, 1, 1, 1)
        final = None
        for i, layer in enumerate(self.decoder):
            x, predict = layer(x, enc[i])
            final = predict if final is None else final + predict
        final = final.view(b, DIMS, OUT_LEN // SEG, SEG).permute(0, 2, 3, 1).reshape(b, OUT_LEN, DIMS)
        return base + final


def make():
    torch.manual_seed(51)
    model = Crossformer()
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.6, 1.4)
            nn.init.normal_(module.bias, 0, 0.2)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 1.5 / math.sqrt(module.in_features))
            nn.init.normal_(module.bias, 0, 0.2)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(IN_LEN)[None, :, None]
    wave = np.sin(t * rng.uniform(0.2, 1.0, (4, 1, DIMS)) + rng.uniform(0, 6, (4, 1, DIMS)))
    return ((wave + rng.normal(0.3, 0.4, (4, IN_LEN, DIMS))).astype("float32"),)
