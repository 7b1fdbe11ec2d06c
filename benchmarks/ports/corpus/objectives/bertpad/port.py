"""The encoder with Keras' own layers: MultiHeadAttention, Embedding, LayerNormalization."""

import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
PAD = 1
WIDTH, HEADS, DEPTH, VOCABULARY, LONGEST = 16, 4, 2, 23, 20


def layer_norm(name):
    return layers.LayerNormalization(epsilon=1e-12, name=name)


class EncoderLayer(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(num_heads=HEADS, key_dim=WIDTH // HEADS)
        self.norm1 = layer_norm("norm1")
        self.ffn = keras.Sequential(
            [
                layers.Dense(4 * WIDTH, activation="gelu"),
                layers.Dense(WIDTH),
            ]
        )
        self.norm2 = layer_norm("norm2")

    def call(self, x, keep):
        attended = self.attention(x, x, attention_mask=keep[:, None, :])
        x = self.norm1(x + attended)
        return self.norm2(x + self.ffn(x))


class Bert(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = layers.Embedding(VOCABULARY, WIDTH)
        self.positions = layers.Embedding(LONGEST, WIDTH)
        self.segments = layers.Embedding(2, WIDTH)
        self.norm = layer_norm("norm")
        self.encoder = [EncoderLayer(name=f"layer{i}") for i in range(DEPTH)]
        self.pooler = layers.Dense(WIDTH, activation="tanh")
        self.transform = layers.Dense(WIDTH, activation="gelu")
        self.transform_norm = layer_norm("transform_norm")
        self.decoder_bias = self.add_weight(shape=(VOCABULARY,), initializer="zeros", name="decoder_bias")

    def call(self, ids, segments):
        keep = ops.not_equal(ids, PAD)
        counts = ops.cast(keep, "int32")
        positions = ops.where(keep, ops.cumsum(counts, axis=1), 0) + PAD
        x = self.norm(self.words(ids) + self.segments(segments) + self.positions(positions))
        for layer in self.encoder:
            x = layer(x, keep)
        mask = ops.cast(keep, x.dtype)
        total = ops.einsum("bn,bnd->bd", mask, x)
        sentence = total / ops.maximum(ops.sum(mask, axis=1, keepdims=True), 1e-9)
        sentence = sentence / ops.maximum(ops.norm(sentence, axis=-1, keepdims=True), 1e-12)
        pooled = self.pooler(x[:, 0, :])
        h = self.transform_norm(self.transform(x))
        words = ops.matmul(h, ops.transpose(self.words.embeddings)) + self.decoder_bias
        return pooled, sentence, words


def make():
    keras.utils.set_random_seed(3)
    net = Bert()
    net(ops.ones((1, 3), dtype="int32"), ops.zeros((1, 3), dtype="int32"))
    return net


def load(net, reference):
    def n(t):
        return t.detach().numpy()

    def dense(layer, linear):
        layer.set_weights([n(linear.weight).T, n(linear.bias)])

    def norm(layer, other):
        layer.set_weights([n(other.weight), n(other.bias)])

    for name in ("words", "positions", "segments"):
        getattr(net, name).set_weights([n(getattr(reference, name).weight)])
    norm(net.norm, reference.norm)
    for ours, theirs in zip(net.encoder, reference.layers):
        w = n(theirs.attention.qkv.weight).reshape(3, HEADS, WIDTH // HEADS, WIDTH)
        b = n(theirs.attention.qkv.bias).reshape(3, HEADS, WIDTH // HEADS)
        weights = []
        for part in range(3):
            weights += [w[part].transpose(2, 0, 1), b[part]]
        weights.append(n(theirs.attention.out.weight).T.reshape(HEADS, WIDTH // HEADS, WIDTH))
        weights.append(n(theirs.attention.out.bias))
        # Keras orders them query, key, value, output
        ours.attention.set_weights(weights)
        norm(ours.norm1, theirs.norm1)
        norm(ours.norm2, theirs.norm2)
        dense(ours.ffn.layers[0], theirs.up)
        dense(ours.ffn.layers[1], theirs.down)
    dense(net.pooler, reference.pooler)
    dense(net.transform, reference.transform)
    norm(net.transform_norm, reference.transform_norm)
    net.decoder_bias.assign(n(reference.decoder_bias))
