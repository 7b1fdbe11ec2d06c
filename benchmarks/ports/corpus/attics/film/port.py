"""FiLM visual question answering as a functional Keras model."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
CH, BLOCKS = 8, 3


class AddCoords(layers.Layer):
    def call(self, x):
        b, h, w = ops.shape(x)[0], x.shape[1], x.shape[2]
        grid_x, grid_y = np.meshgrid(np.linspace(-1, 1, w), np.linspace(-1, 1, h))
        grid = np.stack([grid_x, grid_y], axis=-1)[None].astype("float32")
        return ops.concatenate([x, ops.tile(ops.convert_to_tensor(grid), (b, 1, 1, 1))], axis=-1)


class Modulate(layers.Layer):
    def call(self, x, params):
        gamma, beta = ops.split(params, 2, axis=-1)
        gamma, beta = gamma[:, None, None, :], beta[:, None, None, :]
        return (1.0 + gamma) * x + beta


def bn(name, **kw):
    return layers.BatchNormalization(epsilon=1e-5, momentum=0.9, name=name, **kw)


def conv_bn(x, n, kernel, name, strides=1):
    if strides > 1:
        x = layers.ZeroPadding2D(kernel // 2)(x)
        x = layers.Conv2D(n, kernel, strides=strides, name=name)(x)
    else:
        x = layers.Conv2D(n, kernel, padding="same", name=name)(x)
    return layers.ReLU()(bn(name + "_bn")(x))


def res_block(x, params, i):
    x = layers.Conv2D(CH, 1, activation="relu", name=f"block{i}_conv1")(AddCoords()(x))
    y = layers.Conv2D(CH, 3, padding="same", name=f"block{i}_conv2")(x)
    y = bn(f"block{i}_bn", center=False, scale=False)(y)
    y = Modulate(name=f"block{i}_film")(y, params)
    return layers.Add()([x, layers.ReLU()(y)])


def build(vocab=28, words=10, hidden=18, classes=9):
    image = keras.Input((16, 16, 3), name="image")
    tokens = keras.Input((8,), dtype="int32", name="tokens")
    e = layers.Embedding(vocab, words, mask_zero=True, name="embed")(tokens)
    state = layers.GRU(hidden, reset_after=True, name="gru")(e)
    film = layers.Dense(BLOCKS * 2 * CH, name="film")(state)
    film = layers.Reshape((BLOCKS, 2 * CH))(film)
    x = conv_bn(image, CH, 3, "stem1", strides=2)
    x = conv_bn(x, CH, 3, "stem2")
    for i in range(BLOCKS):
        x = res_block(x, film[:, i], i)
    x = conv_bn(AddCoords()(x), 14, 1, "cls")
    x = layers.GlobalMaxPooling2D()(x)
    x = layers.Dense(20, name="fc1")(x)
    x = layers.ReLU()(bn("fc1_bn")(x))
    return keras.Model([image, tokens], layers.Dense(classes, name="fc2")(x))


def make(seed=61):
    model = build()
    r = np.random.default_rng(seed)
    for w in model.weights:
        if "variance" in w.name:
            w.assign(r.uniform(0.5, 1.5, w.shape))
        elif w.name == "gamma":
            w.assign(r.normal(1, 0.2, w.shape))
        else:
            w.assign(r.normal(0, 0.3, w.shape))
    return model


def inputs(seed):
    r = np.random.default_rng(seed)
    img = r.normal(0, 0.3, (5, 3, 16, 16))
    for i in range(5):
        for _ in range(3):
            y, x = r.integers(0, 12, 2)
            img[i, :, y:y + 4, x:x + 4] += r.uniform(-1.5, 1.5, (3, 1, 1))
    q = r.integers(1, 28, (5, 8))
    for i, n in enumerate((8, 5, 6, 3, 7)):
        q[i, n:] = 0
    return np.ascontiguousarray(img.astype("float32").transpose(0, 2, 3, 1)), q.astype("int32")


def load(ported, original):
    a = lambda t: t.detach().numpy()

    def conv(name, src):
        ported.get_layer(name).set_weights([a(src.weight).transpose(2, 3, 1, 0), a(src.bias)])

    def dense(name, src):
        ported.get_layer(name).set_weights([a(src.weight).T, a(src.bias)])

    def norm(name, src):
        affine = [a(src.weight), a(src.bias)] if src.affine else []
        ported.get_layer(name).set_weights(affine + [a(src.running_mean), a(src.running_var)])

    ported.get_layer("embed").set_weights([a(original.embed.weight)])
    g = original.gru
    zrh = lambda t: np.concatenate([np.split(a(t), 3)[k] for k in (1, 0, 2)])
    ported.get_layer("gru").set_weights([
        zrh(g.weight_ih_l0).T, zrh(g.weight_hh_l0).T, np.stack([zrh(g.bias_ih_l0), zrh(g.bias_hh_l0)])])
    dense("film", original.film)
    for name, c, b in (("stem1", original.stem1, original.bn1), ("stem2", original.stem2, original.bn2),
                       ("cls", original.cls_conv, original.cls_bn)):
        conv(name, c)
        norm(name + "_bn", b)
    for i, block in enumerate(original.blocks):
        conv(f"block{i}_conv1", block.conv1)
        conv(f"block{i}_conv2", block.conv2)
        norm(f"block{i}_bn", block.bn)
    dense("fc1", original.fc1)
    norm("fc1_bn", original.fc_bn)
    dense("fc2", original.fc2)
