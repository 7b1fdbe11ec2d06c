"""The RNN transducer in Keras."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
FEATURES, HID, VOCAB, EMB, JOINT = 6, 8, 7, 5, 9
FRAMES, STACK, LABELS = 8, 2, 3
BLANK = 0


class Encoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.lstm1 = layers.LSTM(HID, return_sequences=True)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.lstm2 = layers.LSTM(HID, return_sequences=True)

    def call(self, feats, mask):
        x = ops.reshape(feats, (-1, FRAMES // STACK, STACK * FEATURES))
        mask = mask[:, ::STACK]
        valid = mask > 0
        x = self.norm1(self.lstm1(x, mask=valid))
        return self.lstm2(x, mask=valid), mask


class Predictor(layers.Layer):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, EMB)
        self.lstm = layers.LSTM(HID, return_sequences=True)

    def call(self, labels, mask):
        y = self.embed(labels)
        y = ops.pad(y, [[0, 0], [1, 0], [0, 0]])
        valid = ops.pad(mask, [[0, 0], [1, 0]], constant_values=1.0) > 0
        return self.lstm(y, mask=valid)


class Joint(layers.Layer):
    def __init__(self):
        super().__init__()
        self.enc = layers.Dense(JOINT)
        self.dec = layers.Dense(JOINT, use_bias=False)
        self.out = layers.Dense(VOCAB)

    def call(self, enc, dec):
        z = ops.expand_dims(self.enc(enc), 2) + ops.expand_dims(self.dec(dec), 1)
        return ops.log_softmax(self.out(ops.tanh(z)), axis=-1)


def forward_variable(blank, emit):
    """alpha, row by row; blank (B, T, U + 1), emit (B, T, U)."""
    _, steps, width = blank.shape
    rows = []
    for t in range(steps):
        if t > 0:
            stay = rows[-1] + blank[:, t - 1]
            current = stay[:, 0]
        else:
            current = ops.zeros_like(blank[:, 0, 0])
        row = [current]
        for u in range(1, width):
            move = current + emit[:, t, u - 1]
            current = ops.logaddexp(stay[:, u], move) if t > 0 else move
            row.append(current)
        rows.append(ops.stack(row, axis=1))
    return ops.stack(rows, axis=1)


class Transducer(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.predictor = Predictor()
        self.joint = Joint()

    def call(self, feats, feat_mask, labels, label_mask):
        enc, enc_mask = self.encoder(feats, feat_mask)
        dec = self.predictor(labels, label_mask)
        logp = self.joint(enc, dec)
        blank = logp[..., BLANK]
        target = ops.one_hot(labels, VOCAB)[:, None]
        emit = ops.sum(logp[:, :, :-1] * target, axis=-1)
        alpha = forward_variable(blank, emit)
        frames = ops.cast(ops.sum(enc_mask, axis=1), "int32")
        lengths = ops.cast(ops.sum(label_mask, axis=1), "int32")
        corner = ops.einsum(
            "bt,bu->btu", ops.one_hot(frames - 1, FRAMES // STACK), ops.one_hot(lengths, LABELS + 1)
        )
        loss = -ops.sum((alpha + blank) * corner, axis=(1, 2))
        return logp, ops.expand_dims(loss, 1)


def make():
    keras.utils.set_random_seed(12)
    model = Transducer()
    model(*inputs(0))
    rng = np.random.default_rng(13)
    for v in model.trainable_variables:
        if "gamma" in v.path:
            v.assign(rng.uniform(0.6, 1.4, v.shape))
        elif len(v.shape) == 1:
            v.assign(rng.normal(0, 0.3, v.shape))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    feats = rng.normal(size=(4, FRAMES, FEATURES)).astype("float32")
    feat_mask = (np.arange(FRAMES)[None] < np.array([8, 6, 8, 4])[:, None]).astype("float32")
    label_mask = (np.arange(LABELS)[None] < np.array([3, 2, 1, 3])[:, None]).astype("float32")
    labels = (rng.integers(1, VOCAB, (4, LABELS)) * label_mask).astype("int32")
    return feats, feat_mask, labels, label_mask


def load(ported, original):
    def lstm(ours, theirs):
        """Chainer's gates are interleaved as a, i, f, o; Keras's follow each other as i, f, c, o."""

        def order(w):
            parts = w.reshape(HID, 4, *w.shape[1:])
            return np.concatenate([parts[:, g] for g in (1, 2, 0, 3)], axis=0)

        cell = theirs.cell
        ours.set_weights([order(cell.upward.W.array).T, order(cell.lateral.W.array).T, order(cell.upward.b.array)])

    def dense(ours, theirs):
        weights = [theirs.W.array.T]
        if theirs.b is not None:
            weights.append(theirs.b.array)
        ours.set_weights(weights)

    lstm(ported.encoder.lstm1, original.encoder.lstm1)
    lstm(ported.encoder.lstm2, original.encoder.lstm2)
    lstm(ported.predictor.lstm, original.predictor.lstm)
    norm = original.encoder.norm1
    ported.encoder.norm1.set_weights([norm.gamma.array, norm.beta.array])
    ported.predictor.embed.set_weights([original.predictor.embed.W.array])
    dense(ported.joint.enc, original.joint.lin_enc)
    dense(ported.joint.dec, original.joint.lin_dec)
    dense(ported.joint.out, original.joint.lin_out)
