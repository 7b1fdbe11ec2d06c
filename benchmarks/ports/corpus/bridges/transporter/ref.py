"""Transporter network (Zeng et al., 2020) as plain TF functions over a dict of weights."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
H = W = 24
CROP, ROTATIONS, FEATURES = 9, 4, 3


def conv(w, name, x, rate=1):
    y = tf.nn.conv2d(x, w[name + "/kernel"], strides=1, padding="SAME", dilations=rate)
    return tf.nn.bias_add(y, w[name + "/bias"])


def residual(w, name, x):
    h = tf.nn.relu(conv(w, name + "/a", x))
    h = conv(w, name + "/b", h, rate=2)
    return tf.nn.relu(h + conv(w, name + "/skip", x))


def fcn(w, name, x):
    x = tf.nn.relu(conv(w, name + "/stem", x))
    x = residual(w, name + "/block0", x)
    x = residual(w, name + "/block1", x)
    return conv(w, name + "/out", x)


def crop_at(image, pixel):
    """The CROP x CROP window centred on `pixel` (row, column), zero outside of the image."""
    half = CROP // 2
    padded = tf.pad(image, [[0, 0], [half, half], [half, half], [0, 0]])
    rows = pixel[:, 0, None] + tf.range(CROP)[None, :]
    cols = pixel[:, 1, None] + tf.range(CROP)[None, :]
    strip = tf.gather(padded, rows, axis=1, batch_dims=1)
    strip = tf.transpose(strip, [0, 2, 1, 3])
    window = tf.gather(strip, cols, axis=1, batch_dims=1)
    return tf.transpose(window, [0, 2, 1, 3])


def correlate(key, query):
    """key (B, H, W, C), query (B, R, k, k, C) -> (B, H, W, R)."""
    patches = tf.image.extract_patches(key, [1, CROP, CROP, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    kernels = tf.reshape(query, [tf.shape(query)[0], ROTATIONS, CROP * CROP * FEATURES])
    return tf.einsum("bhwp,brp->bhwr", patches, kernels) / float(CROP * CROP)


def transporter(w, image, pick):
    image = (image - w["mean"]) / w["std"]
    pick_logits = fcn(w, "attention", image)[..., 0]
    flat = tf.reshape(pick_logits, [tf.shape(image)[0], H * W])
    pick_prob = tf.reshape(tf.nn.softmax(flat, axis=-1), tf.shape(pick_logits))

    key = fcn(w, "key", image)
    crop = crop_at(image, pick)
    turned = tf.stack([tf.image.rot90(crop, k) for k in range(ROTATIONS)], axis=1)
    query = fcn(w, "query", tf.reshape(turned, [-1, CROP, CROP, 4]))
    query = tf.reshape(query, [-1, ROTATIONS, CROP, CROP, FEATURES])

    place_logits = correlate(key, query)
    flat = tf.reshape(place_logits, [tf.shape(image)[0], H * W * ROTATIONS])
    place_prob = tf.reshape(tf.nn.softmax(flat, axis=-1), tf.shape(place_logits))
    return pick_prob, place_logits, place_prob


def weights(seed):
    rng = np.random.RandomState(seed)
    w = {"mean": rng.uniform(0.2, 0.5, 4), "std": rng.uniform(0.2, 0.4, 4)}

    def add(name, k, i, o):
        w[name + "/kernel"] = rng.randn(k, k, i, o) / np.sqrt(k * k * i)
        w[name + "/bias"] = 0.2 * rng.randn(o)

    for net, out in (("attention", 1), ("key", FEATURES), ("query", FEATURES)):
        add(net + "/stem", 3, 4, 8)
        for i in range(2):
            add(f"{net}/block{i}/a", 3, 8, 8)
            add(f"{net}/block{i}/b", 3, 8, 8)
            add(f"{net}/block{i}/skip", 1, 8, 8)
        add(net + "/out", 1, 8, out)
    return {k: tf.Variable(v.astype("float32"), name=k) for k, v in w.items()}


class Transporter:
    def __init__(self, seed):
        self.weights = weights(seed)

    def __call__(self, image, pick):
        return transporter(self.weights, image, pick)


def make():
    return Transporter(21)


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    image = rng.rand(4, H, W, 4).astype("float32")
    pick = rng.randint(0, H, (4, 2)).astype("int32")
    return image, pick
