"""SASRec (Kang & McAuley 2018) in Keras: next item from a left-padded history."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
VOCAB, LENGTH, DIM, HEADS, BLOCKS = 40, 10, 16, 2, 2


class Block(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.norm_attention = layers.LayerNormalization(epsilon=1e-8)
        self.norm_ffn = layers.LayerNormalization(epsilon=1e-8)
        self.query = layers.Dense(DIM)
        self.key = layers.Dense(DIM)
        self.value = layers.Dense(DIM)
        self.conv1 = layers.Conv1D(DIM, 1, activation="relu")
        self.conv2 = layers.Conv1D(DIM, 1)
        self.dropout = layers.Dropout(0.2)

    def heads(self, x):
        return ops.transpose(ops.reshape(x, (-1, LENGTH, HEADS, DIM // HEADS)), (0, 2, 1, 3))

    def call(self, x, valid):
        q_in = self.norm_attention(x)
        q = self.heads(self.query(q_in))
        k = self.heads(self.key(x))
        v = self.heads(self.value(x))
        logits = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / np.sqrt(DIM // HEADS)
        steps = ops.arange(LENGTH)
        causal = steps[:, None] >= steps[None, :]
        itself = steps[:, None] == steps[None, :]
        allowed = ops.logical_or(ops.logical_and(causal[None], valid[:, None, :]), itself[None])
        logits = ops.where(allowed[:, None], logits, -1e9)
        mixed = ops.matmul(self.dropout(ops.softmax(logits, axis=-1)), v)
        mixed = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, LENGTH, DIM))
        x = q_in + mixed
        f_in = self.norm_ffn(x)
        x = f_in + self.dropout(self.conv2(self.dropout(self.conv1(f_in))))
        return x * ops.cast(valid, x.dtype)[..., None]


class SASRec(keras.Model):
    def __init__(self):
        super().__init__()
        self.items = layers.Embedding(VOCAB, DIM)
        self.positions = layers.Embedding(LENGTH, DIM)
        self.dropout = layers.Dropout(0.2)
        self.blocks = [Block(name=f"block{i}") for i in range(BLOCKS)]
        self.norm = layers.LayerNormalization(epsilon=1e-8)

    def call(self, history, candidates):
        valid = ops.not_equal(history, 0)
        x = self.items(history) * DIM**0.5
        x = x + self.positions(ops.arange(LENGTH))
        x = self.dropout(x) * ops.cast(valid, x.dtype)[..., None]
        for block in self.blocks:
            x = block(x, valid)
        last = self.norm(x)[:, -1]
        return ops.einsum("bd,bcd->bc", last, self.items(candidates))


def make():
    keras.utils.set_random_seed(21)
    net = SASRec()
    net(*inputs(0))
    rng = np.random.default_rng(21)
    for w in net.trainable_variables:
        around = 1.0 if "gamma" in w.path else 0.0
        w.assign(around + 0.3 * rng.normal(size=w.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    history = rng.integers(1, VOCAB, (5, LENGTH))
    for row, pads in enumerate((0, 3, 6, 1, 4)):
        history[row, :pads] = 0
    return history.astype("int32"), rng.integers(1, VOCAB, (5, 8)).astype("int32")
