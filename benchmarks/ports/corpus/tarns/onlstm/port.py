"""ON-LSTM in TensorFlow, tf.Module with flat gates."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, EMB, HID, CHUNK, STEPS = 20, 8, 12, 4, 5


class Cell(tf.Module):
    def __init__(self, rs, n_in, units, chunk, name=None):
        super().__init__(name=name)
        self.units, self.chunk, self.levels = units, chunk, units // chunk
        width = 4 * units + 2 * self.levels
        self.kernel = tf.Variable(rs.randn(n_in, width).astype("float32") * 0.5, name="kernel")
        self.recurrent = tf.Variable(rs.randn(units, width).astype("float32") * 0.5, name="recurrent")
        self.bias = tf.Variable(rs.randn(width).astype("float32") * 0.5, name="bias")
        self.recurrent_bias = tf.Variable(rs.randn(width).astype("float32") * 0.5, name="recurrent_bias")

    def cumax(self, logits):
        return tf.cumsum(tf.nn.softmax(logits), axis=-1)

    def expand(self, master):
        return tf.repeat(master, self.chunk, axis=-1)

    def step(self, z, h, c):
        z = z + tf.matmul(h, self.recurrent) + self.recurrent_bias
        n, u = self.levels, self.units
        m_in, m_forget, o, g, i, f = tf.split(z, [n, n, u, u, u, u], axis=-1)
        m_in = 1.0 - self.cumax(m_in)
        m_forget = self.cumax(m_forget)
        distance = 1.0 - tf.reduce_mean(m_forget, axis=-1)
        m_in, m_forget = self.expand(m_in), self.expand(m_forget)
        both = m_in * m_forget
        f = tf.sigmoid(f) * both + (m_forget - both)
        i = tf.sigmoid(i) * both + (m_in - both)
        c = f * c + i * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, c, distance

    def __call__(self, x):
        z = tf.einsum("bti,io->bto", x, self.kernel) + self.bias
        h = tf.zeros([tf.shape(x)[0], self.units])
        c = tf.zeros_like(h)
        hs, ds = [], []
        for t in range(x.shape[1]):
            h, c, d = self.step(z[:, t], h, c)
            hs.append(h)
            ds.append(d)
        return tf.stack(hs, axis=1), tf.stack(ds, axis=1)


class LanguageModel(tf.Module):
    def __init__(self, seed=4):
        super().__init__()
        rs = np.random.RandomState(seed)
        self.embedding = tf.Variable(rs.randn(VOCAB, EMB).astype("float32"), name="embedding")
        self.out_bias = tf.Variable(rs.randn(VOCAB).astype("float32"), name="out_bias")
        self.layers = [Cell(rs, EMB, HID, CHUNK), Cell(rs, HID, EMB, CHUNK)]

    def __call__(self, tokens):
        x = tf.gather(self.embedding, tokens)
        distances = []
        for layer in self.layers:
            x, d = layer(x)
            distances.append(d)
        logits = tf.einsum("bte,ve->btv", x, self.embedding) + self.out_bias
        return logits, tf.stack(distances)


def make():
    return LanguageModel()


def inputs(seed):
    return (np.random.RandomState(seed).randint(0, VOCAB, (4, STEPS)).astype("int64"),)


def load(ported, original):
    ported.embedding.assign(original.encoder.weight.detach().numpy())
    ported.out_bias.assign(original.decoder.bias.detach().numpy())
    for a, b in zip(ported.layers, original.cells):
        a.kernel.assign(b.ih.weight.detach().numpy().T)
        a.bias.assign(b.ih.bias.detach().numpy())
        a.recurrent.assign(b.hh.weight.detach().numpy().T)
        a.recurrent_bias.assign(b.hh.bias.detach().numpy())
