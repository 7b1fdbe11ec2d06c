"""Pointer network policy in PyTorch, scoring given tours."""
import torch
from torch import nn

FRAMEWORK = "torch"


class PointerAttention(nn.Module):
    def __init__(self, dim, clip=None):
        super().__init__()
        self.clip = clip
        self.w_query = nn.Linear(dim, dim)
        self.w_ref = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, query, keys, mask):
        logits = self.v(torch.tanh(self.w_query(query).unsqueeze(1) + keys)).squeeze(-1)
        if self.clip is not None:
            logits = self.clip * logits.tanh()
        logits = logits.masked_fill(~mask, -1e9)
        return logits


class PointerPolicy(nn.Module):
    def __init__(self, in_dim=2, dim=16, clip=5.0):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(in_dim, dim), nn.Tanh())
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.LSTMCell(dim, dim)
        self.glimpse = PointerAttention(dim)
        self.pointer = PointerAttention(dim, clip=clip)
        self.start = nn.Parameter(torch.randn(dim))
        self.critic = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def encode(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        out, (h, c) = self.encoder(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        return out, h[0], c[0]

    def forward(self, coords, lengths, tour):
        batch, n, _ = coords.shape
        x = self.embed(coords)
        nodes, h, c = self.encode(x, lengths)
        glimpse_keys, pointer_keys = self.glimpse.w_ref(nodes), self.pointer.w_ref(nodes)
        baseline = self.critic(h).squeeze(-1)

        mask = torch.arange(n, device=x.device) < lengths.unsqueeze(1)
        row = torch.arange(batch, device=x.device)
        inp = self.start.expand(batch, -1)
        log_probs = []
        for t in range(n):
            h, c = self.decoder(inp, (h, c))
            attn = self.glimpse(h, glimpse_keys, mask).softmax(dim=1)
            query = torch.bmm(attn.unsqueeze(1), nodes).squeeze(1)
            log_probs.append(self.pointer(query, pointer_keys, mask).log_softmax(dim=1))
            picked = tour[:, t]
            inp = x[row, picked]
            if t + 1 < n:
                closing = torch.zeros_like(mask).scatter_(1, picked.unsqueeze(1), True)
                mask = mask & ~(closing & (t + 1 < lengths).unsqueeze(1))
        log_probs = torch.stack(log_probs, dim=1)

        steps = torch.arange(n, device=x.device) < lengths.unsqueeze(1)
        chosen = log_probs.gather(2, tour.unsqueeze(-1)).squeeze(-1)
        total = (chosen * steps).sum(dim=1)
        return total, log_probs.exp() * steps.unsqueeze(-1), baseline


def make(seed=50):
    torch.manual_seed(seed)
    return PointerPolicy().eval()


def gates(array):
    """Chainer interleaves the gates (a, i, f, o) unit by unit; PyTorch stacks i, f, g, o."""
    array = torch.from_numpy(array.copy())
    a, i, f, o = array.reshape(-1, 4, *array.shape[1:]).unbind(1)
    return torch.cat([i, f, a, o])


@torch.no_grad()
def load(model, reference):
    def linear(target, source):
        target.weight.copy_(torch.from_numpy(source.W.array))
        target.bias.copy_(torch.from_numpy(source.b.array))

    def lstm(target, source, suffix=""):
        getattr(target, "weight_ih" + suffix).copy_(gates(source.upward.W.array))
        getattr(target, "bias_ih" + suffix).copy_(gates(source.upward.b.array))
        getattr(target, "weight_hh" + suffix).copy_(gates(source.lateral.W.array))
        getattr(target, "bias_hh" + suffix).zero_()

    linear(model.embed[0], reference.embed)
    lstm(model.encoder, reference.encoder, "_l0")
    lstm(model.decoder, reference.decoder)
    for ours, theirs in ((model.glimpse, reference.glimpse), (model.pointer, reference.pointer)):
        linear(ours.w_query, theirs.query)
        linear(ours.w_ref, theirs.ref)
        ours.v.weight.copy_(torch.from_numpy(theirs.v.array).unsqueeze(0))
    model.start.copy_(torch.from_numpy(reference.start.array))
    linear(model.critic[0], reference.critic1)
    linear(model.critic[2], reference.critic2)
