"""DETR's transformer and heads (Carion et al. 2020), after the authors' code."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
CHANNELS, D, HEADS, FF, QUERIES, CLASSES, ENC, DEC = 10, 16, 4, 24, 5, 6, 1, 2


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        self.num_layers = num_layers
        h = [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([input_dim] + h, h + [output_dim]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < self.num_layers - 1 else layer(x)
        return x


class PositionEmbeddingSine(nn.Module):
    def __init__(self, num_pos_feats, temperature=10000, normalize=True):
        super().__init__()
        self.num_pos_feats = num_pos_feats
        self.temperature = temperature
        self.normalize = normalize
        self.scale = 2 * math.pi

    def forward(self, mask):
        not_mask = ~mask
        y_embed = not_mask.cumsum(1, dtype=torch.float32)
        x_embed = not_mask.cumsum(2, dtype=torch.float32)
        if self.normalize:
            eps = 1e-6
            y_embed = y_embed / (y_embed[:, -1:, :] + eps) * self.scale
            x_embed = x_embed / (x_embed[:, :, -1:] + eps) * self.scale
        dim_t = torch.arange(self.num_pos_feats, dtype=torch.float32)
        dim_t = self.temperature ** (2 * torch.div(dim_t, 2, rounding_mode="floor") / self.num_pos_feats)
        pos_x = x_embed[:, :, :, None] / dim_t
        pos_y = y_embed[:, :, :, None] / dim_t
        pos_x = torch.stack((pos_x[:, :, :, 0::2].sin(), pos_x[:, :, :, 1::2].cos()), dim=4).flatten(3)
        pos_y = torch.stack((pos_y[:, :, :, 0::2].sin(), pos_y[:, :, :, 1::2].cos()), dim=4).flatten(3)
        return torch.cat((pos_y, pos_x), dim=3).permute(0, 3, 1, 2)


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(D, HEADS)
        self.linear1, self.linear2 = nn.Linear(D, FF), nn.Linear(FF, D)
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, src, mask, pos):
        q = k = src + pos
        src2 = self.self_attn(q, k, value=src, key_padding_mask=mask)[0]
        src = self.norm1(src + src2)
        src2 = self.linear2(F.relu(self.linear1(src)))
        return self.norm2(src + src2)


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(D, HEADS)
        self.multihead_attn = nn.MultiheadAttention(D, HEADS)
        self.linear1, self.linear2 = nn.Linear(D, FF), nn.Linear(FF, D)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, tgt, memory, mask, pos, query_pos):
        q = k = tgt + query_pos
        tgt2 = self.self_attn(q, k, value=tgt)[0]
        tgt = self.norm1(tgt + tgt2)
        tgt2 = self.multihead_attn(
            query=tgt + query_pos, key=memory + pos, value=memory, key_padding_mask=mask
        )[0]
        tgt = self.norm2(tgt + tgt2)
        tgt2 = self.linear2(F.relu(self.linear1(tgt)))
        return self.norm3(tgt + tgt2)


class DETR(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_proj = nn.Conv2d(CHANNELS, D, kernel_size=1)
        self.position = PositionEmbeddingSine(D // 2)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(ENC))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(DEC))
        self.norm = nn.LayerNorm(D)
        self.query_embed = nn.Embedding(QUERIES, D)
        self.class_embed = nn.Linear(D, CLASSES + 1)
        self.bbox_embed = MLP(D, D, 4, 3)

    def forward(self, features, mask):
        mask = mask > 0.5
        bs = features.shape[0]
        src = self.input_proj(features).flatten(2).permute(2, 0, 1)
        pos = self.position(mask).flatten(2).permute(2, 0, 1)
        query_pos = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        mask = mask.flatten(1)
        for layer in self.encoder:
            src = layer(src, mask, pos)
        tgt = torch.zeros_like(query_pos)
        intermediate = []
        for layer in self.decoder:
            tgt = layer(tgt, src, mask, pos, query_pos)
            intermediate.append(self.norm(tgt))
        hs = torch.stack(intermediate).transpose(1, 2)
        logits = self.class_embed(hs)
        boxes = self.bbox_embed(hs).sigmoid()
        return logits, boxes


def make():
    torch.manual_seed(91)
    model = DETR()
    for name, p in model.named_parameters():
        if "norm" in name and name.endswith("weight"):
            nn.init.uniform_(p, 0.6, 1.4)
        elif p.ndim == 1:
            nn.init.normal_(p, 0, 0.2)
        elif p.ndim == 2 and "query_embed" not in name:
            nn.init.normal_(p, 0, 1.3 / math.sqrt(p.shape[1]))
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(4, CHANNELS, 4, 5)).astype("float32")
    mask = np.ones((4, 4, 5), dtype="float32")
    for i, (h, w) in enumerate([(4, 5), (3, 5), (4, 3), (2, 4)]):
        mask[i, :h, :w] = 0
    return features, mask
