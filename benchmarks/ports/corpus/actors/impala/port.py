"""IMPALA in Keras, channels last."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
T, B, A = 6, 3, 5


class ResBlock(layers.Layer):
    def __init__(self, ch, **kw):
        super().__init__(**kw)
        self.conv0 = layers.Conv2D(ch, 3, padding="same")
        self.conv1 = layers.Conv2D(ch, 3, padding="same")

    def call(self, x):
        y = self.conv0(tf.nn.relu(x))
        return x + self.conv1(tf.nn.relu(y))


class Section(layers.Layer):
    def __init__(self, ch, **kw):
        super().__init__(**kw)
        self.conv = layers.Conv2D(ch, 3, padding="same")
        self.blocks = [ResBlock(ch) for _ in range(2)]

    def call(self, x):
        x = self.conv(x)
        x = tf.nn.max_pool2d(x, 3, 2, padding=[[0, 0], [1, 1], [1, 1], [0, 0]])
        for b in self.blocks:
            x = b(x)
        return x


def vtrace(behaviour_logits, target_logits, actions, discounts, rewards, values, bootstrap):
    def logp(lg):
        return tf.gather(tf.nn.log_softmax(lg), actions, batch_dims=2)

    rhos = tf.exp(logp(target_logits) - logp(behaviour_logits))
    clipped = tf.minimum(rhos, 1.0)
    values_tp1 = tf.concat([values[1:], bootstrap[None]], 0)
    deltas = clipped * (rewards + discounts * values_tp1 - values)
    acc = tf.zeros_like(bootstrap)
    out = []
    for t in range(T - 2, -1, -1):
        acc = deltas[t] + discounts[t] * clipped[t] * acc
        out.insert(0, acc)
    vs = tf.stack(out) + values
    vs_tp1 = tf.concat([vs[1:], bootstrap[None]], 0)
    return vs, clipped * (rewards + discounts * vs_tp1 - values)


class Impala(keras.Model):
    def __init__(self, num_actions=A, hidden=24, core=16, gamma=0.97):
        super().__init__()
        self.num_actions, self.gamma = num_actions, gamma
        self.sections = [Section(4), Section(6)]
        self.fc = layers.Dense(hidden, activation="relu")
        self.cell = layers.LSTMCell(core)
        self.policy = layers.Dense(num_actions)
        self.value = layers.Dense(1)

    def call(self, inp):
        frame = inp["frame"]
        x = tf.reshape(tf.cast(frame, tf.float32), (T * B, 16, 16, 3)) / 255.0
        for s in self.sections:
            x = s(x)
        x = tf.nn.relu(tf.transpose(x, (0, 3, 1, 2)))
        x = self.fc(tf.reshape(x, (T * B, -1)))
        r = tf.clip_by_value(inp["reward"], -1.0, 1.0)
        onehot = tf.one_hot(inp["action"], self.num_actions)
        core_in = tf.concat([tf.reshape(x, (T, B, -1)), r[..., None], onehot], -1)
        notdone = 1.0 - tf.cast(inp["done"], tf.float32)
        h, c = inp["h0"], inp["c0"]
        ys = []
        for t in range(T):
            nd = notdone[t][:, None]
            h, c = nd * h, nd * c
            y, (h, c) = self.cell(core_in[t], [h, c])
            ys.append(y)
        core = tf.stack(ys)
        logits = self.policy(core)
        baseline = self.value(core)[..., 0]
        vs, adv = vtrace(inp["behaviour_logits"][1:], logits[:-1], inp["action"][1:],
                         notdone[1:] * self.gamma, r[1:], baseline[:-1], baseline[-1])
        return {"logits": logits, "baseline": baseline, "vs": vs, "pg_advantages": adv,
                "h": h, "c": c}


def make():
    m = Impala()
    m({k: tf.constant(v) for k, v in inputs(0).items()})
    return m


def _n(t):
    return t.detach().numpy()


def load(port_model, ref_model):
    def conv(dst, src):
        dst.set_weights([_n(src.weight).transpose(2, 3, 1, 0), _n(src.bias)])

    def dense(dst, src):
        dst.set_weights([_n(src.weight).T, _n(src.bias)])

    for d, s in zip(port_model.sections, ref_model.sections):
        conv(d.conv, s.conv)
        for bd, bs in zip(d.blocks, s.res):
            conv(bd.conv0, bs.conv0)
            conv(bd.conv1, bs.conv1)
    dense(port_model.fc, ref_model.fc)
    dense(port_model.policy, ref_model.policy)
    dense(port_model.value, ref_model.baseline)
    lstm = ref_model.core
    bias = _n(lstm.bias_ih_l0) + _n(lstm.bias_hh_l0)
    port_model.cell.set_weights([_n(lstm.weight_ih_l0).T, _n(lstm.weight_hh_l0).T, bias])


def inputs(seed):
    g = np.random.default_rng(seed)
    done = g.random((T, B)) < 0.2
    done[3, 1] = True
    frame = g.integers(0, 256, (T, B, 3, 16, 16)).astype(np.uint8)
    return {
        "frame": np.ascontiguousarray(frame.transpose(0, 1, 3, 4, 2)),
        "reward": (1.5 * g.normal(size=(T, B))).astype(np.float32),
        "done": done,
        "action": g.integers(0, A, (T, B)),
        "behaviour_logits": g.normal(size=(T, B, A)).astype(np.float32),
        "h0": (0.5 * g.normal(size=(B, 16))).astype(np.float32),
        "c0": (0.5 * g.normal(size=(B, 16))).astype(np.float32),
    }
