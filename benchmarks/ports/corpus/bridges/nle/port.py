import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
T, ROWS, COLS, CROP, GLYPHS = 5, 11, 21, 5, 120


class GlyphCrop(layers.Layer):
    """Window of glyph ids around (x, y), read by index from a zero-padded map."""

    def __init__(self, size, **kw):
        super().__init__(**kw)
        self.size = size

    def call(self, glyphs, xy):
        half = self.size // 2
        padded = ops.pad(glyphs, [[0, 0], [half, half], [half, half]])
        xy = ops.cast(xy, "int32")
        offsets = ops.arange(self.size)
        cols = xy[:, 0:1] + offsets
        rows = xy[:, 1:2] + offsets
        width = COLS + 2 * half
        index = rows[:, :, None] * width + cols[:, None, :]
        flat = ops.reshape(padded, (-1, (ROWS + 2 * half) * width))
        window = ops.take_along_axis(flat, ops.reshape(index, (-1, self.size ** 2)), axis=1)
        return ops.reshape(window, (-1, self.size, self.size))


def convs(name):
    return keras.Sequential([layers.Conv2D(n, 3, padding="same", activation="elu") for n in (12, 12, 4)], name=name)


def channels_first_flat(x):
    return layers.Flatten()(layers.Permute((3, 1, 2))(x))


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(GLYPHS, 8)
        self.window = GlyphCrop(CROP)
        self.map_net, self.crop_net = convs("map"), convs("crop")
        self.stats_net = keras.Sequential([layers.Dense(16, "relu"), layers.Dense(16, "relu")], name="stats")
        self.merge = keras.Sequential([layers.Dense(48, "relu"), layers.Dense(48, "relu")], name="merge")
        self.cell = layers.LSTMCell(48)
        self.pi = layers.Dense(9)
        self.v = layers.Dense(1)

    def encode(self, glyphs, blstats):
        xy, rest = blstats[:, :2], blstats[:, 2:]
        scaled = ops.concatenate([xy / 20.0, ops.sign(rest) * ops.log1p(ops.abs(rest))], axis=1)
        full = self.map_net(self.embedding(glyphs))
        local = self.crop_net(self.embedding(self.window(glyphs, xy)))
        parts = [self.stats_net(scaled), channels_first_flat(full), channels_first_flat(local)]
        return self.merge(ops.concatenate(parts, axis=1))

    def call(self, batch):
        glyphs, blstats, done, h, c = batch
        t, b = done.shape
        x = self.encode(ops.reshape(glyphs, (t * b, ROWS, COLS)), ops.reshape(blstats, (t * b, -1)))
        x = ops.reshape(x, (t, b, 48))
        keep = 1.0 - ops.cast(done, "float32")
        hs = []
        for i in range(t):
            k = keep[i][:, None]
            out, (h, c) = self.cell(x[i], [h * k, c * k])
            hs.append(out)
        hs = ops.stack(hs, axis=0)
        return self.pi(hs), self.v(hs)[..., 0], h, c


def make():
    keras.utils.set_random_seed(3)
    net = Agent()
    net.crop_net.build((None, CROP, CROP, 8))
    net(inputs(0))
    rng = np.random.RandomState(9)
    for w in net.weights:
        if len(w.shape) == 1:
            w.assign(0.15 * rng.randn(*w.shape))
    return net


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    glyphs = rng.randint(0, GLYPHS, (T, 4, ROWS, COLS)).astype("int64")
    where = [rng.randint(0, COLS, (T, 4, 1)), rng.randint(0, ROWS, (T, 4, 1))]
    blstats = np.concatenate(where + [np.round(rng.exponential(20, (T, 4, 8)))], axis=2).astype("float32")
    done = np.zeros((T, 4), bool)
    done[0, 1] = done[2, 0] = done[3, 3] = True
    h, c = (0.5 * rng.randn(2, 4, 48)).astype("float32")
    return glyphs, blstats, done, h, c


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def dense(layer, key):
        layer.set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    ported.embedding.set_weights([sd["embed.weight"]])
    for net, key in ((ported.map_net, "map_convs"), (ported.crop_net, "crop_convs")):
        for i, layer in enumerate(net.layers):
            layer.set_weights([sd[f"{key}.{2 * i}.weight"].transpose(2, 3, 1, 0), sd[f"{key}.{2 * i}.bias"]])
    for net, key in ((ported.stats_net, "stats"), (ported.merge, "fc")):
        for i, layer in enumerate(net.layers):
            dense(layer, f"{key}.{2 * i}")
    ported.cell.set_weights([sd["core.weight_ih"].T, sd["core.weight_hh"].T, sd["core.bias_ih"] + sd["core.bias_hh"]])
    dense(ported.pi, "policy")
    dense(ported.v, "baseline")
