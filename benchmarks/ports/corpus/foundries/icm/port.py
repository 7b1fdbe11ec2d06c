"""The curiosity module as a functional Keras model; frames in NHWC."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_ACTIONS = 6
FLAT = 250


def build_encoder():
    frames = x = keras.Input((36, 36, 4))
    x = layers.Rescaling(1 / 255)(x)
    for i, filters in enumerate((8, 8, 10)):
        x = layers.ZeroPadding2D(1, name=f"pad{i}")(x)
        x = layers.Conv2D(filters, 3, strides=2, activation="elu", name=f"conv{i}")(x)
    x = layers.Permute((3, 1, 2))(x)  # channels first, as the dense layers were trained
    return keras.Model(frames, layers.Flatten()(x), name="encoder")


def build():
    frames = keras.Input((36, 36, 4), name="frames")
    next_frames = keras.Input((36, 36, 4), name="next_frames")
    action = keras.Input((), dtype="int32", name="action")

    encoder = build_encoder()
    phi, phi_next = encoder(frames), encoder(next_frames)
    one_hot = layers.CategoryEncoding(N_ACTIONS, output_mode="one_hot")(ops.expand_dims(action, -1))

    both = layers.Concatenate()([phi, phi_next])
    hidden = layers.Dense(48, activation="relu", name="inverse1")(both)
    guess = layers.Dense(N_ACTIONS, name="inverse2")(hidden)
    inverse_loss = -ops.sum(one_hot * ops.log_softmax(guess), axis=-1)

    x = layers.Concatenate()([phi, one_hot])
    x = layers.Dense(48, name="forward1")(x)
    x = layers.LeakyReLU(negative_slope=0.2)(x)
    x = layers.Concatenate()([x, one_hot])
    predicted = layers.Dense(FLAT, name="forward2")(x)
    error = 0.5 * ops.sum(ops.square(predicted - phi_next), axis=-1)
    bonus = ops.minimum(0.1 * error, 25.0)

    logits = layers.Dense(N_ACTIONS, name="policy")(phi)
    value = layers.Dense(1, name="value")(phi)[:, 0]
    loss = 0.8 * ops.mean(inverse_loss) + 0.2 * ops.mean(error)
    outputs = {"action_guess": guess, "bonus": bonus, "logits": logits, "value": value, "loss": loss}
    return keras.Model([frames, next_frames, action], outputs, name="icm")


def make(seed=7):
    keras.utils.set_random_seed(seed)
    model = build()
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(0, 0.08, w.shape) for w in model.get_weights()])
    return model


def inputs(seed=0):
    r = np.random.default_rng(seed)
    frames = r.integers(0, 256, size=(5, 4, 36, 36)).astype("float32")
    newest = r.integers(0, 256, size=(5, 1, 36, 36)).astype("float32")
    action = r.integers(0, N_ACTIONS, size=5).astype("int32")
    following = np.concatenate([frames[:, 1:], newest], axis=1)
    return frames.transpose(0, 2, 3, 1).copy(), following.transpose(0, 2, 3, 1).copy(), action


def load(ported, original):
    encoder = ported.get_layer("encoder")
    for i, link in enumerate(original.encoder):
        encoder.get_layer(f"conv{i}").set_weights([link.W.data.transpose(2, 3, 1, 0), link.b.data])
    for name in ("inverse1", "inverse2", "forward1", "forward2", "policy", "value"):
        link = getattr(original, name)
        ported.get_layer(name).set_weights([link.W.data.T, link.b.data])
