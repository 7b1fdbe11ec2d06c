"""The segmenter as a functional Keras model, NHWC."""

import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class ResponseNorm(layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), initializer="zeros", name="gamma")
        self.beta = self.add_weight(shape=(shape[-1],), initializer="zeros", name="beta")

    def call(self, x):
        energy = ops.sqrt(ops.sum(ops.square(x), axis=[1, 2], keepdims=True))
        relative = energy / (ops.mean(energy, axis=-1, keepdims=True) + 1e-6)
        return x * (1.0 + self.gamma * relative) + self.beta


class LayerScale(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        return x * self.scale


class SoftDice(layers.Layer):
    def call(self, logits, target):
        p = ops.sigmoid(logits)
        overlap = ops.sum(p * target, axis=(1, 2))
        mass = ops.sum(p * p, axis=(1, 2)) + ops.sum(target, axis=(1, 2))
        return 1.0 - (2.0 * overlap + 1.0) / (mass + 1.0)


class Focal(layers.Layer):
    def call(self, logits, target):
        signed = ops.where(target > 0.5, logits, -logits)
        log_pt = -ops.softplus(-signed)
        alpha = ops.where(target > 0.5, 0.25, 0.75)
        loss = -alpha * ops.square(1.0 - ops.exp(log_pt)) * log_pt
        return ops.mean(loss, axis=(1, 2))


def block(x, dim, name):
    y = layers.DepthwiseConv2D(7, padding="same", name=f"{name}_dw")(x)
    y = layers.LayerNormalization(epsilon=1e-6, name=f"{name}_ln")(y)
    y = layers.Dense(4 * dim, name=f"{name}_pw1")(y)
    y = layers.Activation(lambda t: keras.activations.gelu(t, approximate=False))(y)
    y = ResponseNorm(name=f"{name}_grn")(y)
    y = layers.Dense(dim, name=f"{name}_pw2")(y)
    return layers.Add()([x, LayerScale(name=f"{name}_scale")(y)])


def make(dim=6):
    image = keras.Input((16, 16, 3), name="image")
    target = keras.Input((4, 4), name="target")
    x = layers.ZeroPadding2D(1)(image)
    x = layers.Conv2D(dim, 4, strides=2, name="stem")(x)
    x = layers.LayerNormalization(epsilon=1e-6, name="stem_ln")(x)
    x = block(x, dim, "block1")
    x = layers.LayerNormalization(epsilon=1e-6, name="down_ln")(x)
    x = layers.Conv2D(2 * dim, 2, strides=2, name="down")(x)
    x = block(x, 2 * dim, "block2")
    whole = layers.GlobalAveragePooling2D(keepdims=True)(x)
    whole = layers.Activation("hard_swish")(layers.Conv2D(4, 1, name="squeeze1")(whole))
    whole = layers.UpSampling2D(4, interpolation="bilinear")(whole)
    quarters = layers.AveragePooling2D(2)(x)
    quarters = layers.Activation("hard_swish")(layers.Conv2D(4, 1, name="squeeze2")(quarters))
    quarters = layers.UpSampling2D(2, interpolation="bilinear")(quarters)
    x = layers.Concatenate()([x, whole, quarters])
    logits = layers.Conv2D(1, 3, padding="same", name="classify")(x)
    logits = layers.Reshape((4, 4))(logits)
    outputs = {
        "logits": logits,
        "dice": SoftDice()(logits, target),
        "focal": Focal()(logits, target),
    }
    return keras.Model([image, target], outputs)


def load(model, reference):
    state = {k: v.detach().numpy() for k, v in reference.state_dict().items()}

    def put(name, *arrays):
        model.get_layer(name).set_weights(list(arrays))

    def conv(name, theirs):
        put(name, state[f"{theirs}.weight"].transpose(2, 3, 1, 0), state[f"{theirs}.bias"])

    for name in ("stem", "down", "classify"):
        conv(name, name)
    for k in (0, 1):
        conv(f"squeeze{k + 1}", f"squeeze.{k}")
    put("stem_ln", state["stem_norm.weight"], state["stem_norm.bias"])
    put("down_ln", state["down_norm.weight"], state["down_norm.bias"])
    for b in ("block1", "block2"):
        put(f"{b}_dw", state[f"{b}.dwconv.weight"].transpose(2, 3, 0, 1), state[f"{b}.dwconv.bias"])
        put(f"{b}_ln", state[f"{b}.norm.weight"], state[f"{b}.norm.bias"])
        for k in (1, 2):
            put(f"{b}_pw{k}", state[f"{b}.pwconv{k}.weight"].T, state[f"{b}.pwconv{k}.bias"])
        put(f"{b}_grn", state[f"{b}.grn.gamma"].ravel(), state[f"{b}.grn.beta"].ravel())
        put(f"{b}_scale", state[f"{b}.layer_scale"])
