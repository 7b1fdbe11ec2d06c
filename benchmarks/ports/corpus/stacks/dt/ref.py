"""Decision Transformer: (return, state, action) tokens, causal GPT with left padding."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
STATE, ACT, DIM, HEADS, LAYERS, MAX_EP = 7, 3, 24, 3, 2, 40


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.c_attn, self.c_proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.fc, self.out = nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)

    def attention(self, x, mask):
        B, L, _ = x.shape
        q, k, v = (y.view(B, L, HEADS, -1).transpose(1, 2) for y in self.c_attn(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (DIM // HEADS) ** 0.5
        weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(B, L, DIM))

    def forward(self, x, mask):
        x = x + self.attention(self.ln_1(x), mask)
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class DecisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_timestep = nn.Embedding(MAX_EP, DIM)
        self.embed_return, self.embed_state = nn.Linear(1, DIM), nn.Linear(STATE, DIM)
        self.embed_action = nn.Linear(ACT, DIM)
        self.embed_ln, self.ln_f = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.predict_action, self.predict_return = nn.Linear(DIM, ACT), nn.Linear(DIM, 1)

    def forward(self, returns, states, actions, timesteps, attention_mask):
        B, T = timesteps.shape
        time = self.embed_timestep(timesteps)
        tokens = torch.stack([self.embed_return(returns) + time, self.embed_state(states) + time,
                              self.embed_action(actions) + time], dim=2)
        x = self.embed_ln(tokens.reshape(B, 3 * T, DIM))
        valid = attention_mask.bool().repeat_interleave(3, dim=1)
        causal = torch.ones(3 * T, 3 * T, dtype=torch.bool).tril()
        mask = (causal & valid[:, None, :])[:, None]
        for block in self.blocks:
            x = block(x, mask)
        x = self.ln_f(x).view(B, T, 3, DIM)
        keep = attention_mask.unsqueeze(-1).to(x.dtype)
        return torch.tanh(self.predict_action(x[:, :, 1])) * keep, self.predict_return(x[:, :, 2]) * keep


def make():
    torch.manual_seed(14)
    net = DecisionTransformer().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.normal_(1.0, 0.2)
                m.bias.normal_(0.0, 0.2)
            elif isinstance(m, nn.Linear):
                m.weight.mul_(1.7)
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    B, T = 4, 5
    start = g.integers(0, MAX_EP - T, B)
    mask = (np.arange(T) >= np.array([0, 2, 1, 0])[:, None]).astype("int64")
    times = (start[:, None] + np.arange(T)) * mask
    keep = mask[..., None].astype("float32")
    n = lambda k: g.normal(size=(B, T, k)).astype("float32") * keep
    return n(1) * 2, n(STATE), np.tanh(n(ACT)), times, mask
