"""Tacotron 2 in plain TensorFlow: a tf.Module, time-major loop over TensorArray-like lists."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, N_MELS, T_TEXT, T_MEL = 30, 8, 11, 6


class LSTM(tf.Module):
    """One step; gates in the order i, f, g, o."""

    def __init__(self, n_in, units, rng):
        super().__init__()
        self.units = units
        self.kernel = tf.Variable(rng.normal(0, 0.2, (n_in + units, 4 * units)).astype("float32"))
        self.bias = tf.Variable(np.zeros(4 * units, "float32"))

    def zero(self, batch):
        return tf.zeros((batch, self.units)), tf.zeros((batch, self.units))

    def __call__(self, x, state):
        h, c = state
        gates = tf.concat([x, h], -1) @ self.kernel + self.bias
        i, f, g, o = tf.split(gates, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, (h, c)

    def scan(self, xs, reverse=False):
        state, outputs = self.zero(xs.shape[0]), []
        steps = tf.unstack(xs, axis=1)
        for x in reversed(steps) if reverse else steps:
            h, state = self(x, state)
            outputs.append(h)
        if reverse:
            outputs = outputs[::-1]
        return tf.stack(outputs, axis=1)


class Tacotron(tf.Module):
    def __init__(self, seed, dim=24, units=32, pre=12, att=16, filters=6):
        super().__init__()
        rng = np.random.default_rng(seed)

        def var(*shape):
            return tf.Variable(rng.normal(0, 0.2, shape).astype("float32"))

        self.table = var(VOCAB, dim)
        self.conv_w = [var(5, dim, dim) for _ in range(2)]
        self.conv_b = [var(dim) for _ in range(2)]
        # per layer: gamma, beta, mean, variance
        self.bn = [[var(dim), var(dim), var(dim), tf.Variable(tf.ones(dim))] for _ in range(2)]
        self.fwd, self.bwd = LSTM(dim, dim // 2, rng), LSTM(dim, dim // 2, rng)
        self.pre_w = [var(N_MELS, pre), var(pre, pre)]
        self.pre_b = [var(pre), var(pre)]
        self.att_rnn = LSTM(pre + dim, units, rng)
        self.dec_rnn = LSTM(units + dim, units, rng)
        self.w_query, self.w_memory, self.w_loc = var(units, att), var(dim, att), var(filters, att)
        self.loc_filter = var(5, 2, filters)
        self.v, self.v_b = var(att, 1), var(1)
        self.mel_w, self.mel_b = var(units + dim, N_MELS), var(N_MELS)
        self.stop_w, self.stop_b = var(units + dim, 1), var(1)

    def encode(self, text):
        x = tf.gather(self.table, text)
        for w, b, (gamma, beta, mean, variance) in zip(self.conv_w, self.conv_b, self.bn):
            x = tf.nn.conv1d(x, w, 1, "SAME") + b
            x = tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-5))
        return tf.concat([self.fwd.scan(x), self.bwd.scan(x, reverse=True)], -1)

    def pre(self, x):
        for w, b in zip(self.pre_w, self.pre_b):
            x = tf.nn.relu(x @ w + b)
        return x

    def attend(self, query, memory, keys, alignment, cumulative, valid):
        loc = tf.stack([alignment, cumulative], axis=-1)
        loc = tf.nn.conv1d(loc, self.loc_filter, 1, "SAME") @ self.w_loc
        hidden = tf.tanh(tf.expand_dims(query @ self.w_query, 1) + keys + loc)
        logits = tf.squeeze(hidden @ self.v + self.v_b, -1)
        alignment = tf.nn.softmax(tf.where(valid, logits, -1e9))
        return tf.einsum("bt,btd->bd", alignment, memory), alignment

    def __call__(self, text, lengths, mels):
        memory = self.encode(text)
        keys = memory @ self.w_memory
        valid = tf.sequence_mask(lengths, T_TEXT)
        batch = mels.shape[0]
        att_state, dec_state = self.att_rnn.zero(batch), self.dec_rnn.zero(batch)
        context = tf.zeros((batch, memory.shape[-1]))
        alignment = cumulative = tf.zeros((batch, T_TEXT))
        shifted = tf.pad(mels, [[0, 0], [1, 0], [0, 0]])[:, :-1]
        prenet = tf.unstack(self.pre(shifted), axis=1)
        mel_out, stop_out, align_out = [], [], []
        for frame in prenet:
            query, att_state = self.att_rnn(tf.concat([frame, context], -1), att_state)
            context, alignment = self.attend(query, memory, keys, alignment, cumulative, valid)
            cumulative += alignment
            h, dec_state = self.dec_rnn(tf.concat([query, context], -1), dec_state)
            joined = tf.concat([h, context], -1)
            mel_out.append(joined @ self.mel_w + self.mel_b)
            stop_out.append(joined @ self.stop_w + self.stop_b)
            align_out.append(alignment)
        return tf.stack(mel_out, 1), tf.concat(stop_out, 1), tf.stack(align_out, 1)


def make(seed=1):
    return Tacotron(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    lengths = np.array([11, 8, 5, 9])
    text = rng.integers(1, VOCAB, size=(4, T_TEXT))
    text[np.arange(T_TEXT)[None] >= lengths[:, None]] = 0
    return text, lengths, rng.normal(size=(4, T_MEL, N_MELS)).astype("float32")


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    enc, att = "encoder.", "attention."

    def lstm(cell, prefix, suffix):
        w = np.concatenate([s[f"{prefix}weight_ih{suffix}"], s[f"{prefix}weight_hh{suffix}"]], 1)
        cell.kernel.assign(w.T)
        cell.bias.assign(s[f"{prefix}bias_ih{suffix}"] + s[f"{prefix}bias_hh{suffix}"])

    ported.table.assign(s[enc + "embed.weight"])
    for i in range(2):
        ported.conv_w[i].assign(s[f"{enc}convs.{i}.weight"].transpose(2, 1, 0))
        ported.conv_b[i].assign(s[f"{enc}convs.{i}.bias"])
        for v, n in zip(ported.bn[i], ("weight", "bias", "running_mean", "running_var")):
            v.assign(s[f"{enc}norms.{i}.{n}"])
        ported.pre_w[i].assign(s[f"prenet.{2 * i}.weight"].T)
        ported.pre_b[i].assign(s[f"prenet.{2 * i}.bias"])
    lstm(ported.fwd, enc + "lstm.", "_l0")
    lstm(ported.bwd, enc + "lstm.", "_l0_reverse")
    lstm(ported.att_rnn, "attention_rnn.", "")
    lstm(ported.dec_rnn, "decoder_rnn.", "")
    ported.w_query.assign(s[att + "query.weight"].T)
    ported.w_memory.assign(s[att + "memory.weight"].T)
    ported.w_loc.assign(s[att + "location.weight"].T)
    ported.loc_filter.assign(s[att + "location_conv.weight"].transpose(2, 1, 0))
    ported.v.assign(s[att + "score.weight"].T)
    ported.v_b.assign(s[att + "score.bias"])
    ported.mel_w.assign(s["mel.weight"].T)
    ported.mel_b.assign(s["mel.bias"])
    ported.stop_w.assign(s["stop.weight"].T)
    ported.stop_b.assign(s["stop.bias"])
