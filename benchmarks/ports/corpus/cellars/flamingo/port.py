import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VOCAB, MEDIA_ID, D, HEADS, DH, LAT = 17, 3, 12, 2, 5, 4


class SquaredReLU(nn.Module):
    def forward(self, x):
        return F.relu(x).square()


def feed_forward(dim, mult=2):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * mult, bias=False), SquaredReLU(),
                         nn.Linear(dim * mult, dim, bias=False))


class CrossAttention(nn.Module):
    """Fused: one kv projection, scaled_dot_product_attention."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(D, HEADS * DH, bias=False)
        self.kv = nn.Linear(D, 2 * HEADS * DH, bias=False)
        self.out = nn.Linear(HEADS * DH, D, bias=False)

    def forward(self, x, context, mask=None):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, HEADS, DH).transpose(1, 2)
        k, v = self.kv(context).view(b, -1, 2, HEADS, DH).permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(o.transpose(1, 2).reshape(b, n, HEADS * DH))


class PerceiverResampler(nn.Module):
    def __init__(self, depth=2, max_media=4):
        super().__init__()
        self.latents = nn.Parameter(torch.zeros(LAT, D))
        self.media_pos = nn.Parameter(torch.zeros(max_media, D))
        self.norm_x = nn.ModuleList([nn.LayerNorm(D) for _ in range(depth)])
        self.norm_l = nn.ModuleList([nn.LayerNorm(D) for _ in range(depth)])
        self.attn = nn.ModuleList([CrossAttention() for _ in range(depth)])
        self.ff = nn.ModuleList([feed_forward(D) for _ in range(depth)])
        self.norm = nn.LayerNorm(D)

    def forward(self, vision):
        b, m, n, d = vision.shape
        x = vision + self.media_pos[None, :m, None]
        x = x.view(b * m, n, d)
        lat = self.latents.repeat(b * m, 1, 1)
        for nx, nl, attn, ff in zip(self.norm_x, self.norm_l, self.attn, self.ff):
            q = nl(lat)
            context = torch.cat([nx(x), q], dim=1)
            lat = lat + attn(q, context)
            lat = lat + ff(lat)
        return self.norm(lat).view(b, m * LAT, d)


class GatedXAttn(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.attn = CrossAttention()
        self.ff = feed_forward(D)
        self.alpha_attn = nn.Parameter(torch.zeros(()))
        self.alpha_ff = nn.Parameter(torch.zeros(()))

    def forward(self, x, media, see, has_media):
        a = self.attn(self.norm(x), media, see)
        a = a * has_media
        x = x + torch.tanh(self.alpha_attn) * a
        return x + torch.tanh(self.alpha_ff) * self.ff(x)


class CausalBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.mha = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.ff = feed_forward(D)

    def forward(self, x):
        n = x.shape[1]
        future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        h = self.norm(x)
        a, _ = self.mha(h, h, h, attn_mask=future, need_weights=False)
        x = x + a
        return x + self.ff(x)


class Flamingo(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, D)
        self.wpe = nn.Embedding(16, D)
        self.resampler = PerceiverResampler()
        self.xattn = nn.ModuleList([GatedXAttn() for _ in range(layers)])
        self.blocks = nn.ModuleList([CausalBlock() for _ in range(layers)])
        self.ln_f = nn.LayerNorm(D)

    def forward(self, text, vision):
        m = vision.shape[1]
        seen = torch.cumsum(text == MEDIA_ID, dim=1)
        which = torch.arange(1, m + 1).repeat_interleave(LAT)
        see = torch.where(seen.unsqueeze(-1) == which, 0.0, -1e30).unsqueeze(1)
        has_media = (seen > 0).unsqueeze(-1).float()
        media = self.resampler(vision)
        x = self.wte(text) + self.wpe.weight[:text.shape[1]]
        for c, d in zip(self.xattn, self.blocks):
            x = c(x, media, see, has_media)
            x = d(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def make():
    torch.manual_seed(141)
    m = Flamingo()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if p.ndim == 0:
                p.fill_(0.8)
            elif p.ndim == 1 and n.endswith("weight"):
                p.copy_(torch.rand(p.shape) + 0.5)
            else:
                p.copy_(torch.randn(p.shape) * 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    text = r.randint(4, VOCAB, (4, 9)).astype("int64")
    for b, at in enumerate(((0, 4), (2, 5), (1, 3), (3, 6))):
        for t in at:
            text[b, t] = MEDIA_ID
    return text, r.randn(4, 2, 6, D).astype("float32")


@torch.no_grad()
def load(ported, original):
    def ln(a, b):
        a.weight.copy_(b.weight)
        a.bias.copy_(b.bias)

    def ff(a, b):
        ln(a[0], b.norm)
        a[1].weight.copy_(b.fc1.weight)
        a[3].weight.copy_(b.fc2.weight)

    def xa(a, b):
        a.q.weight.copy_(b.to_q.weight)
        a.kv.weight.copy_(torch.cat([b.to_k.weight, b.to_v.weight]))
        a.out.weight.copy_(b.to_out.weight)

    ported.wte.weight.copy_(original.embed.weight)
    ported.wpe.weight.copy_(original.pos.weight)
    r, s = ported.resampler, original.resampler
    r.latents.copy_(s.latents)
    r.media_pos.copy_(s.media_pos[:, 0])
    ln(r.norm, s.norm)
    for i, (at, f) in enumerate(s.layers):
        ln(r.norm_x[i], at.norm_media)
        ln(r.norm_l[i], at.norm_latents)
        xa(r.attn[i], at)
        ff(r.ff[i], f)
    for a, b in zip(ported.xattn, original.cross):
        ln(a.norm, b.attn.norm)
        xa(a.attn, b.attn)
        ff(a.ff, b.ff)
        a.alpha_attn.copy_(b.attn_gate[0])
        a.alpha_ff.copy_(b.ff_gate[0])
    for a, b in zip(ported.blocks, original.decoder):
        ln(a.norm, b.norm)
        ff(a.ff, b.ff)
        a.mha.in_proj_weight.copy_(torch.cat([b.q_proj.weight, b.k_proj.weight, b.v_proj.weight]))
        a.mha.in_proj_bias.copy_(torch.cat([b.q_proj.bias, b.k_proj.bias, b.v_proj.bias]))
        a.mha.out_proj.weight.copy_(b.out_proj.weight)
        a.mha.out_proj.bias.copy_(b.out_proj.bias)
    ln(ported.ln_f, original.norm)
