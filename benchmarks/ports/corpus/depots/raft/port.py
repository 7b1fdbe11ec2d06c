"""RAFT in Keras 3, channels last."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
HIDDEN, CONTEXT, FEATURES = 8, 8, 16
LEVELS, RADIUS, ITERS = 2, 2, 2


def conv(filters, kernel, stride=1, activation=None):
    return layers.Conv2D(filters, kernel, strides=stride, padding="same", activation=activation)


def norm(kind):
    if kind == "instance":
        return layers.GroupNormalization(groups=-1, epsilon=1e-5, center=False, scale=False)
    return layers.BatchNormalization(epsilon=1e-5)


def pad(x, n):
    return ops.pad(x, [[0, 0], [n, n], [n, n], [0, 0]])


def sample(image, coords):
    """Bilinear samples of image (B, H, W) at coords (B, P, 2), in pixels as (x, y); zero outside."""
    batch, height, width = image.shape
    flat = ops.reshape(image, (batch, height * width))
    x, y = coords[..., 0], coords[..., 1]
    x0, y0 = ops.floor(x), ops.floor(y)
    total = 0.0
    for dy in (0, 1):
        for dx in (0, 1):
            xi, yi = x0 + dx, y0 + dy
            weight = (1 - ops.abs(x - xi)) * (1 - ops.abs(y - yi))
            inside = (xi >= 0) & (xi <= width - 1) & (yi >= 0) & (yi <= height - 1)
            xc = ops.cast(ops.clip(xi, 0, width - 1), "int32")
            yc = ops.cast(ops.clip(yi, 0, height - 1), "int32")
            values = ops.take_along_axis(flat, yc * width + xc, axis=1)
            total = total + weight * values * ops.cast(inside, "float32")
    return total


def coords_grid(batch, height, width):
    xs, ys = ops.meshgrid(ops.arange(width, dtype="float32"), ops.arange(height, dtype="float32"))
    grid = ops.stack([xs, ys], axis=-1)
    return ops.tile(grid[None], (batch, 1, 1, 1))


class ResidualBlock(layers.Layer):
    def __init__(self, planes, kind, stride=1):
        super().__init__()
        self.stride = stride
        self.conv1 = layers.Conv2D(planes, 3, strides=stride)
        self.conv2 = conv(planes, 3)
        self.norm1, self.norm2 = norm(kind), norm(kind)
        if stride != 1:
            self.down, self.down_norm = layers.Conv2D(planes, 1, strides=stride), norm(kind)

    def call(self, x):
        y = ops.relu(self.norm1(self.conv1(pad(x, 1))))
        y = ops.relu(self.norm2(self.conv2(y)))
        if self.stride != 1:
            x = self.down_norm(self.down(x))
        return ops.relu(x + y)


class Encoder(layers.Layer):
    def __init__(self, out, kind):
        super().__init__()
        self.conv1 = layers.Conv2D(8, 7, strides=2)
        self.norm1 = norm(kind)
        self.layer1 = ResidualBlock(8, kind)
        self.layer2 = ResidualBlock(12, kind, stride=2)
        self.conv2 = layers.Conv2D(out, 1)

    def call(self, x):
        x = ops.relu(self.norm1(self.conv1(pad(x, 3))))
        return self.conv2(self.layer2(self.layer1(x)))


def correlation_pyramid(fmap1, fmap2):
    b, h, w, dim = fmap1.shape
    corr = ops.einsum("bijc,bklc->bijkl", fmap1, fmap2)
    corr = corr / ops.sqrt(float(dim))
    corr = ops.reshape(corr, (b * h * w, h, w, 1))
    pyramid = [corr]
    for _ in range(LEVELS - 1):
        corr = ops.average_pool(corr, 2, strides=2, padding="valid")
        pyramid.append(corr)
    return pyramid


def lookup(pyramid, coords):
    b, h, w, _ = coords.shape
    side = 2 * RADIUS + 1
    offsets = ops.linspace(-float(RADIUS), float(RADIUS), side)
    delta = ops.stack(ops.meshgrid(offsets, offsets, indexing="ij"), axis=-1)
    out = []
    for level, corr in enumerate(pyramid):
        center = ops.reshape(coords, (b * h * w, 1, 2)) / 2**level
        points = center + ops.reshape(delta, (1, side * side, 2))
        out.append(ops.reshape(sample(ops.squeeze(corr, -1), points), (b, h, w, side * side)))
    return ops.concatenate(out, axis=-1)


class SepConvGRU(layers.Layer):
    def __init__(self, hidden):
        super().__init__()
        self.z1, self.r1 = conv(hidden, (1, 5)), conv(hidden, (1, 5))
        self.q1 = conv(hidden, (1, 5))
        self.z2, self.r2 = conv(hidden, (5, 1)), conv(hidden, (5, 1))
        self.q2 = conv(hidden, (5, 1))

    def call(self, h, x):
        for to_z, to_r, to_q in ((self.z1, self.r1, self.q1), (self.z2, self.r2, self.q2)):
            hx = ops.concatenate([h, x], axis=-1)
            z = ops.sigmoid(to_z(hx))
            r = ops.sigmoid(to_r(hx))
            q = ops.tanh(to_q(ops.concatenate([r * h, x], axis=-1)))
            h = (1 - z) * h + z * q
        return h


class MotionEncoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.convc1 = conv(12, 1, activation="relu")
        self.convf1 = conv(8, 7, activation="relu")
        self.convf2 = conv(6, 3, activation="relu")
        self.conv = conv(10, 3, activation="relu")

    def call(self, flow, corr):
        cor = self.convc1(corr)
        flo = self.convf2(self.convf1(flow))
        out = self.conv(ops.concatenate([cor, flo], axis=-1))
        return ops.concatenate([out, flow], axis=-1)


class RAFT(keras.Model):
    def __init__(self):
        super().__init__()
        self.fnet = Encoder(FEATURES, "instance")
        self.cnet = Encoder(HIDDEN + CONTEXT, "batch")
        self.encoder = MotionEncoder()
        self.gru = SepConvGRU(HIDDEN)
        self.flow1, self.flow2 = conv(12, 3, activation="relu"), conv(2, 3)
        self.mask1, self.mask2 = conv(12, 3, activation="relu"), conv(4 * 4 * 9, 1)

    def upsample(self, flow, mask):
        n, h, w, _ = flow.shape
        mask = ops.softmax(ops.reshape(mask, (n, h, w, 9, 16)), axis=3)
        mask = ops.reshape(mask, (n, h, w, 9, 4, 4))
        patches = ops.image.extract_patches(4 * flow, 3, strides=1, padding="same")
        patches = ops.reshape(patches, (n, h, w, 9, 2))
        up = ops.einsum("nhwkij,nhwkc->nhiwjc", mask, patches)
        return ops.reshape(up, (n, 4 * h, 4 * w, 2))

    def call(self, image1, image2):
        image1 = 2 * (image1 / 255.0) - 1.0
        image2 = 2 * (image2 / 255.0) - 1.0
        pyramid = correlation_pyramid(self.fnet(image1), self.fnet(image2))
        context = self.cnet(image1)
        net = ops.tanh(context[..., :HIDDEN])
        inp = ops.relu(context[..., HIDDEN:])
        n, h, w, _ = net.shape
        coords0 = coords_grid(n, h, w)
        coords1 = coords0
        flows = []
        for _ in range(ITERS):
            corr = lookup(pyramid, coords1)
            motion = self.encoder(coords1 - coords0, corr)
            net = self.gru(net, ops.concatenate([inp, motion], axis=-1))
            delta = self.flow2(self.flow1(net))
            mask = 0.25 * self.mask2(self.mask1(net))
            coords1 = coords1 + delta
            flows.append(self.upsample(coords1 - coords0, mask))
        return flows


def make():
    keras.utils.set_random_seed(5)
    model = RAFT()
    model(*inputs(0))
    rng = np.random.default_rng(6)
    for variable in model.variables:
        if "seed" in variable.path:
            continue
        shape = variable.shape
        if len(shape) == 4:
            value = rng.normal(0, 1.3 / np.sqrt(np.prod(shape[:3])), shape)
        elif "variance" in variable.path or "gamma" in variable.path:
            value = rng.uniform(0.6, 1.4, shape)
        else:
            value = rng.normal(0, 0.2, shape)
        variable.assign(value.astype("float32"))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    images = [rng.uniform(0, 255, (4, 3, 32, 40)).astype("float32") for _ in range(2)]
    return tuple(np.ascontiguousarray(image.transpose(0, 2, 3, 1)) for image in images)


def load(ported, original):
    state = {name: value.detach().numpy() for name, value in original.state_dict().items()}

    def put_conv(layer, name):
        layer.set_weights([state[name + ".weight"].transpose(2, 3, 1, 0), state[name + ".bias"]])

    def put_norm(layer, name):
        if name + ".weight" in state:
            keys = ("weight", "bias", "running_mean", "running_var")
            layer.set_weights([state[f"{name}.{key}"] for key in keys])

    for name in ("fnet", "cnet"):
        encoder = getattr(ported, name)
        put_conv(encoder.conv1, name + ".conv1")
        put_conv(encoder.conv2, name + ".conv2")
        put_norm(encoder.norm1, name + ".norm1")
        for block in ("layer1", "layer2"):
            ours, theirs = getattr(encoder, block), f"{name}.{block}"
            put_conv(ours.conv1, theirs + ".conv1")
            put_conv(ours.conv2, theirs + ".conv2")
            put_norm(ours.norm1, theirs + ".norm1")
            put_norm(ours.norm2, theirs + ".norm2")
            if ours.stride != 1:
                put_conv(ours.down, theirs + ".downsample.0")
                put_norm(ours.down_norm, theirs + ".downsample.1")
    for name in ("convc1", "convf1", "convf2", "conv"):
        put_conv(getattr(ported.encoder, name), "encoder." + name)
    for name in ("z1", "r1", "q1", "z2", "r2", "q2"):
        put_conv(getattr(ported.gru, name), "gru.conv" + name)
    for name in ("flow1", "flow2", "mask1", "mask2"):
        put_conv(getattr(ported, name), name)
