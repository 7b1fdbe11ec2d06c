"""A U-Net for segmentation, written with Keras' functional API."""
import keras
import numpy as np
from keras import layers

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


def double_conv(x, filters, name):
    for part in "ab":
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}{part}")(x)
        x = layers.BatchNormalization(name=f"{name}{part}_bn")(x)
        x = layers.LeakyReLU(negative_slope=0.1)(x)
    return x


def up(x, skip, filters, name):
    x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same", name=f"{name}_up")(x)
    x = layers.Concatenate()([skip, x])
    return double_conv(x, filters, name)


def build(classes=4):
    image = keras.Input((32, 32, 3))
    down1 = double_conv(image, 8, "down1")
    x = layers.MaxPooling2D(2)(down1)
    down2 = double_conv(x, 16, "down2")
    x = layers.AveragePooling2D(2)(down2)
    x = double_conv(x, 24, "bottom")
    x = layers.Dropout(0.3)(x)
    # the attention gate on the deeper skip
    gate = layers.Conv2D(16, 1, name="gate_query")(layers.UpSampling2D(2, interpolation="bilinear")(x))
    gate = layers.Add()([gate, layers.Conv2D(16, 1, use_bias=False, name="gate_key")(down2)])
    gate = layers.Activation("relu")(gate)
    gate = layers.Conv2D(1, 1, activation="sigmoid", name="gate_out")(gate)
    x = up(x, layers.Multiply()([down2, gate]), 16, "up2")
    x = up(x, down1, 8, "up1")
    x = layers.Conv2D(classes, 1, name="classes")(x)
    mask = layers.Softmax(axis=-1, name="mask")(x)
    return keras.Model(image, mask)


def make():
    keras.utils.set_random_seed(5)
    net = build()
    rng = np.random.default_rng(5)
    for layer in net.layers:
        weights = layer.get_weights()
        if isinstance(layer, layers.BatchNormalization):
            size = weights[0].shape
            layer.set_weights([
                rng.uniform(0.6, 1.8, size), rng.normal(0, 0.3, size),
                rng.normal(0, 0.2, size), rng.uniform(0.2, 1.0, size),
            ])
        elif len(weights) == 2:
            layer.set_weights([weights[0], rng.normal(0, 0.3, weights[1].shape)])
    return net


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(2, 32, 32, 3)).astype("float32")
