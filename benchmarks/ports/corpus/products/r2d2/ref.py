"""R2D2: conv torso, LSTM core with episode resets, dueling head, n-step double targets in rescaled space."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, T, SIDE, CH, A, HID = 4, 6, 12, 2, 4, 16
BURN_IN, N_STEP, GAMMA, EPS, ETA = 1, 2, 0.95, 1e-3, 0.9


def rescale(x):
    return tf.sign(x) * (tf.sqrt(tf.abs(x) + 1.0) - 1.0) + EPS * x


def unrescale(x):
    return tf.sign(x) * (tf.square((tf.sqrt(1.0 + 4.0 * EPS * (tf.abs(x) + 1.0 + EPS)) - 1.0) / (2.0 * EPS)) - 1.0)


class RecurrentQ(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = keras.layers.Conv2D(4, 4, strides=2, activation="relu")
        self.conv2 = keras.layers.Conv2D(6, 3, strides=1, activation="relu")
        self.flat = keras.layers.Flatten()
        self.fc = keras.layers.Dense(HID, activation="relu")
        self.core = keras.layers.LSTMCell(HID)
        self.adv_h = keras.layers.Dense(12, activation="relu")
        self.val_h = keras.layers.Dense(12, activation="relu")
        self.adv = keras.layers.Dense(A)
        self.val = keras.layers.Dense(1)

    def call(self, frames, prev_action, prev_reward, reset):
        x = tf.cast(frames, tf.float32) / 255.0
        x = tf.reshape(x, (-1, SIDE, SIDE, CH))
        x = self.fc(self.flat(self.conv2(self.conv1(x))))
        x = tf.reshape(x, (-1, T, HID))
        x = tf.concat([x, tf.one_hot(prev_action, A), prev_reward[..., None]], axis=-1)
        h = c = tf.zeros((tf.shape(x)[0], HID))
        outs = []
        for t in range(T):
            live = 1.0 - reset[:, t, None]
            y, (h, c) = self.core(x[:, t], [h * live, c * live])
            outs.append(y)
        y = tf.stack(outs, axis=1)
        adv = self.adv(self.adv_h(y))
        return self.val(self.val_h(y)) + adv - tf.reduce_mean(adv, axis=-1, keepdims=True)


class R2D2(keras.Model):
    def __init__(self):
        super().__init__()
        self.online = RecurrentQ()
        self.target = RecurrentQ()

    def call(self, frames, prev_action, prev_reward, reset, action, reward, discount):
        q = self.online(frames, prev_action, prev_reward, reset)
        qt = self.target(frames, prev_action, prev_reward, reset)
        greedy = tf.argmax(q, axis=-1)
        boot = unrescale(tf.reduce_sum(qt * tf.one_hot(greedy, A), axis=-1))
        q_a = tf.gather(q, action, batch_dims=2)
        td = []
        for t in range(BURN_IN, T - N_STEP):
            g, w = 0.0, 1.0
            for k in range(N_STEP):
                g += w * reward[:, t + k]
                w *= GAMMA * discount[:, t + k]
            td.append(rescale(g + w * boot[:, t + N_STEP]) - q_a[:, t])
        td = tf.stack(td, axis=1)
        mag = tf.abs(td)
        priority = ETA * tf.reduce_max(mag, axis=1) + (1 - ETA) * tf.reduce_mean(mag, axis=1)
        return {"q": q, "td": td, "priority": priority}


def make():
    keras.utils.set_random_seed(70)
    m = R2D2()
    z = np.zeros
    m(z((1, T, SIDE, SIDE, CH), "uint8"), z((1, T), "int64"), z((1, T), "float32"), z((1, T), "float32"),
      z((1, T), "int64"), z((1, T), "float32"), z((1, T), "float32"))
    rng = np.random.RandomState(1)
    for w in m.weights:
        if len(w.shape) == 1:
            w.assign(w + rng.normal(0, 0.3, w.shape).astype("float32"))
        else:
            w.assign(w * 1.5)
    return m


def inputs(seed):
    rng = np.random.RandomState(seed + 200)
    frames = rng.randint(0, 256, size=(B, T, SIDE, SIDE, CH)).astype(np.uint8)
    action = rng.randint(0, A, size=(B, T)).astype(np.int64)
    prev_action = np.concatenate([rng.randint(0, A, size=(B, 1)), action[:, :-1]], 1).astype(np.int64)
    reward = rng.randn(B, T).astype(np.float32) * 2
    prev_reward = np.concatenate([np.zeros((B, 1), np.float32), reward[:, :-1]], 1)
    reset = np.zeros((B, T), np.float32)
    reset[0, 3] = 1
    reset[2, 2] = 1
    discount = np.ones((B, T), np.float32)
    discount[0, 2] = 0
    discount[2, 1] = 0
    return frames, prev_action, prev_reward, reset, action, reward, discount
