"""IMPALA's residual network with an LSTM core, and V-trace targets, in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"

CONFIG = {
    "height": 12,
    "width": 10,
    "frames": 3,
    "depths": (4, 8),
    "fc": 24,
    "lstm": 16,
    "actions": 5,
    "discount": 0.97,
    "clip_rho": 1.0,
    "clip_c": 0.9,
}


class ConvSequence(layers.Layer):
    """Convolution, max pooling and two residual blocks."""

    def __init__(self, depth, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(depth, 3, padding="same")
        self.pool = layers.MaxPooling2D(3, strides=2, padding="same")
        self.blocks = [
            [layers.Conv2D(depth, 3, padding="same") for _ in range(2)] for _ in range(2)
        ]
        self.flat_blocks = [c for block in self.blocks for c in block]

    def call(self, x):
        x = self.pool(self.conv(x))
        for first, second in self.blocks:
            y = first(ops.relu(x))
            y = second(ops.relu(y))
            x = x + y
        return x


def vtrace(values, bootstrap, rewards, discounts, log_rhos, clip_rho, clip_c):
    """V-trace targets and policy-gradient advantages, time-major inputs [T, B]."""
    rhos = ops.exp(log_rhos)
    clipped = ops.minimum(clip_rho, rhos)
    cs = ops.minimum(clip_c, rhos)
    next_values = ops.concatenate([values[1:], bootstrap[None]], axis=0)
    deltas = clipped * (rewards + discounts * next_values - values)

    acc = ops.zeros_like(bootstrap)
    result = []
    for t in reversed(range(values.shape[0])):
        acc = deltas[t] + discounts[t] * cs[t] * acc
        result.append(acc)
    vs = ops.stack(result[::-1], axis=0) + values

    next_vs = ops.concatenate([vs[1:], bootstrap[None]], axis=0)
    advantages = clipped * (rewards + discounts * next_vs - values)
    return vs, advantages


class ImpalaAgent(keras.Model):
    def __init__(self, cfg, **kwargs):
        super().__init__(**kwargs)
        self.cfg = cfg
        self.sequences = [ConvSequence(d, name=f"seq_{i}") for i, d in enumerate(cfg["depths"])]
        self.flatten = layers.Flatten()
        self.fc = layers.Dense(cfg["fc"], activation="relu", name="fc")
        self.core = layers.LSTMCell(cfg["lstm"], name="core")
        self.policy = layers.Dense(cfg["actions"], name="policy")
        self.baseline = layers.Dense(1, name="baseline")

    def torso(self, frames, last_action, reward):
        x = ops.cast(frames, "float32") / 255.0
        for sequence in self.sequences:
            x = sequence(x)
        x = self.fc(self.flatten(ops.relu(x)))
        reward = ops.clip(reward, -1.0, 1.0)[:, None]
        return ops.concatenate([x, reward, ops.one_hot(last_action, self.cfg["actions"])], axis=-1)

    def call(self, frames, last_actions, rewards, done, behaviour_logits):
        # [B, T + 1, ...]: the action and reward that led to each frame
        cfg = self.cfg
        b, t1 = frames.shape[0], frames.shape[1]
        x = self.torso(
            ops.reshape(frames, (b * t1, *frames.shape[2:])),
            ops.reshape(last_actions, (b * t1,)),
            ops.reshape(rewards, (b * t1,)),
        )
        x = ops.reshape(x, (b, t1, -1))
        state = [ops.zeros((b, cfg["lstm"])), ops.zeros((b, cfg["lstm"]))]
        outputs = []
        for t in range(t1):
            live = (1.0 - done[:, t])[:, None]
            state = [s * live for s in state]
            y, state = self.core(x[:, t], state)
            outputs.append(y)
        y = ops.stack(outputs, axis=0)
        logits = self.policy(y)
        values = self.baseline(y)[..., 0]

        actions = ops.transpose(last_actions)[1:]
        one_hot = ops.one_hot(actions, cfg["actions"])
        target = ops.sum(ops.log_softmax(logits[:-1]) * one_hot, axis=-1)
        behaviour = ops.transpose(behaviour_logits, (1, 0, 2))
        behaviour = ops.sum(ops.log_softmax(behaviour) * one_hot, axis=-1)
        clipped_rewards = ops.clip(ops.transpose(rewards)[1:], -1.0, 1.0)
        discounts = cfg["discount"] * (1.0 - ops.transpose(done)[1:])
        vs, advantages = vtrace(
            values[:-1], values[-1], clipped_rewards, discounts, target - behaviour,
            cfg["clip_rho"], cfg["clip_c"],
        )
        back = (1, 0)
        return ops.transpose(logits, (1, 0, 2)), ops.transpose(vs, back), ops.transpose(advantages, back)


def make(seed=0):
    keras.utils.set_random_seed(seed)
    model = ImpalaAgent(CONFIG)
    model(*inputs(0))
    rng = np.random.default_rng(seed)
    for v in model.trainable_variables:
        if "bias" in v.path:
            v.assign_add(rng.normal(0, 0.1, v.shape))
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    c = CONFIG
    frames = rng.integers(0, 256, size=(b, t + 1, c["height"], c["width"], c["frames"]), dtype=np.uint8)
    actions = rng.integers(0, c["actions"], size=(b, t + 1)).astype(np.int32)
    rewards = rng.choice([0.0, 0.5, 1.0, -0.3, 5.0], p=[0.3, 0.3, 0.2, 0.1, 0.1], size=(b, t + 1))
    done = np.zeros((b, t + 1), np.float32)
    done[1, 3] = 1
    behaviour = rng.normal(size=(b, t, c["actions"])).astype(np.float32)
    return frames, actions, rewards.astype(np.float32), done, behaviour
