"""Rewrite without packing and without log-space recursions: time-major, scaled (Rabiner) forward-backward.

The whole model traces cleanly, which the packed version did not."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def flip_valid(x, lengths):
    """Reverse the first `lengths` steps of (T, B, F), leave the padding where it is."""
    t = torch.arange(x.shape[0])[:, None]
    idx = torch.where(t < lengths, lengths - 1 - t, t)
    return x.gather(0, idx[:, :, None].expand_as(x))


class Segmenter(nn.Module):
    def __init__(self, d=6, h=12, k=5):
        super().__init__()
        self.proj = nn.Linear(d, h)
        self.fwd, self.bwd = nn.LSTM(h, h), nn.LSTM(h, h)
        self.emit = nn.Linear(2 * h, k)
        self.start, self.end = nn.Parameter(torch.randn(k)), nn.Parameter(torch.randn(k))
        self.trans = nn.Parameter(torch.randn(k, k))

    def features(self, x, lengths):
        x = torch.tanh(self.proj(x))
        left = self.fwd(x)[0]
        right = flip_valid(self.bwd(flip_valid(x, lengths))[0], lengths)
        return self.emit(torch.cat([left, right], dim=-1))

    def scaled_forward(self, em, m):
        """p(state | emissions so far) and the running log normaliser."""
        shift = em.amax(-1, keepdim=True)
        like = (em - shift).exp()
        A = self.trans.exp()
        a = self.start.exp() * like[0]
        c = a.sum(-1, keepdim=True)
        filt, logz = [a / c], (c.log() + shift[0])
        for t in range(1, em.shape[0]):
            a = (filt[-1] @ A) * like[t]
            c = a.sum(-1, keepdim=True)
            filt.append(torch.where(m[t], a / c, filt[-1]))
            logz = logz + m[t] * (c.log() + shift[t])
        fin = (filt[-1] * self.end.exp()).sum(-1, keepdim=True)
        return torch.stack(filt), (logz + fin.log()).squeeze(-1), like

    def scaled_backward(self, like, m):
        A = self.trans.exp()
        b = self.end.exp().expand(like.shape[1], -1)
        out = [b]
        for t in range(like.shape[0] - 1, 0, -1):
            prev = (like[t] * b) @ A.T
            prev = prev / prev.sum(-1, keepdim=True)
            b = torch.where(m[t], prev, b)
            out.append(b)
        return torch.stack(out[::-1])

    def path_score(self, em, tags, lengths, m):
        k = em.shape[-1]
        onehot = F.one_hot(tags, k).to(em.dtype)                       # (T, B, K)
        emission = (onehot * em * m).sum((0, 2))
        pair = torch.einsum("tbi,ij,tbj->tb", onehot[:-1], self.trans, onehot[1:])
        last = onehot[lengths - 1, torch.arange(tags.shape[1])]
        return onehot[0] @ self.start + emission + (pair * m[1:, :, 0]).sum(0) + last @ self.end

    def viterbi_score(self, em, m):
        v = self.start + em[0]
        for t in range(1, em.shape[0]):
            cand = torch.max(v.unsqueeze(2) + self.trans.unsqueeze(0), dim=1).values + em[t]
            v = torch.where(m[t], cand, v)
        return torch.max(v + self.end, dim=-1).values

    def forward(self, x, lengths, tags):
        x, tags = x.transpose(0, 1), tags.t()
        m = (torch.arange(x.shape[0])[:, None] < lengths)[..., None]
        em = self.features(x, lengths)
        filt, logz, like = self.scaled_forward(em, m)
        post = filt * self.scaled_backward(like, m)
        post = post / post.sum(-1, keepdim=True) * m
        return {"nll": logz - self.path_score(em, tags, lengths, m), "marginals": post.transpose(0, 1),
                "map_gap": logz - self.viterbi_score(em, m)}


def make():
    torch.manual_seed(30)
    return Segmenter().eval()


def load(model, reference):
    sd = reference.state_dict()
    new = {k: sd[k] for k in ("proj.weight", "proj.bias", "emit.weight", "emit.bias")}
    for p in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        new["fwd." + p] = sd["lstm." + p]
        new["bwd." + p] = sd["lstm." + p + "_reverse"]
    for p in ("start", "end", "trans"):
        new[p] = sd["crf." + p]
    model.load_state_dict(new)
