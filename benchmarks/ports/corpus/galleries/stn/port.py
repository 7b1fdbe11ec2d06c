"""Spatial transformer with grid sampling, 28x28, in TensorFlow (sampler by hand)."""
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class TSTN(keras.Model):
    def __init__(self):
        super().__init__()
        self.loc1, self.loc2 = keras.layers.Conv2D(8, 7), keras.layers.Conv2D(10, 5)
        self.fc1, self.fc2 = keras.layers.Dense(32, "relu"), keras.layers.Dense(6)
        self.conv = keras.layers.Conv2D(12, 5, strides=2, activation="relu")
        self.head = keras.layers.Dense(10)
        self.pool = keras.layers.MaxPooling2D(2)

    def flat(self, h):
        return tf.reshape(tf.transpose(h, (0, 3, 1, 2)), (tf.shape(h)[0], -1))

    def sample(self, image, theta):
        h, w = image.shape[1], image.shape[2]
        xs, ys = (2 * tf.range(w, dtype=tf.float32) + 1) / w - 1, (2 * tf.range(h, dtype=tf.float32) + 1) / h - 1
        gx, gy = tf.meshgrid(xs, ys)
        points = tf.stack([gx, gy, tf.ones_like(gx)], axis=-1)
        grid = tf.einsum("hwk,nik->nhwi", points, theta)
        x = ((grid[..., 0] + 1) * w - 1) / 2
        y = ((grid[..., 1] + 1) * h - 1) / 2
        x0, y0 = tf.floor(x), tf.floor(y)
        out = 0.0
        for dy in (0, 1):
            for dx in (0, 1):
                cx, cy = x0 + dx, y0 + dy
                wx, wy = 1 - tf.abs(x - cx), 1 - tf.abs(y - cy)
                inside = (cx >= 0) & (cx <= w - 1) & (cy >= 0) & (cy <= h - 1)
                ix = tf.cast(tf.clip_by_value(cx, 0, w - 1), tf.int32)
                iy = tf.cast(tf.clip_by_value(cy, 0, h - 1), tf.int32)
                pixel = tf.gather_nd(image[..., 0], tf.stack([iy, ix], -1), batch_dims=1)
                weight = wx * wy * tf.cast(inside, tf.float32)
                out += weight * pixel
        return out[..., None]

    def call(self, x):
        h = tf.nn.relu(self.pool(self.loc1(x)))
        h = tf.nn.relu(self.pool(self.loc2(h)))
        theta = self.fc2(self.fc1(self.flat(h)))
        theta = tf.reshape(theta, (-1, 2, 3))
        warped = self.sample(x, theta)
        y = self.conv(warped)
        y = self.pool(y)
        return warped, tf.nn.log_softmax(self.head(self.flat(y)))


def make():
    net = TSTN()
    net(tf.zeros((2, 28, 28, 1)))
    return net


def load(net, ref):
    for n in ("loc1", "loc2", "fc1", "fc2", "conv", "head"):
        w, b = (p.detach().numpy() for p in getattr(ref, n).parameters())
        getattr(net, n).set_weights([w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T, b])
