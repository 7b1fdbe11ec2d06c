"""Active Neural SLAM in Keras 3, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
IMG, MAP, EGO = 16, 12, 6


def bilinear(image, x, y):
    """image [B, H, W, C], normalised coordinates x, y [B, H, W] in [-1, 1], zeros outside."""
    B, H, W = image.shape[0], image.shape[1], image.shape[2]
    px = ((x + 1.0) * W - 1.0) / 2.0
    py = ((y + 1.0) * H - 1.0) / 2.0
    x0, y0 = ops.floor(px), ops.floor(py)
    flat = ops.reshape(image, (B, H * W, -1))
    out = 0.0
    for dx in (0.0, 1.0):
        for dy in (0.0, 1.0):
            cx, cy = x0 + dx, y0 + dy
            weight = (1.0 - ops.abs(px - cx)) * (1.0 - ops.abs(py - cy))
            valid = ops.cast((cx >= 0) & (cx < W) & (cy >= 0) & (cy < H), "float32")
            index = ops.cast(ops.clip(cy, 0, H - 1) * W + ops.clip(cx, 0, W - 1), "int32")
            value = ops.take_along_axis(flat, ops.reshape(index, (B, H * W, 1)), axis=1)
            out = out + ops.reshape(value, image.shape) * ops.expand_dims(weight * valid, -1)
    return out


def base_grid(size):
    line = (2.0 * ops.arange(size, dtype="float32") + 1.0) / size - 1.0
    return ops.meshgrid(line, line, indexing="xy")


def warp(image, pose):
    gx, gy = base_grid(image.shape[1])
    theta = pose[:, 2, None, None]
    c, s = ops.cos(theta), ops.sin(theta)
    image = bilinear(image, c * gx - s * gy, s * gx + c * gy)
    return bilinear(image, gx + pose[:, 0, None, None], gy + pose[:, 1, None, None])


class MapPredictor(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.pad = layers.ZeroPadding2D(1)
        self.conv1 = layers.Conv2D(8, 4, strides=2, name="conv1")
        self.bn1 = layers.BatchNormalization(epsilon=1e-5, name="bn1")
        self.conv2 = layers.Conv2D(6, 3, strides=2, name="conv2")
        self.flat = layers.Flatten()
        self.proj = layers.Dense(72, activation="relu", name="proj")
        self.deconv = layers.Conv2DTranspose(2, 4, strides=2, padding="same", activation="sigmoid", name="deconv")

    def call(self, rgb):
        x = ops.leaky_relu(self.bn1(self.conv1(self.pad(rgb)), training=False), negative_slope=0.1)
        x = ops.relu(self.conv2(self.pad(x)))
        x = self.proj(self.flat(x))
        return self.deconv(ops.reshape(x, (-1, 3, 3, 8)))


class NeuralSLAM(keras.Model):
    def __init__(self):
        super().__init__()
        self.mapper = MapPredictor(name="mapper")
        self.pose_conv = layers.Conv2D(6, 3, activation="relu", name="pose_conv")
        self.pose_fc = layers.Dense(16, activation="relu", name="pose_fc")
        self.pose_out = layers.Dense(3, activation="tanh", name="pose_out")
        self.pool = layers.MaxPooling2D(2)
        self.average = layers.GlobalAveragePooling2D()
        self.g_conv = layers.Conv2D(8, 3, padding="same", name="g_conv")
        self.g_norm = layers.GroupNormalization(2, epsilon=1e-5, name="g_norm")
        self.orientation = layers.Embedding(8, 4, name="orientation")
        self.g_fc = layers.Dense(16, activation="relu", name="g_fc")
        self.goal = layers.Dense(2, activation="sigmoid", name="goal")
        self.value = layers.Dense(1, name="value")

    def call(self, rgb, last_ego, global_map, pose, odometry):
        ego = self.mapper(rgb)
        p = self.average(self.pose_conv(ops.concatenate([last_ego, ego], axis=-1)))
        delta = self.pose_out(self.pose_fc(ops.concatenate([p, odometry], axis=-1)))
        pose = pose + odometry + 0.1 * delta
        side = (MAP - EGO) // 2
        window = ops.pad(ego, [[0, 0], [0, MAP - EGO], [side, side], [0, 0]])
        seen = warp(window, pose)
        new_map = ops.maximum(global_map, seen)
        coarse = self.pool(ops.concatenate([new_map, seen], axis=-1))
        g = self.average(ops.relu(self.g_norm(self.g_conv(coarse))))
        index = ops.floor(pose[:, 2] / (2 * np.pi) * 8 + 0.5)
        index = ops.cast(ops.mod(index, 8.0), "int32")
        f = self.g_fc(ops.concatenate([g, self.orientation(index)], axis=-1))
        return new_map, pose, self.goal(f), self.value(f)


def make():
    m = NeuralSLAM()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(2)
    for v in m.weights:
        r = rng.normal(size=v.shape) * 0.25
        v.assign((np.abs(r) + 0.5 if "variance" in v.path else r + 1 if "gamma" in v.path else r).astype("float32"))
    return m


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    m = ported.mapper

    def conv(layer, n):
        layer.set_weights([sd[n + ".weight"].transpose(2, 3, 1, 0), sd[n + ".bias"]])

    def dense(layer, n):
        layer.set_weights([sd[n + ".weight"].T, sd[n + ".bias"]])
    conv(m.conv1, "mapper.conv1"); conv(m.conv2, "mapper.conv2"); conv(m.deconv, "mapper.deconv")
    m.bn1.set_weights([sd["mapper.bn1." + k] for k in ("weight", "bias", "running_mean", "running_var")])
    w = sd["mapper.proj.weight"].reshape(8, 3, 3, 6, 4, 4)                   # out (C,H,W), in (C,H,W)
    w = w.transpose(4, 5, 3, 1, 2, 0).reshape(96, 72)
    m.proj.set_weights([w, sd["mapper.proj.bias"].reshape(8, 3, 3).transpose(1, 2, 0).reshape(-1)])
    conv(ported.pose_conv, "pose_conv"); conv(ported.g_conv, "g_conv")
    for n in ("pose_fc", "pose_out", "g_fc", "goal", "value"):
        dense(getattr(ported, n), n)
    ported.g_norm.set_weights([sd["g_norm.weight"], sd["g_norm.bias"]])
    ported.orientation.set_weights([sd["orientation.weight"]])


def inputs(seed):
    rng = np.random.default_rng(seed)
    pose = np.concatenate([rng.uniform(-0.4, 0.4, size=(4, 2)), rng.uniform(-3, 3, size=(4, 1))], 1)
    rgb = rng.normal(size=(4, 3, IMG, IMG)).astype("float32")
    ego = rng.random((4, 2, EGO, EGO)).astype("float32")
    world = (rng.random((4, 2, MAP, MAP)) * 0.5).astype("float32")
    last = lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1))
    return last(rgb), last(ego), last(world), pose.astype("float32"), (rng.normal(size=(4, 3)) * 0.1).astype("float32")
