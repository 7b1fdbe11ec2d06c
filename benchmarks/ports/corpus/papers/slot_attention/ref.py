"""Object-centric encoder with slot attention (Locatello et al. 2020), Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def build_grid(height, width):
    rows = np.linspace(0.0, 1.0, height)
    cols = np.linspace(0.0, 1.0, width)
    grid = np.stack(np.meshgrid(rows, cols, sparse=False, indexing="ij"), axis=-1)
    grid = np.concatenate([grid, 1.0 - grid], axis=-1)
    return grid[None].astype("float32")


class SoftPositionEmbed(layers.Layer):
    def __init__(self, hidden, resolution):
        super().__init__()
        self.dense = layers.Dense(hidden, bias_initializer=keras.initializers.RandomNormal(0, 0.1))
        self.grid = build_grid(*resolution)

    def call(self, x):
        return x + self.dense(ops.convert_to_tensor(self.grid))


class SlotAttention(layers.Layer):
    def __init__(self, iterations, slots, dim, mlp, epsilon=1e-8):
        super().__init__()
        normal = keras.initializers.RandomNormal(0, 0.3)
        norm = dict(epsilon=1e-5, gamma_initializer=keras.initializers.RandomUniform(0.7, 1.3),
                    beta_initializer=keras.initializers.RandomNormal(0, 0.2))
        self.iterations, self.dim, self.epsilon = iterations, dim, epsilon
        self.num_slots = slots
        self.norm_inputs = layers.LayerNormalization(**norm)
        self.norm_slots = layers.LayerNormalization(**norm)
        self.norm_mlp = layers.LayerNormalization(**norm)
        self.init_slots = self.add_weight(shape=(slots, dim), initializer=keras.initializers.RandomNormal(0, 1.0))
        self.project_q = layers.Dense(dim, use_bias=False)
        self.project_k = layers.Dense(dim, use_bias=False)
        self.project_v = layers.Dense(dim, use_bias=False)
        self.gru = layers.GRUCell(dim, bias_initializer=normal)
        self.mlp = keras.Sequential([
            layers.Dense(mlp, activation="relu", bias_initializer=normal),
            layers.Dense(dim, bias_initializer=normal),
        ])

    def call(self, inputs):
        inputs = self.norm_inputs(inputs)
        k = self.project_k(inputs)
        v = self.project_v(inputs)
        batch = inputs.shape[0]
        slots = ops.tile(self.init_slots[None], (batch, 1, 1))
        for _ in range(self.iterations):
            slots_prev = slots
            slots = self.norm_slots(slots)
            q = self.project_q(slots)
            q = q * self.dim ** -0.5
            attn_logits = ops.einsum("bnd,bsd->bns", k, q)
            attn = ops.softmax(attn_logits, axis=-1)
            weights = attn + self.epsilon
            weights = weights / ops.sum(weights, axis=-2, keepdims=True)
            updates = ops.einsum("bns,bnd->bsd", weights, v)
            flat, _ = self.gru(ops.reshape(updates, (-1, self.dim)), [ops.reshape(slots_prev, (-1, self.dim))])
            slots = ops.reshape(flat, (batch, self.num_slots, self.dim))
            slots = slots + self.mlp(self.norm_mlp(slots))
        return slots, attn


class ObjectEncoder(keras.Model):
    def __init__(self, resolution=(10, 10), hidden=16, slots=4):
        super().__init__()
        small = keras.initializers.RandomNormal(0, 0.1)
        self.convs = [layers.Conv2D(hidden, 5, padding="same", bias_initializer=small) for _ in range(2)]
        self.norms = [layers.BatchNormalization() for _ in range(2)]
        self.position = SoftPositionEmbed(hidden, resolution)
        self.dense = layers.Dense(hidden, activation="relu", bias_initializer=small)
        self.slot_attention = SlotAttention(3, slots, hidden, 32)
        self.reward = layers.Dense(1, bias_initializer=small)

    def call(self, image):
        x = image
        for conv, norm in zip(self.convs, self.norms):
            x = ops.relu(norm(conv(x), training=False))
        x = self.position(x)
        x = ops.reshape(x, (x.shape[0], -1, x.shape[-1]))
        x = self.dense(x)
        slots, attn = self.slot_attention(x)
        return {"slots": slots, "attention": attn, "reward": ops.sum(self.reward(slots), axis=(1, 2))}


def make():
    keras.utils.set_random_seed(53)
    model = ObjectEncoder()
    model(inputs(0)[0])
    rng = np.random.default_rng(53)
    for norm in model.norms:
        n = norm.gamma.shape[0]
        norm.set_weights([rng.uniform(0.6, 1.4, n), rng.normal(0, 0.2, n), rng.normal(0, 0.3, n),
                          rng.uniform(0.1, 1.2, n)])
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1, 1, size=(3, 10, 10, 3)).astype(np.float32),)
