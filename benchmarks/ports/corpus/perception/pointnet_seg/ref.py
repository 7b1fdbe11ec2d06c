"""PointNet for part segmentation, after the Keras example."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
NUM_POINTS, NUM_CLASSES = 40, 5


def conv_block(x, filters, name):
    x = layers.Conv1D(filters, kernel_size=1, padding="valid", name=f"{name}_conv")(x)
    x = layers.BatchNormalization(name=f"{name}_batch_norm")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def mlp_block(x, filters, name):
    x = layers.Dense(filters, name=f"{name}_dense")(x)
    x = layers.BatchNormalization(name=f"{name}_batch_norm")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def transformation_net(inputs, num_features, name):
    """Predicts a num_features x num_features transform."""
    x = conv_block(inputs, filters=12, name=f"{name}_1")
    x = conv_block(x, filters=20, name=f"{name}_2")
    x = layers.GlobalMaxPooling1D(name=f"{name}_max")(x)
    x = mlp_block(x, filters=16, name=f"{name}_3")
    return layers.Dense(
        num_features * num_features,
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.05),
        bias_initializer=keras.initializers.Constant(np.eye(num_features).flatten()),
        name=f"{name}_final",
    )(x)


def transformation_block(inputs, num_features, name):
    transformed = transformation_net(inputs, num_features, name)
    transformed = layers.Reshape((num_features, num_features))(transformed)
    return layers.Dot(axes=(2, 1), name=f"{name}_mm")([inputs, transformed])


def build():
    points = keras.Input((NUM_POINTS, 3))
    transformed = transformation_block(points, 3, name="input_transform")
    f16 = conv_block(transformed, 16, name="features_16")
    f24_1 = conv_block(f16, 24, name="features_24_1")
    f24_2 = conv_block(f24_1, 24, name="features_24_2")
    features = transformation_block(f24_2, 24, name="feature_transform")
    f32 = conv_block(features, 32, name="features_32")
    f64 = layers.Conv1D(64, 1, name="pre_maxpool_conv")(f32)
    f64 = layers.BatchNormalization(name="pre_maxpool_batch_norm")(f64)
    code = layers.MaxPool1D(pool_size=NUM_POINTS, name="global_features")(f64)
    code = ops.tile(code, [1, NUM_POINTS, 1])
    joined = layers.Concatenate(name="segmentation_input")([f16, f24_1, f24_2, features, f32, code])
    x = conv_block(joined, 30, name="segmentation")
    logits = layers.Conv1D(NUM_CLASSES, 1, name="head")(x)
    return keras.Model(points, [layers.Softmax()(logits), features])


def make():
    keras.utils.set_random_seed(8)
    model = build()
    rng = np.random.default_rng(8)
    for layer in model.layers:  # as if it had been trained
        if isinstance(layer, layers.BatchNormalization):
            n = layer.gamma.shape[0]
            layer.set_weights(
                [
                    rng.uniform(0.6, 1.4, n),
                    rng.normal(scale=0.2, size=n),
                    rng.normal(scale=0.1, size=n),
                    rng.uniform(0.3, 1.2, n),
                ]
            )
    return model


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, NUM_POINTS, 3)).astype("float32")
