import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class Sinusoid(nn.Module):
    def __init__(self, d, maxlen=128):
        super().__init__()
        p = torch.arange(maxlen).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
        table = torch.stack([(p * div).sin(), (p * div).cos()], dim=-1).flatten(1)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class SelfAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, pad):
        B, T, D = x.shape
        q = self.wq(x).view(B, T, self.h, self.dk).transpose(1, 2)
        k = self.wk(x).view(B, T, self.h, self.dk).transpose(1, 2)
        v = self.wv(x).view(B, T, self.h, self.dk).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        att = att.masked_fill(pad.view(B, 1, 1, T), -1e9)
        out = att.softmax(-1) @ v
        return self.wo(out.transpose(1, 2).reshape(B, T, D))


class FFT(nn.Module):
    def __init__(self, d=32, h=2, ff=64):
        super().__init__()
        self.attn, self.ln1, self.ln2 = SelfAttention(d, h), nn.LayerNorm(d), nn.LayerNorm(d)
        self.w1, self.w2 = nn.Conv1d(d, ff, 9, padding=4), nn.Conv1d(ff, d, 1)

    def forward(self, x, pad):
        x = self.ln1(x + self.attn(x, pad)).masked_fill(pad.unsqueeze(-1), 0.0)
        z = self.w2(F.relu(self.w1(x.transpose(1, 2)))).transpose(1, 2)
        return self.ln2(x + z).masked_fill(pad.unsqueeze(-1), 0.0)


class Predictor(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.c1, self.c2 = (nn.Conv1d(d, d, 3, padding=1) for _ in range(2))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.proj = nn.Linear(d, 1)

    def forward(self, x, pad):
        x = self.n1(F.relu(self.c1(x.transpose(1, 2))).transpose(1, 2))
        x = self.n2(F.relu(self.c2(x.transpose(1, 2))).transpose(1, 2))
        return self.proj(x).squeeze(-1).masked_fill(pad, 0.0)


class LengthRegulator(nn.Module):
    def forward(self, x, dur, frames=48):
        B, T, D = x.shape
        ends = dur.cumsum(1)
        t = torch.arange(frames).expand(B, -1).contiguous()
        idx = torch.searchsorted(ends, t, right=True).clamp(max=T - 1)
        pad = t >= ends[:, -1:]
        out = x.gather(1, idx.unsqueeze(-1).expand(-1, -1, D))
        return out.masked_fill(pad.unsqueeze(-1), 0.0), pad


class FastSpeech2(nn.Module):
    def __init__(self, vocab=40, d=32, mels=20, bins=16):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, d), Sinusoid(d)
        self.enc = nn.ModuleList([FFT(d), FFT(d)])
        self.dec = nn.ModuleList([FFT(d)])
        self.dur_pred, self.pitch_pred = Predictor(d), Predictor(d)
        self.pitch_emb = nn.Embedding(bins, d)
        self.register_buffer("edges", torch.linspace(-2, 2, bins - 1))
        self.lr = LengthRegulator()
        self.to_mel = nn.Linear(d, mels)
        self.postnet = nn.Sequential(nn.Conv1d(mels, 24, 5, padding=2), nn.Tanh(), nn.Conv1d(24, mels, 5, padding=2))

    def forward(self, tok, dur, pitch):
        pad = tok == 0
        h = self.pos(self.emb(tok))
        for layer in self.enc:
            h = layer(h, pad)
        d_hat, p_hat = self.dur_pred(h, pad), self.pitch_pred(h, pad)
        h = h + self.pitch_emb(torch.bucketize(pitch, self.edges))
        y, ypad = self.lr(h, dur)
        y = self.pos(y)
        for layer in self.dec:
            y = layer(y, ypad)
        mel = self.to_mel(y)
        post = self.postnet(mel.transpose(1, 2)).transpose(1, 2)
        return mel, mel + post, d_hat, p_hat


def make():
    torch.manual_seed(21)
    net = FastSpeech2().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.05)
    return net


def load(ported, original):
    def put(t, v):
        t.data.copy_(torch.from_numpy(np.array(v)))

    def dense(m, l):
        put(m.weight, l.kernel.numpy().T), put(m.bias, l.bias)

    def conv(m, l):
        put(m.weight, l.kernel.numpy().transpose(2, 1, 0)), put(m.bias, l.bias)

    def norm(m, l):
        put(m.weight, l.gamma), put(m.bias, l.beta)

    def fft(m, l):
        for n in "qkvo":
            dense(getattr(m.attn, "w" + n), getattr(l, n))
        conv(m.w1, l.conv1), conv(m.w2, l.conv2), norm(m.ln1, l.norm1), norm(m.ln2, l.norm2)

    def pred(m, l):
        conv(m.c1, l.conv1), conv(m.c2, l.conv2), norm(m.n1, l.norm1), norm(m.n2, l.norm2), dense(m.proj, l.out)

    put(ported.emb.weight, original.embed.embeddings), put(ported.pitch_emb.weight, original.pitch_embed.embeddings)
    for m, l in zip([*ported.enc, *ported.dec], original.encoder + original.decoder):
        fft(m, l)
    pred(ported.dur_pred, original.duration), pred(ported.pitch_pred, original.pitch)
    dense(ported.to_mel, original.mel), conv(ported.postnet[0], original.post1), conv(ported.postnet[2], original.post2)


def inputs(seed=0):
    g = np.random.default_rng(seed)
    tok = g.integers(1, 40, (4, 12))
    for row, n in enumerate((12, 10, 7, 9)):
        tok[row, n:] = 0
    dur = np.where(tok > 0, g.integers(1, 5, (4, 12)), 0)
    pitch = np.where(tok > 0, g.standard_normal((4, 12)), 0).astype("float32")
    return tok.astype("int64"), dur.astype("int64"), pitch
