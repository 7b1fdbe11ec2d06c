"""Grid-wise masked multi-discrete actor-critic (micro-RTS style), Keras functional."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
H, W, PLANES = 8, 8, 9
NVEC = (4, 4, 3)          # action type, direction, what to produce


def make(seed=0):
    keras.utils.set_random_seed(seed)
    grid = keras.Input((H, W, PLANES), name="grid")
    mask = keras.Input((H * W, sum(NVEC)), name="mask")
    chosen = keras.Input((H * W, len(NVEC)), dtype="int32", name="chosen")

    x = layers.Conv2D(16, 3, padding="same", name="enc1")(grid)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="pool1")(x)
    skip = layers.ReLU()(x)
    x = layers.Conv2D(32, 3, padding="same", name="enc2")(skip)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="pool2")(x)
    bottom = layers.ReLU()(x)                                         # 2 x 2 x 32

    y = layers.Conv2DTranspose(16, 2, strides=2, name="dec1")(bottom)
    y = layers.Concatenate()([layers.ReLU()(y), skip])
    y = layers.Conv2DTranspose(sum(NVEC), 2, strides=2, name="dec2")(y)
    logits = layers.Reshape((H * W, sum(NVEC)), name="logits")(y)
    logits = ops.where(mask > 0.5, logits, -1e8)

    is_unit = ops.cast(ops.any(mask > 0.5, axis=-1), "float32")       # any legal action in the cell
    logprob, entropy, at = 0.0, 0.0, 0
    for i, n in enumerate(NVEC):
        logp = ops.log_softmax(logits[:, :, at:at + n], axis=-1)
        legal = mask[:, :, at:at + n]
        taken = ops.take_along_axis(logp, chosen[:, :, i:i + 1], axis=-1)[:, :, 0]
        logprob = logprob + ops.sum(taken * is_unit, axis=1)
        plogp = ops.where(legal > 0.5, ops.exp(logp) * logp, 0.0)
        entropy = entropy - ops.sum(ops.sum(plogp, axis=-1) * is_unit, axis=1)
        at += n

    v = layers.Flatten()(bottom)
    v = layers.Dense(48, activation="tanh", name="critic1")(v)
    value = layers.Dense(1, name="critic2")(v)
    model = keras.Model([grid, mask, chosen], [logprob, entropy, value])
    rng = np.random.default_rng(seed)
    for w in model.weights:
        w.assign(rng.normal(0, 0.2, w.shape) if len(w.shape) == 1 else w * 1.5)
    return model


def draw(seed):
    rng = np.random.default_rng(seed)
    b = 4
    grid = (rng.random((b, H, W, PLANES)) < 0.3).astype(np.float32)
    unit = rng.random((b, H * W, 1)) < 0.3
    parts, chosen = [], []
    for n in NVEC:
        m = rng.random((b, H * W, n)) < 0.6
        pick = rng.integers(0, n, (b, H * W))
        np.put_along_axis(m, pick[..., None], True, axis=-1)          # the chosen one is legal
        parts.append(m & unit)
        chosen.append(pick)
    return grid, np.concatenate(parts, -1).astype(np.float32), np.stack(chosen, -1).astype(np.int32)


def inputs(seed=0):
    return draw(seed)
