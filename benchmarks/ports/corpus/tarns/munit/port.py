"""MUNIT in Keras 3, subclassed layers, channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
WIDTH, STYLE = 4, 4
DIM = 2 * WIDTH


def normalize_instance(x):
    mean, var = ops.moments(x, axes=[1, 2], keepdims=True)
    return (x - mean) * ops.rsqrt(var + 1e-5)


class ImageLayerNorm(layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=(shape[-1],), initializer="zeros", name="beta")
        self.count = int(np.prod(shape[1:]))

    def call(self, x):
        centered = x - ops.mean(x, axis=[1, 2, 3], keepdims=True)
        var = ops.sum(ops.square(centered), axis=[1, 2, 3], keepdims=True) / (self.count - 1)
        return centered / (ops.sqrt(var) + 1e-5) * self.gamma + self.beta


class PaddedConv(layers.Layer):
    def __init__(self, filters, kernel, stride, pad, **kw):
        super().__init__(**kw)
        self.pad = pad
        self.conv = layers.Conv2D(filters, kernel, strides=stride)

    def call(self, x):
        p = self.pad
        x = ops.pad(x, [[0, 0], [p, p], [p, p], [0, 0]], mode="reflect")
        return self.conv(x)


class ContentEncoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.convs = [PaddedConv(WIDTH, 7, 1, 3), PaddedConv(DIM, 4, 2, 1)]
        self.res = [PaddedConv(DIM, 3, 1, 1), PaddedConv(DIM, 3, 1, 1)]

    def call(self, x):
        for conv in self.convs:
            x = ops.relu(normalize_instance(conv(x)))
        h = ops.relu(normalize_instance(self.res[0](x)))
        return x + normalize_instance(self.res[1](h))


class StyleEncoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.convs = [PaddedConv(WIDTH, 7, 1, 3), PaddedConv(DIM, 4, 2, 1)]
        self.pool = layers.GlobalAveragePooling2D()
        self.out = layers.Dense(STYLE)

    def call(self, x):
        for conv in self.convs:
            x = ops.relu(conv(x))
        return self.out(self.pool(x))


class Decoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(16, activation="relu")
        self.params = layers.Dense(4 * DIM)
        self.res = [PaddedConv(DIM, 3, 1, 1), PaddedConv(DIM, 3, 1, 1)]
        self.upsample = layers.UpSampling2D(2, interpolation="nearest")
        self.conv = PaddedConv(WIDTH, 5, 1, 2)
        self.norm = ImageLayerNorm()
        self.last = PaddedConv(3, 7, 1, 3)

    def call(self, content, style):
        params = self.params(self.hidden(style))[:, None, None, :]
        shift1, scale1, shift2, scale2 = ops.split(params, 4, axis=-1)
        h = ops.relu(normalize_instance(self.res[0](content)) * scale1 + shift1)
        h = normalize_instance(self.res[1](h)) * scale2 + shift2
        x = self.upsample(content + h)
        x = ops.relu(self.norm(self.conv(x)))
        return ops.tanh(self.last(x))


class MUNIT(keras.Model):
    def __init__(self):
        super().__init__()
        self.content_encoder = ContentEncoder()
        self.style_encoder = StyleEncoder()
        self.decoder = Decoder()

    def call(self, content_image, style_image):
        style = self.style_encoder(style_image)
        return self.decoder(self.content_encoder(content_image), style), style


def make():
    model = MUNIT()
    model(*inputs(0))
    rs = np.random.RandomState(20)
    for w in model.weights:
        v = rs.randn(*w.shape) * 0.25
        w.assign((1 + v if w.path.endswith("gamma") else v).astype("float32"))
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    a, b = rs.randn(4, 3, 16, 16).astype("float32"), (0.5 + rs.randn(4, 3, 16, 16)).astype("float32")
    return a.transpose(0, 2, 3, 1).copy(), b.transpose(0, 2, 3, 1).copy()


def load(ported, original):
    def conv(a, b):
        a.conv.set_weights([b.conv.weight.detach().numpy().transpose(2, 3, 1, 0), b.conv.bias.detach().numpy()])

    def dense(a, b):
        w = b.weight.detach().numpy()
        a.set_weights([w.reshape(w.shape[0], -1).T, b.bias.detach().numpy()])

    for enc, seq in ((ported.content_encoder, original.content), (ported.style_encoder, original.style)):
        conv(enc.convs[0], seq[0])
        conv(enc.convs[1], seq[1])
    for a, b in ((ported.content_encoder, original.content[2]), (ported.decoder, original.res)):
        conv(a.res[0], b.conv1)
        conv(a.res[1], b.conv2)
    dense(ported.style_encoder.out, original.style[3])
    d = ported.decoder
    dense(d.hidden, original.mlp[0])
    dense(d.params, original.mlp[2])
    conv(d.conv, original.up)
    conv(d.last, original.last)
    if isinstance(d.norm, ImageLayerNorm):
        d.norm.gamma.assign(original.up.ln.gamma.detach().numpy())
        d.norm.beta.assign(original.up.ln.beta.detach().numpy())
    else:
        d.norm.set_weights([original.up.ln.gamma.detach().numpy(), original.up.ln.beta.detach().numpy()])
