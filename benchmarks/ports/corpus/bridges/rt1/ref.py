"""RT-1-like policy (Brohan et al., 2022): FiLM-conditioned convnet, TokenLearner, causal transformer."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
FRAMES, SIDE, TEXT, WIDTH = 4, 24, 16, 24
TOKENS, DIMS, BINS, HEADS = 3, 4, 11, 3


class FiLM(layers.Layer):
    def __init__(self, channels, **kw):
        super().__init__(**kw)
        self.scale = layers.Dense(channels)
        self.shift = layers.Dense(channels)

    def call(self, x, text):
        gamma = self.scale(text)[:, None, None, :]
        beta = self.shift(text)[:, None, None, :]
        return x * (1.0 + gamma) + beta


class MBConv(layers.Layer):
    def __init__(self, channels, stride, **kw):
        super().__init__(**kw)
        self.stride = stride
        self.expand = layers.Conv2D(2 * channels, 1, activation="silu")
        self.depthwise = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization()
        self.squeeze = layers.Dense(8, activation="silu")
        self.excite = layers.Dense(2 * channels, activation="sigmoid")
        self.project = layers.Conv2D(channels, 1)
        self.film = FiLM(channels)

    def call(self, x, text):
        h = self.expand(x)
        h = ops.silu(self.bn(self.depthwise(h), training=False))
        gate = self.excite(self.squeeze(ops.mean(h, axis=(1, 2))))
        h = self.film(self.project(h * gate[:, None, None, :]), text)
        return h + x if self.stride == 1 else h


class TokenLearner(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.norm = layers.LayerNormalization(epsilon=1e-6)
        self.hidden = layers.Dense(16, activation=lambda x: ops.gelu(x, approximate=False))
        self.maps = layers.Dense(TOKENS)

    def call(self, x):
        n, h, w, c = x.shape
        x = ops.reshape(x, (-1, h * w, c))
        attention = ops.softmax(self.maps(self.hidden(self.norm(x))), axis=1)
        return ops.einsum("bpt,bpc->btc", attention, x)


class Block(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.attn = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)
        self.up = layers.Dense(2 * WIDTH, activation="relu")
        self.down = layers.Dense(WIDTH)

    def call(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, attention_mask=mask)
        return x + self.down(self.up(self.norm2(x)))


class RT1(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = layers.Conv2D(16, 3, strides=2, padding="same", activation="silu")
        self.stages = [MBConv(16, 1), MBConv(WIDTH, 2)]
        self.tokens = TokenLearner()
        self.positions = layers.Embedding(FRAMES * TOKENS, WIDTH)
        self.blocks = [Block(), Block()]
        self.final = layers.LayerNormalization(epsilon=1e-6)
        self.logits = layers.Dense(DIMS * BINS)

    def call(self, batch):
        images, text = batch
        b = ops.shape(images)[0]
        x = self.stem(ops.reshape(images, (-1, SIDE, SIDE, 3)) / 127.5 - 1.0)
        per_frame = ops.repeat(text, FRAMES, axis=0)
        for stage in self.stages:
            x = stage(x, per_frame)
        x = ops.reshape(self.tokens(x), (b, FRAMES * TOKENS, WIDTH))
        x = x + self.positions(ops.arange(FRAMES * TOKENS))
        frame = ops.arange(FRAMES * TOKENS) // TOKENS
        mask = (frame[:, None] >= frame[None, :])[None]
        for block in self.blocks:
            x = block(x, mask)
        x = ops.reshape(self.final(x), (b, FRAMES, TOKENS, WIDTH))[:, :, -1]
        logits = ops.reshape(self.logits(x), (b, FRAMES, DIMS, BINS))
        centres = ops.linspace(-1.0, 1.0, BINS)
        return logits, ops.sum(ops.softmax(logits, axis=-1) * centres, axis=-1)


def make():
    keras.utils.set_random_seed(31)
    model = RT1()
    model(inputs(0))
    rng = np.random.RandomState(12)
    for v in model.weights:
        if v.path.endswith("moving_variance"):
            v.assign(rng.uniform(0.4, 1.5, v.shape))
        elif len(v.shape) == 1 or "embedding" in v.path or "attention" in v.path:
            v.assign(v.numpy() + 0.2 * rng.randn(*v.shape))
    model.tokens.maps.kernel.assign(model.tokens.maps.kernel.numpy() * 4)  # selective, as after training
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    return rng.uniform(0, 255, (4, FRAMES, SIDE, SIDE, 3)).astype("float32"), rng.randn(4, TEXT).astype("float32")
