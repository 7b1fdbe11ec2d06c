"""FastSpeech 2 acoustic model (teacher forced durations and pitch), Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
VOCAB, DIM, HEADS, FF, MELS, BINS, FRAMES = 40, 32, 2, 64, 20, 16, 48


def positions(length, dim):
    pos = np.arange(length)[:, None]
    rate = 1.0 / 10000 ** (np.arange(0, dim, 2) / dim)
    table = np.zeros((length, dim), "float32")
    table[:, 0::2] = np.sin(pos * rate)
    table[:, 1::2] = np.cos(pos * rate)
    return tf.constant(table)


class FFTBlock(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.q, self.k, self.v, self.o = (layers.Dense(DIM, name=n) for n in "qkvo")
        self.conv1 = layers.Conv1D(FF, 9, padding="same", activation="relu", name="conv1")
        self.conv2 = layers.Conv1D(DIM, 1, name="conv2")
        self.norm1 = layers.LayerNormalization(epsilon=1e-5, name="norm1")
        self.norm2 = layers.LayerNormalization(epsilon=1e-5, name="norm2")

    def heads(self, x):
        b, t = x.shape[:2]
        return tf.transpose(tf.reshape(x, (b, t, HEADS, DIM // HEADS)), (0, 2, 1, 3))

    def call(self, x, pad):
        b, t = x.shape[:2]
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        score = tf.matmul(q, k, transpose_b=True) / (DIM // HEADS) ** 0.5
        score = tf.where(pad[:, None, None, :], -1e9, score)
        ctx = tf.matmul(tf.nn.softmax(score), v)
        ctx = tf.reshape(tf.transpose(ctx, (0, 2, 1, 3)), (b, t, DIM))
        x = self.norm1(x + self.o(ctx))
        x = tf.where(pad[..., None], 0.0, x)
        x = self.norm2(x + self.conv2(self.conv1(x)))
        return tf.where(pad[..., None], 0.0, x)


class VariancePredictor(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.conv1 = layers.Conv1D(DIM, 3, padding="same", name="conv1")
        self.norm1 = layers.LayerNormalization(epsilon=1e-5, name="norm1")
        self.conv2 = layers.Conv1D(DIM, 3, padding="same", name="conv2")
        self.norm2 = layers.LayerNormalization(epsilon=1e-5, name="norm2")
        self.out = layers.Dense(1, name="out")

    def call(self, x, pad):
        x = self.norm1(tf.nn.relu(self.conv1(x)))
        x = self.norm2(tf.nn.relu(self.conv2(x)))
        return tf.where(pad, 0.0, self.out(x)[..., 0])


def regulate(x, durations):
    """Repeat each phoneme for its duration; frames past the end are padding."""
    ends = tf.cumsum(durations, axis=1)
    frame = tf.range(FRAMES, dtype=durations.dtype)
    index = tf.reduce_sum(tf.cast(frame[None, :, None] >= ends[:, None, :], tf.int32), -1)
    pad = frame[None] >= ends[:, -1:]
    out = tf.gather(x, tf.minimum(index, x.shape[1] - 1), batch_dims=1)
    return tf.where(pad[..., None], 0.0, out), pad


class FastSpeech(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, DIM, name="embed")
        self.encoder = [FFTBlock(name=f"enc{i}") for i in range(2)]
        self.duration = VariancePredictor(name="duration")
        self.pitch = VariancePredictor(name="pitch")
        self.pitch_embed = layers.Embedding(BINS, DIM, name="pitch_embed")
        self.edges = np.linspace(-2, 2, BINS - 1).astype("float32")
        self.decoder = [FFTBlock(name="dec0")]
        self.mel = layers.Dense(MELS, name="mel")
        self.post1 = layers.Conv1D(24, 5, padding="same", activation="tanh", name="post1")
        self.post2 = layers.Conv1D(MELS, 5, padding="same", name="post2")

    def call(self, args):
        tokens, durations, pitch = args
        pad = tf.equal(tokens, 0)
        x = self.embed(tokens) + positions(tokens.shape[1], DIM)
        for block in self.encoder:
            x = block(x, pad)
        log_dur = self.duration(x, pad)
        pitch_hat = self.pitch(x, pad)
        bucket = tf.reduce_sum(tf.cast(pitch[..., None] > self.edges, tf.int32), -1)
        x = x + self.pitch_embed(bucket)
        y, frame_pad = regulate(x, durations)
        y = y + positions(FRAMES, DIM)
        for block in self.decoder:
            y = block(y, frame_pad)
        mel = self.mel(y)
        return mel, mel + self.post2(self.post1(mel)), log_dur, pitch_hat


def make():
    keras.utils.set_random_seed(1)
    net = FastSpeech()
    net(tuple(tf.constant(a) for a in inputs(0)))
    g = np.random.default_rng(1)
    for v in net.weights:
        if v.name in ("bias", "beta"):
            v.assign(g.normal(0, .15, v.shape))
        elif v.name == "gamma":
            v.assign(g.uniform(.7, 1.3, v.shape))
        elif v.name == "embeddings":
            v.assign(g.normal(0, .7, v.shape))
    return net


def inputs(seed=0):
    g = np.random.default_rng(seed)
    tokens = g.integers(1, VOCAB, (4, 12))
    for row, n in enumerate((12, 10, 7, 9)):
        tokens[row, n:] = 0
    durations = np.where(tokens > 0, g.integers(1, 5, (4, 12)), 0)
    pitch = np.where(tokens > 0, g.standard_normal((4, 12)), 0).astype("float32")
    return tokens.astype("int64"), durations.astype("int64"), pitch
