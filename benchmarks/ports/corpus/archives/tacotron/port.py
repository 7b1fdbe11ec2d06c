"""Tacotron 2's decoder in Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
MODE = "train"
MEL, PRE, MEM, ATT, HID, FILT, K = 6, 12, 10, 8, 14, 4, 5


class KDecoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.pre1, self.pre2 = layers.Dense(PRE, activation="relu"), layers.Dense(PRE, activation="relu")
        self.att_rnn, self.dec_rnn = layers.LSTMCell(HID), layers.LSTMCell(HID)
        self.query, self.memory = layers.Dense(ATT, use_bias=False), layers.Dense(ATT, use_bias=False)
        self.loc_conv = layers.Conv1D(FILT, K, padding="same", use_bias=False)
        self.loc_dense = layers.Dense(ATT, use_bias=False)
        self.v = layers.Dense(1)
        self.mel, self.gate = layers.Dense(MEL), layers.Dense(1)

    def call(self, memory, frames, mask):
        b, n, _ = memory.shape
        s1 = [tf.zeros((b, HID)), tf.zeros((b, HID))]
        s2 = [tf.zeros((b, HID)), tf.zeros((b, HID))]
        weights, cumulative = tf.zeros((b, n)), tf.zeros((b, n))
        context = tf.zeros((b, MEM))
        keys = self.memory(memory)
        mels, gates = [], []
        for t in range(frames.shape[1]):
            x = tf.nn.dropout(self.pre1(frames[:, t]), 0.5)
            x = tf.nn.dropout(self.pre2(x), 0.5)
            h1, s1 = self.att_rnn(tf.concat([x, context], -1), s1)
            loc = self.loc_conv(tf.stack([weights, cumulative], -1))
            hidden = self.query(h1)[:, None] + keys + self.loc_dense(loc)
            energy = tf.squeeze(self.v(tf.tanh(hidden)), -1)
            energy = tf.where(mask == 0, -np.inf, energy)
            weights = tf.nn.softmax(energy, axis=1)
            cumulative = cumulative + weights
            context = tf.reduce_sum(weights[:, :, None] * memory, 1)
            h2, s2 = self.dec_rnn(tf.concat([h1, context], -1), s2)
            out = tf.concat([h2, context], -1)
            mels.append(self.mel(out))
            gates.append(self.gate(out))
        return tf.stack(mels, 1), tf.sigmoid(tf.concat(gates, 1))


def lstm(cell):
    w, u = cell.weight_ih.detach().numpy().T, cell.weight_hh.detach().numpy().T
    b = (cell.bias_ih + cell.bias_hh).detach().numpy()
    return [w, u, b]


def make():
    net = KDecoder()
    net(tf.zeros((1, 9, MEM)), tf.zeros((1, 4, MEL)), tf.ones((1, 9)))
    return net


def load(net, ref):
    for name in ("pre1", "pre2", "query", "memory", "loc_dense", "v", "mel", "gate"):
        t = getattr(ref, name)
        getattr(net, name).set_weights([t.weight.detach().numpy().T] + ([t.bias.detach().numpy()] if t.bias is not None else []))
    net.loc_conv.set_weights([ref.loc_conv.weight.detach().numpy().transpose(2, 1, 0)])
    net.att_rnn.set_weights(lstm(ref.att_rnn))
    net.dec_rnn.set_weights(lstm(ref.dec_rnn))
