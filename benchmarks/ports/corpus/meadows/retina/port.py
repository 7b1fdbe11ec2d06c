"""RetinaNet in Keras (functional), channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CLASSES, RATIOS, SCALES = 5, (0.5, 1.0, 2.0), (1.0, 2 ** 0.5)
NUM_ANCHORS = 6
HEIGHT, WIDTH = 64, 96
SIZES = {4: (16, 24), 8: (8, 12), 16: (4, 6), 32: (2, 3)}


def downsample(x, filters, name):
    x = layers.ZeroPadding2D(1, name=name + "_pad")(x)
    x = layers.Conv2D(filters, 3, strides=2, use_bias=False, name=name + "_conv")(x)
    x = layers.BatchNormalization(epsilon=1e-5, name=name + "_bn")(x)
    return layers.ReLU(name=name + "_relu")(x)


def anchor_grid():
    """(N, 4): centre x, centre y, width, height."""
    rows = []
    for stride, (height, width) in SIZES.items():
        gx, gy = np.meshgrid(np.arange(width), np.arange(height))
        for x, y in zip(gx.ravel(), gy.ravel()):
            for ratio in RATIOS:
                for scale in SCALES:
                    side = 4 * stride * scale
                    rows.append(
                        ((x + 0.5) * stride, (y + 0.5) * stride, side / ratio ** 0.5, side * ratio ** 0.5)
                    )
    return np.array(rows, "float32")


class DecodeBoxes(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.anchors = anchor_grid()
        self.variance = np.array([0.1, 0.1, 0.2, 0.2], "float32")

    def call(self, deltas):
        d = deltas * self.variance
        wh = self.anchors[:, 2:]
        xy = self.anchors[:, :2] + d[..., :2] * wh
        wh = wh * ops.exp(ops.minimum(d[..., 2:], float(np.log(1000 / 16))))
        return ops.concatenate([xy - 0.5 * wh, xy + 0.5 * wh], axis=-1)


def make(seed=1, width=16):
    keras.utils.set_random_seed(seed)
    image = keras.Input((HEIGHT, WIDTH, 3), name="image")
    c2 = downsample(image, 8, "stem")
    c3 = downsample(c2, 12, "c3")
    c4 = downsample(c3, 16, "c4")
    c5 = downsample(c4, 24, "c5")

    def conv(name, filters=width, size=3, **kwargs):
        return layers.Conv2D(filters, size, padding="same", name=name, **kwargs)

    t5 = conv("lateral_2", size=1)(c5)
    t4 = layers.Add()([conv("lateral_1", size=1)(c4), layers.UpSampling2D(2)(t5)])
    t3 = layers.Add()([conv("lateral_0", size=1)(c3), layers.UpSampling2D(2)(t4)])
    p3, p4, p5 = conv("smooth_0")(t3), conv("smooth_1")(t4), conv("smooth_2")(t5)
    p6 = layers.Conv2D(width, 3, strides=2, name="p6")(layers.ZeroPadding2D(1)(c5))

    def head(kind, size):
        tower = [conv(f"{kind}_tower_{i}", activation="relu") for i in range(2)]
        return tower + [conv(f"{kind}_out", NUM_ANCHORS * size), layers.Reshape((-1, size))]

    cls_head = head("cls", CLASSES)
    box_head = head("box", 4)

    def run(stack, x):
        for layer in stack:
            x = layer(x)
        return x

    levels = [p3, p4, p5, p6]
    cls = layers.Concatenate(axis=1)([run(cls_head, p) for p in levels])
    box = layers.Concatenate(axis=1)([run(box_head, p) for p in levels])
    scores = layers.Activation("sigmoid", name="scores")(cls)
    boxes = DecodeBoxes(name="boxes")(box)
    return keras.Model(image, [scores, boxes], name="retinanet")


def images(rng):
    coarse = rng.normal(size=(4, 3, HEIGHT // 8, WIDTH // 8)).repeat(8, 2).repeat(8, 3)
    return (coarse + 0.3 * rng.normal(size=(4, 3, HEIGHT, WIDTH))).astype("float32")


def inputs(seed=0):
    x = images(np.random.default_rng(seed))
    return x.transpose(0, 2, 3, 1)


def load(ported, original):
    state = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def put(layer, key):
        kernel = state[key + ".weight"].transpose(2, 3, 1, 0)
        bias = state.get(key + ".bias")
        ported.get_layer(layer).set_weights([kernel] if bias is None else [kernel, bias])

    for s in ("stem", "c3", "c4", "c5"):
        put(s + "_conv", s + ".0")
        names = ("weight", "bias", "running_mean", "running_var")
        ported.get_layer(s + "_bn").set_weights([state[f"{s}.1.{n}"] for n in names])
    for i in range(3):
        put(f"lateral_{i}", f"lateral.{i}")
        put(f"smooth_{i}", f"smooth.{i}")
    for i in range(2):
        put(f"cls_tower_{i}", f"cls_tower.{i}")
        put(f"box_tower_{i}", f"box_tower.{i}")
    for n in ("p6", "cls_out", "box_out"):
        put(n, n)
