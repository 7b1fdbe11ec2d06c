"""The same translator in plain TensorFlow: no layers, the gates written out."""

import tensorflow as tf

FRAMEWORK = "tensorflow"
SOURCE, TARGET, EMBED, HIDDEN, ATTEND = 19, 13, 7, 10, 8


class Gru(tf.Module):
    def __init__(self, inputs, units, name=None):
        super().__init__(name)
        self.kernel = tf.Variable(tf.random.normal((inputs, 3 * units), stddev=0.1))
        self.recurrent = tf.Variable(tf.random.normal((units, 3 * units), stddev=0.1))
        self.bias = tf.Variable(tf.zeros(3 * units))
        self.recurrent_bias = tf.Variable(tf.zeros(3 * units))

    def __call__(self, x, h):
        xr, xz, xn = tf.split(x @ self.kernel + self.bias, 3, axis=-1)
        hr, hz, hn = tf.split(h @ self.recurrent + self.recurrent_bias, 3, axis=-1)
        r = tf.sigmoid(xr + hr)
        z = tf.sigmoid(xz + hz)
        n = tf.tanh(xn + r * hn)
        return z * h + (1.0 - z) * n

    def unroll(self, xs, h):
        states = []
        for x in xs:
            h = self(x, h)
            states.append(h)
        return states


class Translator(tf.Module):
    def __init__(self):
        super().__init__()
        self.source_table = tf.Variable(tf.random.normal((SOURCE, EMBED)))
        self.target_table = tf.Variable(tf.random.normal((TARGET, EMBED)))
        self.forwards = Gru(EMBED, HIDDEN, "forwards")
        self.backwards = Gru(EMBED, HIDDEN, "backwards")
        self.decoder = Gru(EMBED + 2 * HIDDEN, HIDDEN, "decoder")
        self.bridge_w = tf.Variable(tf.random.normal((2 * HIDDEN, HIDDEN)))
        self.bridge_b = tf.Variable(tf.zeros(HIDDEN))
        self.query_w = tf.Variable(tf.random.normal((HIDDEN, ATTEND)))
        self.memory_w = tf.Variable(tf.random.normal((2 * HIDDEN, ATTEND)))
        self.memory_b = tf.Variable(tf.zeros(ATTEND))
        self.score_v = tf.Variable(tf.random.normal((ATTEND,)))
        self.readout_w = tf.Variable(tf.random.normal((3 * HIDDEN + EMBED, TARGET)))
        self.readout_b = tf.Variable(tf.zeros(TARGET))

    def attend(self, query, memory, keys, valid):
        hidden = tf.tanh((query @ self.query_w)[:, None] + keys)
        energy = tf.reduce_sum(hidden * self.score_v, axis=-1)
        energy = tf.where(valid, energy, -1e9)
        weights = tf.nn.softmax(energy)
        return tf.einsum("bt,bth->bh", weights, memory), weights

    def __call__(self, source, lengths, target):
        xs = tf.unstack(tf.gather(self.source_table, source), axis=1)
        zeros = tf.zeros((len(source), HIDDEN))
        left = self.forwards.unroll(xs, zeros)
        right = self.backwards.unroll(xs[::-1], zeros)[::-1]
        memory = tf.concat([tf.stack(left, 1), tf.stack(right, 1)], axis=-1)
        final = tf.concat([left[-1], right[0]], axis=-1)
        h = tf.tanh(final @ self.bridge_w + self.bridge_b)
        valid = tf.sequence_mask(lengths, maxlen=source.shape[1])
        keys = tf.tensordot(memory, self.memory_w, axes=1) + self.memory_b
        rows, alignments = [], []
        for t in range(target.shape[1] - 1):
            word = tf.gather(self.target_table, target[:, t])
            context, weights = self.attend(h, memory, keys, valid)
            h = self.decoder(tf.concat([word, context], -1), h)
            rows.append(tf.concat([h, context, word], -1) @ self.readout_w + self.readout_b)
            alignments.append(weights)
        logp = tf.nn.log_softmax(tf.stack(rows, axis=1))
        return logp, tf.stack(alignments, axis=1), smoothed_loss(logp, target[:, 1:])


def smoothed_loss(logp, words, smoothing=0.1):
    hot = tf.one_hot(words, TARGET)
    soft = (1.0 - smoothing) * hot + smoothing / TARGET
    each = -tf.reduce_sum(soft * logp, axis=-1)
    real = tf.cast(words != 0, each.dtype)
    return tf.reduce_sum(each * real) / tf.reduce_sum(real)


def make():
    tf.random.set_seed(0)
    return Translator()


def load(model, reference):
    s = {k: v.numpy() for k, v in reference.state_dict().items()}

    def gru(ours, prefix, suffix=""):
        ours.kernel.assign(s[f"{prefix}.weight_ih{suffix}"].T)
        ours.recurrent.assign(s[f"{prefix}.weight_hh{suffix}"].T)
        ours.bias.assign(s[f"{prefix}.bias_ih{suffix}"])
        ours.recurrent_bias.assign(s[f"{prefix}.bias_hh{suffix}"])

    gru(model.forwards, "encoder", "_l0")
    gru(model.backwards, "encoder", "_l0_reverse")
    gru(model.decoder, "cell")
    model.source_table.assign(s["source_embedding.weight"])
    model.target_table.assign(s["target_embedding.weight"])
    model.bridge_w.assign(s["bridge.weight"].T)
    model.bridge_b.assign(s["bridge.bias"])
    model.query_w.assign(s["attention.w.weight"].T)
    model.memory_w.assign(s["attention.u.weight"].T)
    model.memory_b.assign(s["attention.u.bias"])
    model.score_v.assign(s["attention.v.weight"][0])
    model.readout_w.assign(s["readout.weight"].T)
    model.readout_b.assign(s["readout.bias"])
