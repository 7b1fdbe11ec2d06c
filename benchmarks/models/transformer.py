"""An encoder of 12 pre-norm transformer layers in torch and Keras, batch 8, 64 tokens.

Keras' MultiHeadAttention holds a matrix (width, heads, width of a head) for each of query, key and
value, and torch's all three in rows of one.
"""

import keras
import numpy as np
import torch
from keras import layers
from torch import nn

BATCH, TOKENS, VOCABULARY = 8, 64, 1000
LAYERS, WIDTH, HEADS, HIDDEN = 12, 128, 4, 512
EPSILON = 1e-5


def pair():
    return torch_model(), keras_model(), inputs_for_torch(), inputs_for_keras()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        y = self.attention_norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(TOKENS))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(TOKENS, WIDTH), name="table")

    def call(self, x):
        return x + self.table


@torch.no_grad()
def torch_model():
    net = Encoder()
    for parameter, drawn in zip(net.parameters(), draw_weights(), strict=True):
        parameter.copy_(torch.from_numpy(drawn))
    return net.eval()


def keras_model():
    tokens = layers.Input((TOKENS,), dtype="int32")
    x = Positions()(layers.Embedding(VOCABULARY, WIDTH)(tokens))
    for _ in range(LAYERS):
        y = layers.LayerNormalization(epsilon=EPSILON)(x)
        x = x + layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y)
        y = layers.LayerNormalization(epsilon=EPSILON)(x)
        y = layers.Dense(HIDDEN, activation="gelu")(y)
        x = x + layers.Dense(WIDTH)(y)
    net = keras.Model(tokens, layers.LayerNormalization(epsilon=EPSILON)(x))
    drawn = iter(draw_weights())
    for layer in net.layers:
        match layer:
            case layers.Embedding() | Positions():
                layer.set_weights([next(drawn)])
            case layers.MultiHeadAttention():
                layer.set_weights(attention_weights(*(next(drawn) for _ in range(4))))
            case layers.LayerNormalization():
                layer.set_weights([next(drawn), next(drawn)])
            case layers.Dense():
                layer.set_weights([next(drawn).T, next(drawn)])
    return net


def attention_weights(rows, bias, out, out_bias):
    """What torch's MultiheadAttention holds, as Keras' has it: a kernel and a bias each."""
    heads = (HEADS, WIDTH // HEADS)
    found = []
    for kernel, shift in zip(np.split(rows, 3), np.split(bias, 3), strict=True):
        found += [kernel.T.reshape(WIDTH, *heads), shift.reshape(heads)]
    return [*found, out.T.reshape(*heads, WIDTH), out_bias]


def inputs_for_torch():
    return np.random.default_rng(1).integers(VOCABULARY, size=(BATCH, TOKENS))


def inputs_for_keras():
    return inputs_for_torch().astype(np.int32)


def draw_weights():
    """Every parameter in torch's order: two tables, twelve per block, and the last norm's."""
    rng = np.random.default_rng(0)

    def drawn(*shape, around=0.0):
        return rng.normal(around, 1 / np.sqrt(WIDTH), shape).astype(np.float32)

    def norm():
        return [drawn(WIDTH, around=1.0), drawn(WIDTH)]

    def dense(inputs, outputs):
        return [drawn(outputs, inputs), drawn(outputs)]

    found = [drawn(VOCABULARY, WIDTH), drawn(TOKENS, WIDTH)]
    for _ in range(LAYERS):
        found += [*norm(), *dense(WIDTH, 3 * WIDTH), *dense(WIDTH, WIDTH)]
        found += [*norm(), *dense(WIDTH, HIDDEN), *dense(HIDDEN, WIDTH)]
    return found + norm()
