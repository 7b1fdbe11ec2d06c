import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class LinearChainCRF(chainer.Link):
    def __init__(self, n_tags):
        super().__init__()
        with self.init_scope():
            self.start = chainer.Parameter(0, (n_tags,))
            self.end = chainer.Parameter(0, (n_tags,))
            self.trans = chainer.Parameter(0, (n_tags, n_tags))

    def log_partition(self, e, lengths):
        B, T, N = e.shape
        alpha = F.broadcast_to(self.start, (B, N)) + e[:, 0]
        for t in range(1, T):
            x = F.broadcast_to(alpha[:, :, None], (B, N, N)) + F.broadcast_to(self.trans[None], (B, N, N))
            new = F.logsumexp(x, axis=1) + e[:, t]
            alive = np.broadcast_to((t < lengths)[:, None], (B, N))
            alpha = F.where(alive, new, alpha)
        return F.logsumexp(alpha + F.broadcast_to(self.end, (B, N)), axis=1)

    def path_score(self, e, lengths, tags):
        rows = np.arange(len(lengths))
        total = self.start[tags[:, 0]] + e[rows, 0, tags[:, 0]]
        for t in range(1, e.shape[1]):
            s = self.trans[tags[:, t - 1], tags[:, t]] + e[rows, t, tags[:, t]]
            total = total + s * (t < lengths).astype(np.float32)
        return total + self.end[tags[rows, lengths - 1]]

    def decode(self, e, lengths):
        start, end, trans, e = self.start.array, self.end.array, self.trans.array, e.array
        B, T, N = e.shape
        delta = start + e[:, 0]
        pointers = np.tile(np.arange(N), (T, B, 1))
        for t in range(1, T):
            cand = delta[:, :, None] + trans[None]
            alive = (t < lengths)[:, None]
            pointers[t] = np.where(alive, cand.argmax(1), pointers[t])
            delta = np.where(alive, cand.max(1) + e[:, t], delta)
        final = delta + end
        tag = np.argmax(final, axis=1)
        paths = np.empty((B, T), np.int64)
        for t in range(T - 1, -1, -1):
            paths[:, t] = tag
            tag = pointers[t, np.arange(B), tag]
        paths[np.arange(T)[None] >= lengths[:, None]] = -1
        return paths, final.max(1)


class BiLSTMTagger(chainer.Chain):
    def __init__(self, vocab=23, emb=10, hidden=7, n_tags=5):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(vocab, emb)
            self.rnn = L.NStepBiLSTM(1, emb, hidden, 0.0)
            self.out = L.Linear(2 * hidden, n_tags)
            self.crf = LinearChainCRF(n_tags)

    def forward(self, tokens, lengths, tags):
        tokens, lengths, tags = (getattr(a, "array", a) for a in (tokens, lengths, tags))
        seqs = [self.embed(row[:n]) for row, n in zip(tokens, lengths)]
        _, _, hs = self.rnn(None, None, seqs)
        h = F.pad_sequence(hs, length=tokens.shape[1])
        e = self.out(h, n_batch_axes=2)
        nll = self.crf.log_partition(e, lengths) - self.crf.path_score(e, lengths, tags)
        paths, scores = self.crf.decode(e, lengths)
        return nll, paths, scores


def make():
    return BiLSTMTagger()


GATES = (0, 1, 2, 3)  # position in torch's (i, f, g, o) of chainer's w0..w3


def load(port_model, ref_model):
    sd = {k: v.detach().numpy() for k, v in ref_model.state_dict().items()}
    port_model.embed.W.array[...] = sd["embed.weight"]
    for direction, suffix in enumerate(("", "_reverse")):
        cell = port_model.rnn[direction]
        for prefix, base in (("ih", 0), ("hh", 4)):
            w = np.split(sd[f"lstm.weight_{prefix}_l0{suffix}"], 4)
            b = np.split(sd[f"lstm.bias_{prefix}_l0{suffix}"], 4)
            for i, g in enumerate(GATES):
                getattr(cell, f"w{base + i}").array[...] = w[g]
                getattr(cell, f"b{base + i}").array[...] = b[g]
    port_model.out.W.array[...] = sd["proj.weight"]
    port_model.out.b.array[...] = sd["proj.bias"]
    port_model.crf.start.array[...] = sd["crf.start"]
    port_model.crf.end.array[...] = sd["crf.end"]
    port_model.crf.trans.array[...] = sd["crf.trans"]
    return port_model
