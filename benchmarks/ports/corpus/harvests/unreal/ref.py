"""UNREAL (Jaderberg et al. 2016): A3C-LSTM with pixel control and reward prediction."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
STEPS, SIZE, ACTIONS, UNITS = 4, 36, 5, 48


class Unreal(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(12, 8, strides=4, activation="relu")
        self.conv2 = layers.Conv2D(16, 4, strides=2, activation="relu")
        self.fc = layers.Dense(UNITS, activation="relu")
        self.lstm = layers.LSTM(UNITS, return_sequences=True)
        self.pi = layers.Dense(ACTIONS)
        self.v = layers.Dense(1)
        self.pc_fc = layers.Dense(4 * 4 * 8, activation="relu")
        self.pc_value = layers.Conv2DTranspose(1, 3, strides=2, activation="relu")
        self.pc_adv = layers.Conv2DTranspose(ACTIONS, 3, strides=2, activation="relu")
        self.rp_fc = layers.Dense(32, activation="relu")
        self.rp_out = layers.Dense(3)

    def call(self, frames, actions, rewards):
        b = frames.shape[0]
        x = ops.cast(frames, "float32") / 255.0
        convs = self.conv2(self.conv1(ops.reshape(x, (b * STEPS, SIZE, SIZE, 3))))
        feat = ops.reshape(convs, (b, STEPS, -1))
        # what was done and got one step earlier; nothing at the first
        last_action = ops.pad(ops.one_hot(actions[:, :-1], ACTIONS), ((0, 0), (1, 0), (0, 0)))
        last_reward = ops.pad(rewards[:, :-1], ((0, 0), (1, 0)))
        h = self.lstm(ops.concatenate([self.fc(feat), last_action, last_reward[..., None]], axis=-1))
        policy = ops.softmax(self.pi(h), axis=-1)
        value = ops.squeeze(self.v(h), axis=-1)

        z = ops.reshape(self.pc_fc(h), (b * STEPS, 4, 4, 8))
        adv = self.pc_adv(z)
        q = self.pc_value(z) + adv - ops.mean(adv, axis=-1, keepdims=True)
        q = ops.reshape(q, (b, STEPS, 9, 9, ACTIONS))

        # pseudo-reward: mean absolute change of every 4x4 cell
        change = ops.abs(x[:, 1:] - x[:, :-1])
        cells = ops.reshape(change, (b, STEPS - 1, SIZE // 4, 4, SIZE // 4, 4, 3))
        pc_reward = ops.mean(cells, axis=(3, 5, 6))

        three = ops.reshape(feat[:, :3], (b, -1))
        rp = ops.softmax(self.rp_out(self.rp_fc(three)), axis=-1)
        return policy, value, q, pc_reward, rp


def make(seed=8):
    keras.utils.set_random_seed(seed)
    net = Unreal()
    net(*[ops.convert_to_tensor(x) for x in inputs(1)])
    rng = np.random.default_rng(seed)
    for w in net.weights:
        w.assign(w.numpy() + rng.normal(0, 0.05, w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (4, STEPS, SIZE, SIZE, 3), dtype=np.uint8)
    actions = rng.integers(0, ACTIONS, (4, STEPS)).astype("int64")
    rewards = rng.choice([-1.0, 0.0, 1.0, 0.5], (4, STEPS)).astype("float32")
    return frames, actions, rewards
