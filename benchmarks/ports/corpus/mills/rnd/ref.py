"""Random network distillation bonus with a two-headed value function (Keras)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
SIDE = 36


@keras.saving.register_keras_serializable()
class Whiten(layers.Layer):
    """(x - mean) / std with running statistics, clipped to five sigmas."""

    def build(self, shape):
        self.mean = self.add_weight(shape=shape[1:], name="mean", initializer="zeros", trainable=False)
        self.var = self.add_weight(shape=shape[1:], name="var", initializer="ones", trainable=False)

    def call(self, x):
        return ops.clip((x - self.mean) / ops.sqrt(self.var + 1e-8), -5.0, 5.0)


@keras.saving.register_keras_serializable()
class RewardScale(layers.Layer):
    def build(self, shape):
        self.var = self.add_weight(shape=(), name="return_var", initializer="ones", trainable=False)

    def call(self, r):
        return r / ops.sqrt(self.var + 1e-8)


def conv_stack(x, prefix):
    for i, (ch, k, s) in enumerate(((16, 8, 4), (24, 4, 2), (24, 3, 1))):
        x = layers.Conv2D(ch, k, strides=s, padding="same", name=f"{prefix}_conv{i}")(x)
        x = layers.LeakyReLU(negative_slope=0.2)(x)
    return layers.Flatten()(x)


def make(seed=0):
    keras.utils.set_random_seed(seed)
    frames = keras.Input((SIDE, SIDE, 2), name="frames")
    last = layers.Lambda(lambda t: t[..., -1:], name="last_frame")(frames)
    white = Whiten(name="whiten")(last)

    target = layers.Dense(32, name="target_out")(conv_stack(white, "target"))
    h = conv_stack(white, "pred")
    h = layers.Dense(64, activation="relu", name="pred_fc1")(h)
    h = layers.Dense(64, activation="relu", name="pred_fc2")(h)
    predicted = layers.Dense(32, name="pred_out")(h)
    err = ops.mean(ops.square(predicted - ops.stop_gradient(target)), axis=-1)
    bonus = RewardScale(name="reward_scale")(err)

    p = conv_stack(frames / 255.0, "policy")
    p = layers.Dense(64, activation="relu", name="policy_fc")(p)
    extra = layers.Dense(64, activation="relu", name="value_extra")(p)
    value_in = layers.Add()([p, extra])
    logits = layers.Dense(5, name="logits")(p)
    v_ext = layers.Dense(1, name="v_ext")(value_in)
    v_int = layers.Dense(1, name="v_int")(value_in)
    adv_mix = 2.0 * v_ext[:, 0] + 1.0 * v_int[:, 0]

    model = keras.Model(frames, [bonus, logits, v_ext, v_int, adv_mix])
    rng = np.random.default_rng(seed)
    for w in model.weights:
        if w.path.endswith("bias"):
            w.assign(rng.normal(0, 0.1, w.shape))
    wh = model.get_layer("whiten")
    wh.mean.assign(rng.uniform(90, 150, wh.mean.shape))
    wh.var.assign(rng.uniform(1500, 5000, wh.var.shape))
    model.get_layer("reward_scale").var.assign(0.37)
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 256, (4, SIDE, SIDE, 2)).astype(np.float32),)
