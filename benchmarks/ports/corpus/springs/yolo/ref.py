"""YOLOv3 (tiny width) in Keras, after keras-yolo3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
ANCHORS = np.array([[3, 4], [6, 5], [8, 11], [14, 10], [18, 22], [30, 26]], "float32")
ANCHOR_MASK = [[3, 4, 5], [0, 1, 2]]
CLASSES = 3


def darknet_conv(x, filters, size, strides=1, name=None):
    if strides == 2:
        x = layers.ZeroPadding2D(((1, 0), (1, 0)))(x)
    x = layers.Conv2D(filters, size, strides=strides, use_bias=False,
                      padding="valid" if strides == 2 else "same", name=name + "_conv")(x)
    x = layers.BatchNormalization(epsilon=1e-3, name=name + "_bn")(x)
    return layers.LeakyReLU(negative_slope=0.1)(x)


def resblock_body(x, filters, blocks, name):
    x = darknet_conv(x, filters, 3, 2, name + "_down")
    for i in range(blocks):
        y = darknet_conv(x, filters // 2, 1, name="%s_%d_a" % (name, i))
        y = darknet_conv(y, filters, 3, name="%s_%d_b" % (name, i))
        x = layers.Add()([x, y])
    return x


def last_layers(x, filters, out, name):
    x = darknet_conv(x, filters, 1, name=name + "_1")
    x = darknet_conv(x, filters * 2, 3, name=name + "_2")
    x = darknet_conv(x, filters, 1, name=name + "_3")
    y = darknet_conv(x, filters * 2, 3, name=name + "_4")
    y = layers.Conv2D(out, 1, name=name + "_out")(y)
    return x, y


class YoloHead(layers.Layer):
    def __init__(self, anchors, input_shape, **kw):
        super().__init__(**kw)
        self.anchors = anchors
        self.in_shape = input_shape

    def call(self, feats):
        n = len(self.anchors)
        anchors = ops.reshape(ops.convert_to_tensor(self.anchors), (1, 1, 1, n, 2))
        h, w = feats.shape[1:3]
        grid_y = ops.tile(ops.reshape(ops.arange(h), (-1, 1, 1, 1)), (1, w, 1, 1))
        grid_x = ops.tile(ops.reshape(ops.arange(w), (1, -1, 1, 1)), (h, 1, 1, 1))
        grid = ops.cast(ops.concatenate([grid_x, grid_y], -1), "float32")
        feats = ops.reshape(feats, (-1, h, w, n, CLASSES + 5))
        box_xy = (ops.sigmoid(feats[..., :2]) + grid) / np.array([w, h], "float32")
        box_wh = ops.exp(feats[..., 2:4]) * anchors / np.array(self.in_shape[::-1], "float32")
        conf = ops.sigmoid(feats[..., 4:5])
        probs = ops.sigmoid(feats[..., 5:])
        mins = box_xy - box_wh / 2.0
        maxes = box_xy + box_wh / 2.0
        boxes = ops.concatenate([mins[..., 1:2], mins[..., 0:1], maxes[..., 1:2], maxes[..., 0:1]], -1)
        boxes = boxes * np.array([self.in_shape[0], self.in_shape[1]] * 2, "float32")
        scores = conf * probs
        return ops.reshape(boxes, (-1, h * w * n, 4)), ops.reshape(scores, (-1, h * w * n, CLASSES))


def make():
    keras.utils.set_random_seed(3)
    inp = keras.Input((32, 24, 3))
    x = darknet_conv(inp, 8, 3, name="stem")
    route = resblock_body(x, 16, 1, "res1")
    x = resblock_body(route, 24, 2, "res2")
    out = 3 * (CLASSES + 5)
    x, y1 = last_layers(x, 8, out, "head1")
    x = darknet_conv(x, 6, 1, name="lateral")
    x = layers.UpSampling2D(2)(x)
    x = layers.Concatenate()([x, route])
    x, y2 = last_layers(x, 6, out, "head2")
    b1, s1 = YoloHead(ANCHORS[ANCHOR_MASK[0]], (32, 24))(y1)
    b2, s2 = YoloHead(ANCHORS[ANCHOR_MASK[1]], (32, 24))(y2)
    boxes = layers.Concatenate(axis=1)([b1, b2])
    scores = layers.Concatenate(axis=1)([s1, s2])
    model = keras.Model(inp, [boxes, scores])
    r = np.random.RandomState(0)
    for v in model.weights:
        s = v.shape
        if "variance" in v.path:
            v.assign(r.uniform(0.5, 1.5, s))
        elif "gamma" in v.path:
            v.assign(r.uniform(0.7, 1.3, s))
        elif len(s) == 4:
            v.assign(r.randn(*s) * np.sqrt(1.3 / np.prod(s[:3])))
        else:
            v.assign(r.randn(*s) * 0.2)
    return model


def inputs(seed):
    return (np.random.RandomState(seed).rand(4, 32, 24, 3).astype("float32"),)
