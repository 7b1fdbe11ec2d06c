"""Deep biaffine dependency parser (Dozat & Manning 2017) in Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
WORDS, TAGS, LABELS = 60, 12, 6


class MLP(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(n_in, n_out)

    def forward(self, x):
        return F.leaky_relu(self.fc(x, n_batch_axes=2), slope=0.1)


class Biaffine(chainer.Chain):
    """s[b, o, i, j] = [dep_i; 1]^T U_o [head_j; 1]"""

    def __init__(self, n_in, n_out, bias_head):
        super().__init__()
        self.bias_head = bias_head
        with self.init_scope():
            self.U = chainer.Parameter(chainer.initializers.Normal(0.3), (n_out, n_in + 1, n_in + bias_head))

    def forward(self, dep, head):
        ones = self.xp.ones(dep.shape[:2] + (1,), "f")
        dep = F.concat([dep, ones], axis=2)
        if self.bias_head:
            head = F.concat([head, ones], axis=2)
        b, t, d = dep.shape
        scores = []
        for o in range(self.U.shape[0]):
            left = F.reshape(F.matmul(F.reshape(dep, (b * t, d)), self.U[o]), (b, t, -1))
            scores.append(F.matmul(left, head, transb=True))
        return F.stack(scores, axis=1)


class Parser(chainer.Chain):
    def __init__(self, dim=24, hidden=20, arc=16):
        super().__init__()
        with self.init_scope():
            self.word = L.EmbedID(WORDS, dim, ignore_label=-1)
            self.tag = L.EmbedID(TAGS, 8, ignore_label=-1)
            self.lstm = L.NStepBiLSTM(2, dim + 8, hidden, 0.0)
            self.arc_dep, self.arc_head = MLP(2 * hidden, arc), MLP(2 * hidden, arc)
            self.rel_dep, self.rel_head = MLP(2 * hidden, arc), MLP(2 * hidden, arc)
            self.arc = Biaffine(arc, 1, 0)
            self.rel = Biaffine(arc, LABELS, 1)

    def forward(self, words, tags):
        # index -1 is padding
        mask = words >= 0
        lengths = mask.sum(axis=1)
        emb = F.concat([self.word(words), self.tag(tags)], axis=2)
        _, _, hs = self.lstm(None, None, [e[:n] for e, n in zip(F.separate(emb, 0), lengths)])
        h = F.pad_sequence(hs, words.shape[1], padding=0.0)

        arcs = self.arc(self.arc_dep(h), self.arc_head(h))[:, 0]
        arcs = F.where(np.broadcast_to(mask[:, None, :], arcs.shape), arcs, self.xp.full(arcs.shape, -1e4, "f"))
        rels = self.rel(self.rel_dep(h), self.rel_head(h))
        rels = F.transpose(rels, (0, 2, 3, 1))

        # expected label scores under the soft head distribution
        prob = F.softmax(arcs, axis=2)
        best = F.sum(F.broadcast_to(prob[..., None], rels.shape) * rels, axis=2)
        return arcs, best


def make():
    net = Parser()
    g = np.random.RandomState(8)
    for name, p in sorted(net.namedparams()):
        if p.ndim == 1:
            p.array[...] = g.normal(0, 0.2, p.shape)
        elif "word" in name or "tag" in name:
            p.array[...] = g.normal(0, 1.0, p.shape)
        else:
            p.array[...] = g.normal(0, p.shape[-1] ** -0.5, p.shape)
    return net


def inputs(seed=0):
    g = np.random.RandomState(seed)
    words, tags = g.randint(0, WORDS, (5, 9)), g.randint(0, TAGS, (5, 9))
    for row, n in enumerate((9, 8, 6, 5, 3)):
        words[row, n:] = tags[row, n:] = -1
    return words.astype(np.int32), tags.astype(np.int32)
