"""DRQN in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
ACTIONS = 5


class Encoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.c1 = layers.Conv2D(8, 4, strides=2, activation="relu")
        self.pad = layers.ZeroPadding2D(1)
        self.c2 = layers.Conv2D(12, 3, strides=2, activation="relu")
        self.flat = layers.Flatten()
        self.fc = layers.Dense(32, activation="relu")

    def call(self, x):
        x = self.c1(x / 255.0)
        x = self.c2(self.pad(x))
        return self.fc(self.flat(x))


class RecurrentQ(keras.Model):
    def __init__(self, units=24, actions=ACTIONS):
        super().__init__()
        self.units, self.num_actions = units, actions
        self.encoder = Encoder()
        self.cell = layers.LSTMCell(units)
        self.v_head = layers.Dense(1)
        self.a_head = layers.Dense(actions)

    def call(self, frames, last_actions, rewards, dones):
        b, t = frames.shape[0], frames.shape[1]
        feats = self.encoder(ops.reshape(frames, (b * t,) + tuple(frames.shape[2:])))
        feats = ops.reshape(feats, (b, t, 32))
        prev = ops.one_hot(last_actions, self.num_actions)
        rew = ops.clip(rewards, -1.0, 1.0)[..., None]
        seq = ops.concatenate([feats, prev, rew], axis=-1)
        state = [ops.zeros((b, self.units)), ops.zeros((b, self.units))]
        ys = []
        for step in range(t):
            alive = 1.0 - dones[:, step : step + 1]
            state = [s * alive for s in state]
            y, state = self.cell(seq[:, step], state)
            ys.append(y)
        y = ops.stack(ys, axis=1)
        adv = self.a_head(y)
        return self.v_head(y) + adv - ops.mean(adv, axis=-1, keepdims=True)


def make():
    keras.utils.set_random_seed(5)
    net = RecurrentQ()
    net(*inputs(0))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    frames = rng.integers(0, 256, size=(b, t, 20, 20, 3)).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b, t)).astype("int64")
    rewards = (rng.normal(size=(b, t)) * 1.5).astype("float32")
    dones = (rng.random((b, t)) < 0.3).astype("float32")
    dones[0, 2] = 1.0
    return frames, actions, rewards, dones


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    enc = ported.encoder
    for layer, name in ((enc.c1, "conv1"), (enc.c2, "conv2")):
        layer.set_weights([sd[name + ".weight"].transpose(2, 3, 1, 0), sd[name + ".bias"]])
    w = sd["embed.weight"].reshape(32, 12, 5, 5)
    w = w.transpose(2, 3, 1, 0).reshape(300, 32)
    enc.fc.set_weights([w, sd["embed.bias"]])
    bias = sd["lstm.bias_ih"] + sd["lstm.bias_hh"]
    ported.cell.set_weights([sd["lstm.weight_ih"].T, sd["lstm.weight_hh"].T, bias])
    ported.v_head.set_weights([sd["value.weight"].T, sd["value.bias"]])
    ported.a_head.set_weights([sd["advantage.weight"].T, sd["advantage.bias"]])
