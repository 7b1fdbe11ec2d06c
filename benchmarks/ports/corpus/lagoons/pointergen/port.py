"""Pointer-generator with coverage, Keras 3 subclassing."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
VOCAB, OOV, EMB, HID = 14, 3, 6, 7


class CoverageAttention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.w_cov = layers.Dense(2 * HID, use_bias=False)
        self.w_dec = layers.Dense(2 * HID)
        self.v = layers.Dense(1, use_bias=False)

    def call(self, s, memory, keys, mask, coverage):
        feats = keys + ops.expand_dims(self.w_dec(s), 1) + self.w_cov(coverage[..., None])
        scores = self.v(ops.tanh(feats))[..., 0]
        attn = ops.softmax(scores, axis=-1) * mask
        attn = attn / ops.sum(attn, axis=-1, keepdims=True)
        context = ops.einsum("bs,bsd->bd", attn, memory)
        return context, attn


class Summarizer(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, EMB)
        self.encoder = layers.Bidirectional(layers.LSTM(HID, return_sequences=True, return_state=True))
        self.w_h = layers.Dense(2 * HID, use_bias=False)
        self.reduce_h = layers.Dense(HID, activation="relu")
        self.reduce_c = layers.Dense(HID, activation="relu")
        self.attention = CoverageAttention()
        self.x_context = layers.Dense(EMB)
        self.cell = layers.LSTMCell(HID)
        self.p_gen = layers.Dense(1, activation="sigmoid")
        self.out1 = layers.Dense(HID)
        self.out2 = layers.Dense(VOCAB)

    def decode(self, y, state, memory, keys, mask, context, copy_map, coverage):
        x = self.x_context(ops.concatenate([context, self.embed(y)], -1))
        _, (h, c) = self.cell(x, state)
        context, attn = self.attention(ops.concatenate([h, c], -1), memory, keys, mask, coverage)
        p_gen = self.p_gen(ops.concatenate([context, h, c, x], -1))
        vocab = ops.softmax(self.out2(self.out1(ops.concatenate([h, context], -1))), axis=-1)
        vocab = ops.pad(p_gen * vocab, [[0, 0], [0, OOV]])
        copied = ops.einsum("bs,bsv->bv", (1 - p_gen) * attn, copy_map)
        return vocab + copied, [h, c], context, attn

    def call(self, inputs):
        ids, ext_ids, mask, targets = inputs
        memory, hf, cf, hb, cb = self.encoder(self.embed(ids), mask=ops.cast(mask, "bool"))
        keys = self.w_h(memory)
        state = [self.reduce_h(ops.concatenate([hf, hb], -1)), self.reduce_c(ops.concatenate([cf, cb], -1))]
        context = ops.zeros((ops.shape(ids)[0], 2 * HID))
        coverage = ops.zeros_like(mask)
        copy_map = ops.one_hot(ext_ids, VOCAB + OOV)
        dists, losses = [], []
        for t in range(targets.shape[1]):
            dist, state, context, attn = self.decode(
                targets[:, t], state, memory, keys, mask, context, copy_map, coverage)
            losses.append(ops.sum(ops.minimum(attn, coverage), axis=-1))
            coverage = coverage + attn
            dists.append(dist)
        return ops.stack(dists, 1), ops.stack(losses, 1)


def make():
    m = Summarizer()
    m([ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(21)
    m.set_weights([r.randn(*w.shape).astype("float32") * 0.4 for w in m.get_weights()])
    return m


def load(ported, original):
    def a(t):
        return t.detach().numpy()

    def dense(dst, src):
        dst.set_weights([a(src.weight).T] + ([a(src.bias)] if src.bias is not None else []))

    ported.embed.set_weights([a(original.encoder.embedding.weight)])
    L = original.encoder.lstm
    ws = []
    for suf in ("", "_reverse"):
        ws += [a(getattr(L, "weight_ih_l0" + suf)).T, a(getattr(L, "weight_hh_l0" + suf)).T,
               a(getattr(L, "bias_ih_l0" + suf)) + a(getattr(L, "bias_hh_l0" + suf))]
    ported.encoder.set_weights(ws)
    dense(ported.w_h, original.encoder.W_h)
    dense(ported.reduce_h, original.reduce_state.reduce_h)
    dense(ported.reduce_c, original.reduce_state.reduce_c)
    d = original.decoder
    dense(ported.attention.w_cov, d.attention.W_c)
    dense(ported.attention.w_dec, d.attention.decode_proj)
    dense(ported.attention.v, d.attention.v)
    dense(ported.x_context, d.x_context)
    ported.cell.set_weights([a(d.lstm.weight_ih).T, a(d.lstm.weight_hh).T, a(d.lstm.bias_ih) + a(d.lstm.bias_hh)])
    dense(ported.p_gen, d.p_gen_linear)
    dense(ported.out1, d.out1)
    dense(ported.out2, d.out2)


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.zeros((5, 6), "float32")
    for b, n in enumerate([6, 4, 3, 5, 6]):
        mask[b, :n] = 1
    ext = r.randint(1, VOCAB + OOV, (5, 6)) * mask.astype("int64")
    ids = np.where(ext >= VOCAB, 1, ext)
    return ids.astype("int64"), ext.astype("int64"), mask, r.randint(1, VOCAB, (5, 3)).astype("int64")
