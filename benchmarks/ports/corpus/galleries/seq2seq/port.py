"""LSTM seq2seq with Bahdanau attention, teacher forcing, in TensorFlow/Keras."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class KSeq2Seq(keras.Model):
    def __init__(self, vocab=30, e=16, h=24):
        super().__init__()
        self.emb = keras.layers.Embedding(vocab, e)
        self.enc = keras.layers.LSTM(h, return_sequences=True, return_state=True)
        self.key = keras.layers.Dense(h)
        self.query = keras.layers.Dense(h, use_bias=False)
        self.score = keras.layers.Dense(1, use_bias=False)
        self.cell = keras.layers.LSTMCell(h)
        self.out = keras.layers.Dense(vocab)

    def call(self, src, tgt):
        memory, h, c = self.enc(self.emb(src))
        keys = self.key(memory)
        target = self.emb(tgt)
        logits = []
        for t in range(tgt.shape[1]):
            query = self.query(h)[:, None]
            energy = tf.squeeze(self.score(tf.tanh(keys + query)), -1)
            energy = tf.where(src == 0, -1e9, energy)
            weights = tf.nn.softmax(energy, axis=-1)
            context = tf.reduce_sum(weights[..., None] * memory, axis=1)
            h, (h, c) = self.cell(tf.concat([target[:, t], context], -1), [h, c])
            logits.append(self.out(tf.concat([h, context], -1)))
        return tf.stack(logits, axis=1)


def make():
    net = KSeq2Seq()
    net(np.ones((5, 9), "int64"), np.ones((5, 6), "int64"))
    return net


def load(net, ref):
    net.emb.set_weights([ref.emb.weight.detach().numpy()])
    for n in ("key", "query", "score", "out"):
        layer = getattr(ref, n)
        w = [layer.weight.detach().numpy().T]
        getattr(net, n).set_weights(w if layer.bias is None else w + [layer.bias.detach().numpy()])

    def lstm(wi, wh, bi, bh):
        wi, wh, bi, bh = (p.detach().numpy() for p in (wi, wh, bi, bh))
        return [wi.T, wh.T, bi + bh]

    net.enc.set_weights(lstm(*(getattr(ref.enc, k) for k in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))))
    net.cell.set_weights(lstm(*(getattr(ref.cell, k) for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))))
