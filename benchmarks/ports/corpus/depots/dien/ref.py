"""DIEN (Zhou et al. 2019) with raw TensorFlow variables, after the authors' code."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
ITEMS, CATS, EMB, HID, STEPS = 40, 12, 6, 10, 7


class Params:
    """Makes seeded variables by name."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, name, *shape, mean=0.0, scale=None):
        if scale is None:
            scale = 1 / np.sqrt(shape[0]) if len(shape) > 1 else 0.2
        value = self.rng.normal(mean, scale, shape).astype("float32")
        return tf.Variable(value, name=name)


class GRUCell(tf.Module):
    """TF 1's GRUCell: gates as [r, u], reset before the product."""

    def __init__(self, params, inputs, units, name=None):
        super().__init__(name=name)
        self.gate_kernel = params("gates/kernel", inputs + units, 2 * units)
        self.gate_bias = params("gates/bias", 2 * units, mean=1.0)
        self.candidate_kernel = params("candidate/kernel", inputs + units, units)
        self.candidate_bias = params("candidate/bias", units)

    def __call__(self, x, h, attention=None):
        value = tf.sigmoid(tf.concat([x, h], 1) @ self.gate_kernel + self.gate_bias)
        r, u = tf.split(value, 2, axis=1)
        r_state = r * h
        c = tf.tanh(tf.concat([x, r_state], 1) @ self.candidate_kernel + self.candidate_bias)
        if attention is not None:
            u = (1.0 - attention) * u
        return u * h + (1 - u) * c


def dynamic_rnn(cell, xs, mask, attention=None):
    """Outputs are zero and the state is held where the mask is zero."""
    h = tf.zeros((tf.shape(xs)[0], HID))
    outputs = []
    for t in range(STEPS):
        valid = mask[:, t : t + 1]
        score = None if attention is None else attention[:, t : t + 1]
        new = cell(xs[:, t], h, score)
        outputs.append(valid * new)
        h = valid * new + (1.0 - valid) * h
    return tf.stack(outputs, axis=1), h


class Dice(tf.Module):
    def __init__(self, params, units, name=None):
        super().__init__(name=name)
        self.alpha = params("alpha", units, mean=0.3)
        self.mean = params("moving_mean", units)
        self.variance = params("moving_variance", units, mean=1.0, scale=0.1)

    def __call__(self, x):
        normed = (x - self.mean) / tf.sqrt(self.variance + 1e-9)
        p = tf.sigmoid(normed)
        return self.alpha * (1.0 - p) * x + p * x


class DIEN(tf.Module):
    def __init__(self, seed):
        super().__init__()
        p = Params(seed)
        self.item_table = p("items", ITEMS, EMB, scale=0.8)
        self.cat_table = p("cats", CATS, EMB, scale=0.8)
        self.extract = GRUCell(p, 2 * EMB, HID, name="gru1")
        self.evolve = GRUCell(p, HID, HID, name="augru")
        self.query = p("query", 2 * EMB, HID)
        self.query_alpha = p("prelu", HID, mean=0.25)
        self.att_w = [p("att0", 4 * HID, 12), p("att1", 12, 6), p("att2", 6, 1, scale=1.0)]
        self.att_b = [p("att0b", 12), p("att1b", 6), p("att2b", 1)]
        self.aux_w = [p("aux0", HID + 2 * EMB, 8), p("aux1", 8, 1)]
        self.aux_b = [p("aux0b", 8), p("aux1b", 1)]
        width = 4 + 2 * EMB + 2 * EMB + 2 * EMB + HID
        self.fc_w = [p("fc0", width, 16), p("fc1", 16, 8), p("fc2", 8, 2)]
        self.fc_b = [p("fc0b", 16), p("fc1b", 8), p("fc2b", 2)]
        self.dices = [Dice(p, 16), Dice(p, 8)]

    def attention(self, query, facts, mask):
        query = query @ self.query
        query = tf.maximum(0.0, query) + self.query_alpha * tf.minimum(0.0, query)
        queries = tf.repeat(query[:, None], STEPS, axis=1)
        d = tf.concat([queries, facts, queries - facts, queries * facts], axis=-1)
        d = tf.sigmoid(tf.tensordot(d, self.att_w[0], 1) + self.att_b[0])
        d = tf.sigmoid(tf.tensordot(d, self.att_w[1], 1) + self.att_b[1])
        scores = tf.squeeze(tf.tensordot(d, self.att_w[2], 1) + self.att_b[2], -1)
        paddings = tf.ones_like(scores) * (-(2.0**32) + 1)
        scores = tf.where(mask > 0, scores, paddings)
        return tf.nn.softmax(scores)

    def auxiliary(self, states, click):
        x = tf.concat([states, click], -1)
        x = tf.sigmoid(tf.tensordot(x, self.aux_w[0], 1) + self.aux_b[0])
        return tf.squeeze(tf.tensordot(x, self.aux_w[1], 1) + self.aux_b[1], -1)

    def __call__(self, user, target, items, cats, mask):
        target_item = tf.gather(self.item_table, target[:, 0])
        target_cat = tf.gather(self.cat_table, target[:, 1])
        item = tf.concat([target_item, target_cat], 1)
        history = tf.concat([tf.gather(self.item_table, items), tf.gather(self.cat_table, cats)], 2)
        history_sum = tf.reduce_sum(history * mask[:, :, None], 1)

        states, _ = dynamic_rnn(self.extract, history, mask)
        aux = self.auxiliary(states[:, :-1], history[:, 1:]) * mask[:, 1:]
        alphas = self.attention(item, states, mask)
        _, final = dynamic_rnn(self.evolve, states, mask, alphas)

        x = tf.concat([user, item, history_sum, item * history_sum, final], 1)
        for w, b, dice in zip(self.fc_w, self.fc_b, self.dices):
            x = dice(x @ w + b)
        y = tf.nn.softmax(x @ self.fc_w[2] + self.fc_b[2]) + 1e-8
        return y, alphas, aux


def make():
    return DIEN(21)


def inputs(seed):
    rng = np.random.default_rng(seed)
    user = rng.normal(size=(6, 4)).astype("float32")
    target = np.stack([rng.integers(0, ITEMS, 6), rng.integers(0, CATS, 6)], 1).astype("int32")
    items = rng.integers(0, ITEMS, (6, STEPS)).astype("int32")
    cats = rng.integers(0, CATS, (6, STEPS)).astype("int32")
    lengths = np.array([7, 5, 3, 6, 4, 7])
    mask = (np.arange(STEPS)[None] < lengths[:, None]).astype("float32")
    return user, target, items, cats, mask
