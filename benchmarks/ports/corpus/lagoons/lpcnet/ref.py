"""LPCNet (Valin & Skoglund 2019), Keras functional as in xiph/LPCNet's lpcnet.py."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
FRAMES, FRAME_SIZE, NB_FEATURES, LEVELS = 4, 4, 6, 12


class MDense(layers.Layer):
    """Dual fully-connected output of LPCNet."""

    def __init__(self, outputs, channels=2, **kw):
        super().__init__(**kw)
        self.units, self.channels = outputs, channels

    def build(self, input_shape):
        d = input_shape[-1]
        self.kernel = self.add_weight(shape=(self.units, d, self.channels), name="kernel")
        self.bias = self.add_weight(shape=(self.units, self.channels), name="bias")
        self.factor = self.add_weight(shape=(self.units, self.channels), name="factor")
        self.built = True

    def call(self, x):
        out = ops.tensordot(x, self.kernel, axes=[[2], [1]])
        out = out + self.bias
        out = ops.tanh(out) * self.factor
        out = ops.sum(out, axis=-1)
        return ops.softmax(out, axis=-1)


def new_lpcnet_model():
    pcm = keras.Input((FRAMES * FRAME_SIZE, 3), dtype="int32")
    feat = keras.Input((FRAMES, NB_FEATURES))
    pitch = keras.Input((FRAMES,), dtype="int32")

    embed = layers.Embedding(LEVELS, 5, name="embed_sig")
    cpcm = layers.Reshape((-1, 5 * 3))(embed(pcm))
    pembed = layers.Embedding(16, 4, name="embed_pitch")
    cat_feat = layers.Concatenate()([feat, pembed(pitch)])
    cfeat = layers.Conv1D(8, 3, padding="same", activation="tanh", name="feature_conv1")(cat_feat)
    cfeat = layers.Conv1D(8, 3, padding="same", activation="tanh", name="feature_conv2")(cfeat)
    cfeat = layers.Dense(8, activation="tanh", name="feature_dense1")(cfeat)
    cfeat = layers.Dense(8, activation="tanh", name="feature_dense2")(cfeat)

    rep = ops.repeat(cfeat, FRAME_SIZE, axis=1)
    rnn_in = layers.Concatenate()([cpcm, rep])
    gru_out1 = layers.GRU(10, return_sequences=True, recurrent_activation="sigmoid", reset_after=True, name="gru_a")(rnn_in)
    rnn_in2 = layers.Concatenate()([gru_out1, rep])
    gru_out2 = layers.GRU(6, return_sequences=True, recurrent_activation="sigmoid", reset_after=True, name="gru_b")(rnn_in2)
    ulaw_prob = MDense(LEVELS, name="dual_fc")(gru_out2)
    return keras.Model([pcm, feat, pitch], ulaw_prob)


def make():
    m = new_lpcnet_model()
    r = np.random.RandomState(2)
    m.set_weights([r.randn(*w.shape).astype("float32") * (0.3 if min(w.shape) < 4 and w.ndim < 3 else 0.5) for w in m.get_weights()])
    f = m.get_layer("dual_fc").factor
    f.assign(1.5 * r.randn(*f.shape).astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, LEVELS, (4, FRAMES * FRAME_SIZE, 3)).astype("int32"),
            r.randn(4, FRAMES, NB_FEATURES).astype("float32"),
            r.randint(0, 16, (4, FRAMES)).astype("int32"))
