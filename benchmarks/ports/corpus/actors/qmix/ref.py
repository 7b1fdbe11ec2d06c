"""QMIX learner: recurrent agents, monotonic mixer, double-Q TD loss (Keras)."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
N, OBS, ST, ACT, H, EMB, T = 3, 5, 6, 4, 9, 7, 4


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(H, activation="relu")
        self.rnn = layers.GRUCell(H)
        self.fc2 = layers.Dense(ACT)

    def call(self, seq):
        b, steps = seq.shape[0], seq.shape[1]
        h = tf.zeros((b * N, H))
        qs = []
        for t in range(steps):
            x = self.fc1(tf.reshape(seq[:, t], (b * N, -1)))
            h, _ = self.rnn(x, [h])
            qs.append(tf.reshape(self.fc2(h), (b, N, ACT)))
        return tf.stack(qs, 1)


class Mixer(keras.Model):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = layers.Dense(N * EMB)
        self.hyper_b1 = layers.Dense(EMB)
        self.hyper_w2 = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(EMB)])
        self.v = keras.Sequential([layers.Dense(EMB, activation="relu"), layers.Dense(1)])

    def call(self, args):
        qs, state = args
        lead = tuple(qs.shape[:-1])
        w1 = tf.abs(tf.reshape(self.hyper_w1(state), lead + (N, EMB)))
        hidden = tf.nn.elu(tf.einsum("btn,btne->bte", qs, w1) + self.hyper_b1(state))
        w2 = tf.abs(self.hyper_w2(state))
        return tf.reduce_sum(hidden * w2, -1) + self.v(state)[..., 0]


class QMix(keras.Model):
    def __init__(self, gamma=0.93):
        super().__init__()
        self.gamma = gamma
        self.agent, self.mixer = Agent(), Mixer()
        self.target_agent, self.target_mixer = Agent(), Mixer()

    def call(self, inputs):
        obs, state, actions, avail, reward, terminated, filled = inputs
        b = obs.shape[0]
        onehot = tf.one_hot(actions, ACT)
        last = tf.concat([tf.zeros((b, 1, N, ACT)), onehot], 1)
        ids = tf.tile(tf.eye(N)[None, None], (b, T + 1, 1, 1))
        seq = tf.concat([obs, last, ids], -1)
        q = self.agent(seq)
        tq = self.target_agent(seq)
        chosen = tf.reduce_sum(q[:, :-1] * onehot, -1)
        greedy = tf.argmax(tf.where(avail, q, -1e9), -1)[:, 1:]
        next_q = tf.gather(tq[:, 1:], greedy, batch_dims=3)
        q_tot = self.mixer([chosen, state[:, :-1]])
        t_tot = self.target_mixer([next_q, state[:, 1:]])
        target = reward + self.gamma * (1.0 - terminated) * t_tot
        mask = tf.concat([filled[:, :1], filled[:, 1:] * (1.0 - terminated[:, :-1])], 1)
        td = (q_tot - target) * mask
        return {"q": q, "q_tot": q_tot, "target": target,
                "loss": tf.reduce_sum(tf.square(td)) / tf.reduce_sum(mask)}


def make():
    m = QMix()
    m([tf.constant(a) for a in inputs(0)])
    g = np.random.default_rng(64)
    for w in m.trainable_weights:
        s = 0.25 if w.path.endswith("bias") else 1.1 / np.sqrt(w.shape[0])
        w.assign((s * g.normal(size=tuple(w.shape))).astype("float32"))
    return m


def inputs(seed):
    g = np.random.default_rng(seed)
    b = 3
    f = lambda *s: g.normal(size=s).astype(np.float32)
    avail = g.random((b, T + 1, N, ACT)) < 0.6
    avail[..., 0] = True
    filled = np.ones((b, T), np.float32)
    filled[1, 3:] = 0
    filled[2, 2:] = 0
    term = np.zeros((b, T), np.float32)
    term[1, 2] = term[2, 1] = 1
    return (f(b, T + 1, N, OBS), f(b, T + 1, ST), g.integers(0, ACT, (b, T, N)).astype(np.int32),
            avail, f(b, T), term, filled)
