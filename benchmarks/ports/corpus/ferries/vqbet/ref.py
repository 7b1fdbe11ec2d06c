"""VQ-BeT: goal-conditioned minGPT with a residual-VQ action head, torch."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, DIM, HEADS, T, GOALS = 5, 4, 16, 2, 4, 2
GROUPS, CODES, ZDIM = 2, 6, 8
GAMMA = 2.0


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(DIM, 3 * DIM)
        self.c_proj = nn.Linear(DIM, DIM)
        self.register_buffer("bias", torch.tril(torch.ones(T + GOALS, T + GOALS))
                             .view(1, 1, T + GOALS, T + GOALS))

    def forward(self, x):
        B, L, C = x.size()
        q, k, v = self.c_attn(x).split(DIM, dim=2)
        k = k.view(B, L, HEADS, C // HEADS).transpose(1, 2)
        q = q.view(B, L, HEADS, C // HEADS).transpose(1, 2)
        v = v.view(B, L, HEADS, C // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :L, :L] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, L, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(DIM)
        self.attn = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class ResidualVQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.codebooks = nn.Parameter(torch.randn(GROUPS, CODES, ZDIM))

    def forward(self, z):
        residual = z
        quantized = torch.zeros_like(z)
        codes = []
        for g in range(GROUPS):
            book = self.codebooks[g]
            dist = (residual.pow(2).sum(-1, keepdim=True)
                    - 2 * residual @ book.t() + book.pow(2).sum(-1))
            idx = dist.argmin(-1)
            q = F.embedding(idx, book)
            residual = residual - q
            quantized = quantized + q
            codes.append(idx)
        return quantized, torch.stack(codes, -1)

    def lookup(self, codes):
        return sum(F.embedding(codes[..., g], self.codebooks[g]) for g in range(GROUPS))


class VQBeT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Linear(OBS, DIM)
        self.goal_tok = nn.Linear(OBS, DIM)
        self.pos = nn.Parameter(torch.zeros(1, T + GOALS, DIM))
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.ln_f = nn.LayerNorm(DIM)
        self.encoder = nn.Sequential(nn.Linear(ACT, 16), nn.ReLU(), nn.Linear(16, ZDIM))
        self.decoder = nn.Sequential(nn.Linear(ZDIM, 16), nn.ReLU(), nn.Linear(16, ACT))
        self.vq = ResidualVQ()
        self.bin1 = nn.Linear(DIM, CODES)
        self.bin2 = nn.Linear(DIM + CODES, CODES)
        self.offset = nn.Linear(DIM, GROUPS * CODES * ACT)

    def gpt(self, obs, goal):
        x = torch.cat([self.goal_tok(goal), self.tok(obs)], dim=1)
        x = x + self.pos[:, :x.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)
        return x[:, goal.shape[1]:]

    def forward(self, obs, goal, action):
        h = self.gpt(obs, goal)
        B, L, _ = h.shape

        # what to imitate
        quantized, target = self.vq(self.encoder(action))
        recon = self.decoder(quantized)

        # what is predicted
        logits1 = self.bin1(h)
        code1 = logits1.argmax(-1)
        logits2 = self.bin2(torch.cat([h, F.one_hot(code1, CODES).float()], -1))
        code2 = logits2.argmax(-1)
        codes = torch.stack([code1, code2], -1)

        offset = self.offset(h).view(B, L, GROUPS, CODES, ACT)
        index = codes[..., None, None].expand(B, L, GROUPS, 1, ACT)
        offset = offset.gather(3, index).squeeze(3).sum(2)
        predicted = self.decoder(self.vq.lookup(codes)) + offset

        logp = F.log_softmax(torch.stack([logits1, logits2], 2), -1)
        logpt = logp.gather(-1, target[..., None]).squeeze(-1)
        focal = -1 * (1 - logpt.exp()) ** GAMMA * logpt
        return predicted, recon, focal


def make():
    torch.manual_seed(3)
    model = VQBeT()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, nn.Linear):
                m.weight.normal_(0, 1.0 / math.sqrt(m.in_features))
                m.bias.normal_(0, 0.3)
            elif isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.6, 1.4)
                m.bias.normal_(0, 0.2)
        model.pos.normal_(0, 0.4)
        model.vq.codebooks.normal_(0, 0.5)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(4, T, OBS).astype(np.float32), rng.randn(4, GOALS, OBS).astype(np.float32),
            rng.randn(4, T, ACT).astype(np.float32))
