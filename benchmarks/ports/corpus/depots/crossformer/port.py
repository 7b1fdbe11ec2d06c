"""Crossformer as a Keras functional model."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
DIMS, IN_LEN, OUT_LEN, SEG, WIN = 5, 24, 12, 6, 2
D, HEADS, FF, FACTOR, LAYERS = 12, 3, 20, 3, 2


class Embedding(layers.Layer):
    """Adds a learned (dims, segments, d) embedding; or is one, for each of the batch."""

    def __init__(self, segments, add=True, **kwargs):
        super().__init__(**kwargs)
        self.segments, self.add = segments, add

    def build(self, shape):
        self.table = self.add_weight(shape=(1, DIMS, self.segments, D), initializer="random_normal", name="table")

    def call(self, x):
        if self.add:
            return x + self.table
        return ops.tile(self.table, (ops.shape(x)[0], 1, 1, 1))


class Router(layers.Layer):
    """Messages across dimensions through a few learned routers per segment."""

    def __init__(self, segments, **kwargs):
        super().__init__(**kwargs)
        self.segments = segments
        self.sender = layers.MultiHeadAttention(HEADS, D // HEADS)
        self.receiver = layers.MultiHeadAttention(HEADS, D // HEADS)

    def build(self, shape):
        self.router = self.add_weight(shape=(self.segments, FACTOR, D), initializer="random_normal", name="router")
        self.sender.build((None, FACTOR, D), (None, DIMS, D))
        self.receiver.build((None, DIMS, D), (None, FACTOR, D))

    def call(self, x):
        batch = ops.shape(x)[0] // self.segments
        router = ops.tile(self.router, (batch, 1, 1))
        buffer = self.sender(router, x)
        return self.receiver(x, buffer)


def norm(name=None):
    return layers.LayerNormalization(epsilon=1e-5, name=name)


def mlp(x, hidden, name):
    y = layers.Dense(hidden, activation="gelu", name=name + "_0")(x)
    return layers.Dense(D, name=name + "_2")(y)


def two_stage(x, segments, name):
    time = ops.reshape(x, (-1, segments, D))
    attention = layers.MultiHeadAttention(HEADS, D // HEADS, name=name + "_time")
    y = norm(name + "_norm1")(time + attention(time, time))
    y = norm(name + "_norm2")(y + mlp(y, FF, name + "_mlp1"))

    y = ops.transpose(ops.reshape(y, (-1, DIMS, segments, D)), (0, 2, 1, 3))
    y = ops.reshape(y, (-1, DIMS, D))
    y = norm(name + "_norm3")(y + Router(segments, name=name + "_router")(y))
    y = norm(name + "_norm4")(y + mlp(y, FF, name + "_mlp2"))
    return ops.transpose(ops.reshape(y, (-1, segments, DIMS, D)), (0, 2, 1, 3))


def merge_segments(x, segments, name):
    x = ops.reshape(x, (-1, DIMS, segments // WIN, WIN * D))
    return layers.Dense(D, name=name + "_linear")(norm(name + "_norm")(x))


def decode(x, cross, cross_segments, name):
    segments = OUT_LEN // SEG
    x = ops.reshape(two_stage(x, segments, name + "_self"), (-1, segments, D))
    cross = ops.reshape(cross, (-1, cross_segments, D))
    attention = layers.MultiHeadAttention(HEADS, D // HEADS, name=name + "_cross")
    x = norm(name + "_norm1")(x + attention(x, cross))
    x = norm(name + "_norm2")(x + mlp(x, D, name + "_mlp1"))
    predict = layers.Dense(SEG, name=name + "_pred")(x)
    return ops.reshape(x, (-1, DIMS, segments, D)), ops.reshape(predict, (-1, DIMS, segments, SEG))


def build():
    series = keras.Input((IN_LEN, DIMS))
    base = ops.mean(series, axis=1, keepdims=True)
    segments = IN_LEN // SEG

    x = ops.transpose(ops.reshape(series, (-1, segments, SEG, DIMS)), (0, 3, 1, 2))
    x = layers.Dense(D, name="embed")(x)
    x = norm("pre_norm")(Embedding(segments, name="enc_pos")(x))

    scales = [(x, segments)]
    for i in range(LAYERS):
        if i > 0:
            x = merge_segments(x, segments, f"merge{i - 1}")
            segments //= WIN
        x = two_stage(x, segments, f"block{i}")
        scales.append((x, segments))

    x = Embedding(OUT_LEN // SEG, add=False, name="dec_pos")(series)
    predictions = []
    for i in range(LAYERS + 1):
        cross, cross_segments = scales[i]
        x, predict = decode(x, cross, cross_segments, f"dec{i}")
        predictions.append(predict)
    total = layers.Add(name="sum")(predictions)
    total = ops.reshape(ops.transpose(total, (0, 2, 3, 1)), (-1, OUT_LEN, DIMS))
    return keras.Model(series, base + total)


def make():
    keras.utils.set_random_seed(7)
    model = build()
    rng = np.random.default_rng(9)
    for v in model.trainable_variables:
        if "gamma" in v.path:
            v.assign(rng.uniform(0.6, 1.4, v.shape))
        elif "table" in v.path or "router" in v.path:
            v.assign(rng.normal(0, 1, v.shape))
        elif "bias" in v.path or "beta" in v.path:
            v.assign(rng.normal(0, 0.2, v.shape))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(IN_LEN)[None, :, None]
    wave = np.sin(t * rng.uniform(0.2, 1.0, (4, 1, DIMS)) + rng.uniform(0, 6, (4, 1, DIMS)))
    return ((wave + rng.normal(0.3, 0.4, (4, IN_LEN, DIMS))).astype("float32"),)


def load(ported, original):
    def numpy(p):
        return p.detach().numpy()

    def dense(name, linear):
        ported.get_layer(name).set_weights([numpy(linear.weight).T, numpy(linear.bias)])

    def put_norm(name, layer):
        ported.get_layer(name).set_weights([numpy(layer.weight), numpy(layer.bias)])

    def put_mlp(name, sequential):
        dense(name + "_0", sequential[0])
        dense(name + "_2", sequential[2])

    def attention(layer, theirs):
        weights = []
        for projection in (theirs.query_projection, theirs.key_projection, theirs.value_projection):
            weights.append(numpy(projection.weight).T.reshape(D, HEADS, D // HEADS))
            weights.append(numpy(projection.bias).reshape(HEADS, D // HEADS))
        weights.append(numpy(theirs.out_projection.weight).T.reshape(HEADS, D // HEADS, D))
        weights.append(numpy(theirs.out_projection.bias))
        layer.set_weights(weights)

    def put_two_stage(name, theirs):
        attention(ported.get_layer(name + "_time"), theirs.time_attention)
        router = ported.get_layer(name + "_router")
        attention(router.sender, theirs.dim_sender)
        attention(router.receiver, theirs.dim_receiver)
        router.router.assign(numpy(theirs.router))
        for i in range(1, 5):
            put_norm(f"{name}_norm{i}", getattr(theirs, f"norm{i}"))
        put_mlp(name + "_mlp1", theirs.MLP1)
        put_mlp(name + "_mlp2", theirs.MLP2)

    dense("embed", original.value_embedding)
    put_norm("pre_norm", original.pre_norm)
    ported.get_layer("enc_pos").set_weights([numpy(original.enc_pos_embedding)])
    ported.get_layer("dec_pos").set_weights([numpy(original.dec_pos_embedding)])
    for i, block in enumerate(original.blocks):
        put_two_stage(f"block{i}", block)
    for i, merge in enumerate(original.merges):
        dense(f"merge{i}_linear", merge.linear_trans)
        put_norm(f"merge{i}_norm", merge.norm)
    for i, layer in enumerate(original.decoder):
        put_two_stage(f"dec{i}_self", layer.self_attention)
        attention(ported.get_layer(f"dec{i}_cross"), layer.cross_attention)
        put_norm(f"dec{i}_norm1", layer.norm1)
        put_norm(f"dec{i}_norm2", layer.norm2)
        put_mlp(f"dec{i}_mlp1", layer.MLP1)
        dense(f"dec{i}_pred", layer.linear_pred)
