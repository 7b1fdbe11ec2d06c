"""Keras 3 port of CURL; images are channels-last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CROP = 20


def crop(images, size=CROP):
    h, w = images.shape[1], images.shape[2]
    top = (h - size) // 2
    left = (w - size) // 2
    return images[:, top:top + size, left:left + size, :]


def build_encoder(name, z_dim=18):
    x = pixels = keras.Input((CROP, CROP, 9), name=name + "_pixels")
    for i, stride in enumerate((2, 1, 1)):
        x = layers.Conv2D(16, 3, strides=stride, activation="relu", name=f"{name}_conv{i}")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(z_dim, name=name + "_fc")(x)
    x = layers.LayerNormalization(epsilon=1e-5, name=name + "_ln")(x)
    return keras.Model(pixels, ops.tanh(x), name=name)


class Curl(keras.Model):
    def __init__(self, z_dim=18, n_actions=5):
        super().__init__()
        self.query = build_encoder("query")
        self.key = build_encoder("key")
        self.policy = layers.Dense(n_actions)
        self.bilinear = self.add_weight(shape=(z_dim, z_dim), initializer="glorot_uniform", name="bilinear")

    def similarity(self, q, k):
        logits = ops.einsum("bi,ij,cj->bc", q, self.bilinear, k)
        return logits - ops.max(logits, axis=1, keepdims=True)

    def call(self, anchor, positive):
        anchor = ops.cast(crop(anchor), "float32") / 255.0
        positive = ops.cast(crop(positive), "float32") / 255.0
        q = self.query(anchor)
        k = self.key(positive)
        logits = self.similarity(q, k)
        pi = self.policy(q)
        nll = ops.logsumexp(logits, axis=1) - ops.diagonal(logits)
        return {
            "policy": pi - ops.logsumexp(pi, axis=-1, keepdims=True),
            "logits": logits,
            "loss": ops.mean(nll),
        }


def make():
    keras.utils.set_random_seed(5)
    model = Curl()
    model(*inputs(0))
    return model


def _copy_encoder(target, source):
    for i, conv in enumerate(source.convs):
        kernel = conv.weight.detach().numpy().transpose(2, 3, 1, 0)
        target.get_layer(f"{target.name}_conv{i}").set_weights([kernel, conv.bias.detach().numpy()])
    fc = source.fc.weight.detach().numpy()
    fc = fc.reshape(-1, 16, 5, 5).transpose(2, 3, 1, 0).reshape(16 * 5 * 5, -1)
    target.get_layer(target.name + "_fc").set_weights([fc, source.fc.bias.detach().numpy()])
    target.get_layer(target.name + "_ln").set_weights(
        [source.ln.weight.detach().numpy(), source.ln.bias.detach().numpy()])


def load(model, reference):
    _copy_encoder(model.query, reference.encoder)
    _copy_encoder(model.key, reference.encoder_target)
    model.policy.set_weights([reference.actor.weight.detach().numpy().T, reference.actor.bias.detach().numpy()])
    model.bilinear.assign(reference.W.detach().numpy())


def inputs(seed):
    rng = np.random.default_rng(seed)
    anchor = rng.integers(0, 256, (5, 9, 24, 30)).astype(np.uint8)
    positive = np.clip(anchor.astype(np.int64) + rng.integers(-40, 40, anchor.shape), 0, 255).astype(np.uint8)
    return anchor.transpose(0, 2, 3, 1), positive.transpose(0, 2, 3, 1)
