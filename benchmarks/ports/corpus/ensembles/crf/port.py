"""The BiLSTM-CRF in Keras 3 and TensorFlow."""
import keras, tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
V, E, H, TAGS, T = 40, 12, 16, 5, 7


class KerasCRF(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = layers.Embedding(V, E)
        act = "sigmoid"
        make = lambda back: layers.LSTM(H, return_sequences=True, go_backwards=back, recurrent_activation=act)
        self.fw, self.bw = make(False), make(True)
        self.fc = layers.Dense(TAGS)
        self.trans = self.add_weight(shape=(TAGS, TAGS), name="trans")
        self.start = self.add_weight(shape=(TAGS,), name="start")
        self.end = self.add_weight(shape=(TAGS,), name="end")

    def call(self, ids, tags):
        x = self.emb(ids)
        forward = self.fw(x)
        backward = self.bw(x)
        backward = tf.reverse(backward, [1])
        h = tf.concat([forward, backward], -1)
        em = self.fc(h)
        alpha = self.start + em[:, 0]
        for t in range(1, T):
            alpha = tf.reduce_logsumexp(alpha[:, :, None] + self.trans[None], 1) + em[:, t]
        logz = tf.reduce_logsumexp(alpha + self.end, -1)
        gold = tf.gather(self.start, tags[:, 0]) + tf.gather(self.end, tags[:, -1])
        gold += tf.reduce_sum(tf.gather(em, tags, batch_dims=2), 1)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], -1)
        gold += tf.reduce_sum(tf.gather_nd(self.trans, pairs), 1)
        return {"emissions": em, "logz": logz, "nll": logz - gold}


def make():
    net = KerasCRF()
    net(tf.zeros((4, T), "int64"), tf.zeros((4, T), "int64"))
    return net


def load(net, ref):
    n = lambda p: p.detach().numpy()
    net.emb.set_weights([n(ref.emb.weight)])
    net.fc.set_weights([n(ref.fc.weight).T, n(ref.fc.bias)])
    L = ref.lstm
    net.fw.set_weights([n(L.weight_ih_l0).T, n(L.weight_hh_l0).T, n(L.bias_ih_l0) + n(L.bias_hh_l0)])
    net.bw.set_weights([n(L.weight_ih_l0_reverse).T, n(L.weight_hh_l0_reverse).T, n(L.bias_ih_l0_reverse) + n(L.bias_hh_l0_reverse)])
    for k in ("trans", "start", "end"):
        getattr(net, k).assign(n(getattr(ref, k)))
