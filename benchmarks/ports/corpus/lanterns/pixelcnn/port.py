"""Conditional gated PixelCNN with TensorFlow functions and variables (NHWC)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CHANNELS, LAYERS, CLASSES, LEVELS = 10, 3, 5, 6


def build_variables(seed):
    rng = np.random.default_rng(seed)

    def var(*shape):
        return tf.Variable((0.2 * rng.normal(size=shape)).astype("float32"))

    def conv(kh, kw, i, o):
        return {"w": var(kh, kw, i, o), "b": var(o)}

    c = CHANNELS
    return {
        "first_v": conv(5, 5, 1, c),
        "first_h": conv(1, 5, 1, c),
        "layers": [{
            "v": conv(3, 3, c, 2 * c),
            "h": conv(1, 3, c, 2 * c),
            "v_to_h": conv(1, 1, 2 * c, 2 * c),
            "out": conv(1, 1, c, c),
            "cond": var(CLASSES, 2 * c),
        } for _ in range(LAYERS)],
        "out": conv(1, 1, c, LEVELS),
    }


def conv2d(p, x, mask=None):
    kernel = p["w"]
    if mask is not None:
        kernel = kernel * mask[:, :, None, None]
    return tf.nn.conv2d(x, kernel, strides=1, padding="SAME") + p["b"]


def v_mask(k, kind):
    """rows above the center (kind B: and the center's own)"""
    mask = np.ones((k, k), "float32")
    mask[k // 2 + (kind == "B"):, :] = 0
    return mask


def h_mask(k, kind):
    """pixels to the left of the center (kind B: and the center itself)"""
    mask = np.ones((1, k), "float32")
    mask[:, k // 2 + (kind == "B"):] = 0
    return mask


def gate(x):
    a, b = tf.split(x, 2, axis=-1)
    return tf.tanh(a) * tf.sigmoid(b)


def gated_layer(p, v, h, label):
    cond = tf.gather(p["cond"], label)[:, None, None, :]
    vert = conv2d(p["v"], v, v_mask(3, "B"))
    horiz = conv2d(p["h"], h, h_mask(3, "B"))
    horiz = horiz + conv2d(p["v_to_h"], vert)
    v = gate(vert + cond)
    new = gate(horiz + cond)
    h = h + conv2d(p["out"], new)
    return v, h


def pixelcnn(p, image, label):
    x = 2. * image / (LEVELS - 1) - 1.
    v = conv2d(p["first_v"], x, v_mask(5, "A"))
    h = conv2d(p["first_h"], x, h_mask(5, "A"))
    for layer in p["layers"]:
        v, h = gated_layer(layer, v, h, label)
    return conv2d(p["out"], tf.nn.elu(h))


def make(seed=1):
    variables = build_variables(seed)

    def model(image, label):
        return pixelcnn(variables, image, label)

    model.variables = variables
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 6, size=(4, 1, 9, 9)).astype("float32")
    return image.reshape(4, 9, 9, 1), rng.integers(0, 5, size=4)


def load(ported, original):
    p = ported.variables

    def conv(mine, theirs):
        mine["w"].assign(theirs.weight.detach().numpy().transpose(2, 3, 1, 0))
        mine["b"].assign(theirs.bias.detach().numpy())

    conv(p["first_v"], original.first_v)
    conv(p["first_h"], original.first_h)
    conv(p["out"], original.out)
    for mine, theirs in zip(p["layers"], original.layers):
        conv(mine["v"], theirs.conv_v)
        conv(mine["h"], theirs.conv_h)
        conv(mine["v_to_h"], theirs.v_to_h)
        conv(mine["out"], theirs.conv_out)
        mine["cond"].assign(theirs.cond.weight.detach().numpy())
