"""Ego-attention driving policy, on torch's fused attention and LSTM."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
VEH, FEATS, DIM, HEADS, ACTIONS, STEPS = 6, 7, 16, 4, 5, 3


def embed():
    return nn.Sequential(nn.Linear(FEATS, 16), nn.ReLU(), nn.Linear(16, DIM), nn.ReLU())


class DuelingHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Linear(DIM, 1)
        self.adv = nn.Linear(DIM, ACTIONS)

    def forward(self, h):
        a = self.adv(h)
        a = a - a.mean(-1, keepdim=True)
        return self.value(h) + a


class EgoPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.ego = embed()
        self.others = embed()
        self.attn = nn.MultiheadAttention(DIM, HEADS, bias=False, batch_first=True)
        self.lstm = nn.LSTM(DIM, DIM, batch_first=True)
        self.head = DuelingHead()

    def forward(self, x):
        b, s = x.shape[0], x.shape[1]
        x = x.flatten(0, 1)
        absent = x[..., 0] < 0.5
        ego = self.ego(x[:, :1])
        tokens = torch.cat([ego, self.others(x[:, 1:])], dim=1)
        ctx, weights = self.attn(ego, tokens, tokens, key_padding_mask=absent,
                                 average_attn_weights=False)
        emb = 0.5 * (ctx + ego)
        out, _ = self.lstm(emb.reshape(b, s, DIM))
        return self.head(out[:, -1]), weights.reshape(b, s, HEADS, VEH)


def make():
    torch.manual_seed(8)
    model = EgoPolicy()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    x = rng.randn(5, STEPS, VEH, FEATS).astype(np.float32)
    present = (rng.rand(5, STEPS, VEH) < 0.6).astype(np.float32)
    present[:, :, 0] = 1
    present[:, :, -1] = 0
    x[..., 0] = present
    x *= present[..., None]
    return (x,)


@torch.no_grad()
def load(ported, original):
    for dst, src in ((ported.ego, original.ego_embedding), (ported.others, original.others_embedding)):
        for i, layer in enumerate(src.layers):
            dst[2 * i].load_state_dict(layer.state_dict())
    a = original.attention_layer
    ported.attn.in_proj_weight.copy_(torch.cat([a.query_ego.weight, a.key_all.weight, a.value_all.weight]))
    ported.attn.out_proj.weight.copy_(a.attention_combine.weight)
    m = original.memory
    ported.lstm.weight_ih_l0.copy_(m.ih.weight)
    ported.lstm.bias_ih_l0.copy_(m.ih.bias)
    ported.lstm.weight_hh_l0.copy_(m.hh.weight)
    ported.lstm.bias_hh_l0.copy_(m.hh.bias)
    ported.head.value.load_state_dict(original.value.state_dict())
    ported.head.adv.load_state_dict(original.advantage.state_dict())
