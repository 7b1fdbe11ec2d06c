"""RNN transducer (Graves 2012) in Chainer: encoder, predictor, joint, and the forward variable."""

import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
FEATURES, HID, VOCAB, EMB, JOINT = 6, 8, 7, 5, 9
FRAMES, STACK, LABELS = 8, 2, 3
BLANK = 0


class MaskedLSTM(chainer.Chain):
    """An LSTM over (B, T, F) that holds its state on padding."""

    def __init__(self, inputs, units):
        super().__init__()
        self.units = units
        with self.init_scope():
            self.cell = L.StatelessLSTM(inputs, units)

    def forward(self, xs, mask):
        batch, steps, _ = xs.shape
        c = self.xp.zeros((batch, self.units), dtype=np.float32)
        h = self.xp.zeros((batch, self.units), dtype=np.float32)
        ys = []
        for t in range(steps):
            new_c, new_h = self.cell(c, h, xs[:, t])
            keep = self.xp.broadcast_to(mask[:, t : t + 1] > 0, new_h.shape)
            c = F.where(keep, new_c, c)
            h = F.where(keep, new_h, h)
            ys.append(h)
        return F.stack(ys, axis=1)


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm1 = MaskedLSTM(STACK * FEATURES, HID)
            self.norm1 = L.LayerNormalization(HID, eps=1e-5)
            self.lstm2 = MaskedLSTM(HID, HID)

    def forward(self, feats, mask):
        batch = feats.shape[0]
        x = F.reshape(feats, (batch, FRAMES // STACK, STACK * FEATURES))
        mask = mask[:, ::STACK]
        x = self.lstm1(x, mask)
        flat = self.norm1(F.reshape(x, (-1, HID)))
        x = F.reshape(flat, x.shape)
        return self.lstm2(x, mask), mask


class Predictor(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(VOCAB, EMB)
            self.lstm = MaskedLSTM(EMB, HID)

    def forward(self, labels, mask):
        batch = labels.shape[0]
        start = self.xp.zeros((batch, 1, EMB), dtype=np.float32)
        y = F.concat([start, self.embed(labels)], axis=1)
        ones = self.xp.ones((batch, 1), dtype=np.float32)
        return self.lstm(y, self.xp.concatenate([ones, mask], axis=1))


class Joint(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lin_enc = L.Linear(HID, JOINT)
            self.lin_dec = L.Linear(HID, JOINT, nobias=True)
            self.lin_out = L.Linear(JOINT, VOCAB)

    def forward(self, enc, dec):
        enc = F.expand_dims(self.lin_enc(enc, n_batch_axes=2), 2)
        dec = F.expand_dims(self.lin_dec(dec, n_batch_axes=2), 1)
        shape = (enc.shape[0], enc.shape[1], dec.shape[2], JOINT)
        z = F.tanh(F.broadcast_to(enc, shape) + F.broadcast_to(dec, shape))
        return F.log_softmax(self.lin_out(z, n_batch_axes=3), axis=3)


def logaddexp(a, b):
    return F.logsumexp(F.stack([a, b], axis=0), axis=0)


def forward_variable(logp, labels):
    """alpha (B, T, U + 1): the probability of the first u labels in the first t frames."""
    batch, steps, width, _ = logp.shape
    blank = logp[:, :, :, BLANK]
    onehot = np.eye(VOCAB, dtype=np.float32)[labels]
    wanted = np.broadcast_to(onehot[:, None], (batch, steps, width - 1, VOCAB))
    emit = F.sum(logp[:, :, :-1] * wanted, axis=3)
    rows = []
    for t in range(steps):
        row = []
        for u in range(width):
            if t == 0 and u == 0:
                value = chainer.Variable(np.zeros(batch, dtype=np.float32))
            elif t == 0:
                value = row[u - 1] + emit[:, t, u - 1]
            elif u == 0:
                value = rows[t - 1][u] + blank[:, t - 1, u]
            else:
                value = logaddexp(rows[t - 1][u] + blank[:, t - 1, u], row[u - 1] + emit[:, t, u - 1])
            row.append(value)
        rows.append(row)
    return F.stack([F.stack(row, axis=1) for row in rows], axis=1), blank


class Transducer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder()
            self.predictor = Predictor()
            self.joint = Joint()

    def forward(self, feats, feat_mask, labels, label_mask):
        enc, enc_mask = self.encoder(feats, feat_mask)
        dec = self.predictor(labels, label_mask)
        logp = self.joint(enc, dec)
        alpha, blank = forward_variable(logp, labels)
        frames = enc_mask.sum(axis=1).astype("i")
        lengths = label_mask.sum(axis=1).astype("i")
        last_frame = np.eye(alpha.shape[1], dtype=np.float32)[frames - 1]
        last_label = np.eye(alpha.shape[2], dtype=np.float32)[lengths]
        corner = last_frame[:, :, None] * last_label[:, None, :]
        loss = -F.sum((alpha + blank) * corner, axis=(1, 2))
        return logp, F.expand_dims(loss, 1)


def make():
    rng = np.random.default_rng(71)
    model = Transducer()
    for name, p in sorted(model.namedparams()):
        if "gamma" in name:
            p.array[...] = rng.uniform(0.6, 1.4, p.shape)
        elif p.array.ndim == 1:
            p.array[...] = rng.normal(0, 0.3, p.shape)
        else:
            p.array[...] = rng.normal(0, 1 / np.sqrt(p.shape[1]), p.shape)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    feats = rng.normal(size=(4, FRAMES, FEATURES)).astype("float32")
    feat_mask = (np.arange(FRAMES)[None] < np.array([8, 6, 8, 4])[:, None]).astype("float32")
    label_mask = (np.arange(LABELS)[None] < np.array([3, 2, 1, 3])[:, None]).astype("float32")
    labels = (rng.integers(1, VOCAB, (4, LABELS)) * label_mask).astype("int32")
    return feats, feat_mask, labels, label_mask
