"""MLP-Mixer with the functional API."""
import keras
import numpy as np
from keras import layers

FRAMEWORK = "keras"
DEPTH = 3


def mlp(x, hidden, name):
    out = x.shape[-1]
    x = layers.Dense(hidden, name=f"{name}_fc1")(x)
    x = layers.Activation(keras.activations.gelu)(x)
    return layers.Dense(out, name=f"{name}_fc2")(x)


def mixer_block(x, i, token_hidden=12, channel_hidden=40):
    y = layers.LayerNormalization(epsilon=1e-6, name=f"b{i}_norm1")(x)
    y = layers.Permute((2, 1))(y)
    y = mlp(y, token_hidden, f"b{i}_token")
    y = layers.Permute((2, 1))(y)
    x = layers.Add()([x, y])
    y = layers.LayerNormalization(epsilon=1e-6, name=f"b{i}_norm2")(x)
    y = mlp(y, channel_hidden, f"b{i}_channel")
    return layers.Add()([x, y])


def build(size=16, patch=4, dim=24, classes=7):
    image = keras.Input((size, size, 3))
    x = layers.Conv2D(dim, patch, strides=patch, name="stem")(image)
    x = layers.Reshape((-1, dim))(x)
    for i in range(DEPTH):
        x = mixer_block(x, i)
    x = layers.LayerNormalization(epsilon=1e-6, name="norm")(x)
    x = layers.GlobalAveragePooling1D()(x)
    logits = layers.Dense(classes, name="head")(x)
    return keras.Model(image, logits, name="mixer")


def make(seed=1):
    model = build()
    rng = np.random.default_rng(seed)
    for v in model.weights:
        noise = rng.normal(size=v.shape)
        if v.name == "kernel":
            v.assign(noise / np.sqrt(np.prod(v.shape[:-1])))
        elif v.name == "gamma":
            v.assign(1 + 0.2 * noise)
        else:
            v.assign(0.2 * noise)
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 3, 16, 16)).astype("float32").transpose(0, 2, 3, 1).copy()


def load(ported, original):
    def dense(name, fc):
        ported.get_layer(name).set_weights([fc.weight.detach().numpy().T, fc.bias.detach().numpy()])

    def norm(name, ln):
        ported.get_layer(name).set_weights([ln.weight.detach().numpy(), ln.bias.detach().numpy()])

    stem = original.stem
    ported.get_layer("stem").set_weights(
        [stem.weight.detach().numpy().transpose(2, 3, 1, 0), stem.bias.detach().numpy()])
    for i, block in enumerate(original.blocks):
        norm(f"b{i}_norm1", block.norm1)
        dense(f"b{i}_token_fc1", block.token_mlp.fc1)
        dense(f"b{i}_token_fc2", block.token_mlp.fc2)
        norm(f"b{i}_norm2", block.norm2)
        dense(f"b{i}_channel_fc1", block.channel_mlp.fc1)
        dense(f"b{i}_channel_fc2", block.channel_mlp.fc2)
    norm("norm", original.norm)
    dense("head", original.head)
