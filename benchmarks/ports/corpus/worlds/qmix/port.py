"""QMIX in Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
AGENTS, OBS, ACT, STATE, HID, EMBED = 3, 9, 5, 14, 16, 8


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(HID, activation="relu")
        self.rnn = layers.GRUCell(HID, reset_after=True)
        self.fc2 = layers.Dense(ACT)

    def call(self, obs, hidden):
        x = self.fc1(obs)
        h, _ = self.rnn(x, [hidden])
        return self.fc2(h), h


class Mixer(keras.Model):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = keras.Sequential([layers.Dense(20, activation="relu"), layers.Dense(AGENTS * EMBED)])
        self.hyper_w2 = keras.Sequential([layers.Dense(20, activation="relu"), layers.Dense(EMBED)])
        self.hyper_b1 = layers.Dense(EMBED)
        self.value = keras.Sequential([layers.Dense(EMBED, activation="relu"), layers.Dense(1)])

    def call(self, qs, state):
        qs = qs[:, None, :]
        w1 = tf.reshape(tf.abs(self.hyper_w1(state)), (-1, AGENTS, EMBED))
        b1 = self.hyper_b1(state)[:, None, :]
        hidden = tf.nn.elu(tf.matmul(qs, w1) + b1)
        w2 = tf.reshape(tf.abs(self.hyper_w2(state)), (-1, EMBED, 1))
        v = self.value(state)[:, None, :]
        return tf.reshape(tf.matmul(hidden, w2) + v, (-1,))


class QMix(keras.Model):
    def __init__(self):
        super().__init__()
        self.agent, self.mixer = Agent(), Mixer()

    def call(self, obs, state, avail):
        B, T = obs.shape[0], obs.shape[1]
        ids = tf.tile(tf.eye(AGENTS)[None], (B, 1, 1))
        h = tf.zeros((B * AGENTS, HID))
        q_all, totals = [], []
        for t in range(T):
            x = tf.reshape(tf.concat([obs[:, t], ids], axis=-1), (B * AGENTS, OBS + AGENTS))
            q, h = self.agent(x, h)
            q = tf.reshape(q, (B, AGENTS, ACT))
            masked = tf.where(avail[:, t] == 0, tf.constant(-9999999.0), q)
            greedy = tf.argmax(masked, axis=-1)
            chosen = tf.gather(q, greedy, batch_dims=2, axis=2)
            totals.append(self.mixer(chosen, state[:, t]))
            q_all.append(q)
        return {"q": tf.stack(q_all, 1), "total": tf.stack(totals, 1)}


def reorder(weight):
    r, z, n = np.split(npy(weight), 3, axis=0)
    return np.concatenate([z, r, n], axis=0)


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def make():
    net = QMix()
    net(tf.zeros((1, 1, AGENTS, OBS)), tf.zeros((1, 1, STATE)), tf.ones((1, 1, AGENTS, ACT)))
    return net


def load(net, ref):
    dense(net.agent.fc1, ref.agent.fc1)
    dense(net.agent.fc2, ref.agent.fc2)
    cell = ref.agent.rnn
    net.agent.rnn.set_weights([
        reorder(cell.weight_ih).T,
        reorder(cell.weight_hh).T,
        np.stack([reorder(cell.bias_ih), reorder(cell.bias_hh)]),
    ])
    for name in ("hyper_w1", "hyper_w2", "value"):
        ours, theirs = getattr(net.mixer, name), getattr(ref.mixer, name)
        dense(ours.layers[0], theirs[0])
        dense(ours.layers[1], theirs[2])
    dense(net.mixer.hyper_b1, ref.mixer.hyper_b1)
