"""A reduced MobileNetV3 (Howard et al. 2019), Keras functional."""
import keras
import numpy as np
from keras import layers

FRAMEWORK = "tensorflow"
SIDE, CLASSES = 24, 10

#      kernel, expanded, out, squeeze, activation, stride
PLAN = [
    (3, 16, 8, True, "relu", 2),
    (3, 32, 12, False, "relu", 1),
    (5, 36, 12, True, "hard_swish", 1),
    (5, 48, 16, True, "hard_swish", 2),
]


def norm(name):
    return layers.BatchNormalization(epsilon=1e-3, name=name)


def squeeze_excite(x, name):
    channels = x.shape[-1]
    s = layers.GlobalAveragePooling2D(keepdims=True)(x)
    s = layers.Conv2D(channels // 4, 1, activation="relu", name=name + "_reduce")(s)
    s = layers.Conv2D(channels, 1, activation="hard_sigmoid", name=name + "_expand")(s)
    return layers.Multiply()([x, s])


def bottleneck(x, kernel, expanded, out, squeeze, activation, stride, name):
    h = layers.Conv2D(expanded, 1, use_bias=False, name=name + "_pw")(x)
    h = norm(name + "_pw_bn")(h)
    h = layers.Activation(activation)(h)
    h = layers.DepthwiseConv2D(kernel, stride, padding="same", use_bias=False, name=name + "_dw")(h)
    h = norm(name + "_dw_bn")(h)
    h = layers.Activation(activation)(h)
    if squeeze:
        h = squeeze_excite(h, name + "_se")
    h = layers.Conv2D(out, 1, use_bias=False, name=name + "_project")(h)
    h = norm(name + "_project_bn")(h)
    if stride == 1 and x.shape[-1] == out:
        h = layers.Add()([x, h])
    return h


def build():
    image = keras.Input((SIDE, SIDE, 3))
    h = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False, name="stem")(image)
    h = layers.Activation("hard_swish")(norm("stem_bn")(h))
    for i, row in enumerate(PLAN):
        h = bottleneck(h, *row, name=f"b{i}")
    h = layers.Conv2D(48, 1, use_bias=False, name="last")(h)
    h = layers.Activation("hard_swish")(norm("last_bn")(h))
    h = layers.GlobalAveragePooling2D()(h)
    h = layers.Dense(32, activation="hard_swish", name="fc")(h)
    return keras.Model(image, layers.Dense(CLASSES, name="logits")(h))


def make(seed=0):
    keras.utils.set_random_seed(seed)
    net = build()
    rng = np.random.default_rng(seed)
    for v in net.variables:
        if v.name in ("bias", "beta", "moving_mean"):
            v.assign(rng.normal(size=v.shape) * 0.25)
        elif v.name == "gamma":
            v.assign(rng.uniform(0.8, 1.6, size=v.shape))
        elif v.name == "moving_variance":
            v.assign(rng.uniform(0.05, 0.8, size=v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.normal(size=(4, 6, 6, 3)).repeat(4, axis=1).repeat(4, axis=2)
    return (np.clip(coarse + 0.3 * rng.normal(size=coarse.shape), -2, 2).astype("float32"),)
