"""CoLight with Keras's functional API."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
AGENTS, LANES, PHASES, NEIGHBOURS, WIDTH, HEADS, DIM = 6, 8, 4, 3, 16, 3, 5


class Gather(layers.Layer):
    """What each agent sees of its neighbours."""

    def call(self, adjacency, h):
        return ops.einsum("bikj,bjf->bikf", adjacency, h)


class HeadAttention(layers.Layer):
    """(batch, agent, dim x heads) and (batch, agent, neighbour, dim x heads), the head innermost."""

    def call(self, query, key, value):
        query = ops.reshape(query, (-1, AGENTS, DIM, HEADS))
        key = ops.reshape(key, (-1, AGENTS, NEIGHBOURS + 1, DIM, HEADS))
        value = ops.reshape(value, (-1, AGENTS, NEIGHBOURS + 1, DIM, HEADS))
        scores = ops.einsum("bndh,bnkdh->bnhk", query, key)
        weights = ops.softmax(scores, axis=-1)
        mixed = ops.einsum("bnhk,bnkdh->bnhd", weights, value)
        return ops.mean(mixed, axis=2), weights


class PhasePressure(layers.Layer):
    def build(self, *shapes):
        self.scale = self.add_weight(shape=(), name="scale")
        lanes = np.zeros((LANES, PHASES), "float32")
        for p in range(PHASES):
            lanes[[p, p + PHASES], p] = 1.0
        self.lanes = lanes

    def call(self, incoming, outgoing):
        pressure = ops.matmul(incoming - outgoing, self.lanes)
        return self.scale * pressure / LANES


def attention_block(h, adjacency, name):
    near = Gather()(adjacency, h)
    query = layers.Dense(DIM * HEADS, activation="relu", name=name + "_agent")(h)
    key = layers.Dense(DIM * HEADS, activation="relu", name=name + "_neighbour")(near)
    value = layers.Dense(DIM * HEADS, activation="relu", name=name + "_hidden")(near)
    mixed, weights = HeadAttention()(query, key, value)
    return layers.Dense(WIDTH, activation="relu", name=name + "_out")(mixed), weights


def network():
    incoming = keras.Input((AGENTS, LANES))
    outgoing = keras.Input((AGENTS, LANES))
    phase = keras.Input((AGENTS, PHASES))
    adjacency = keras.Input((AGENTS, NEIGHBOURS + 1, AGENTS))
    x = layers.Concatenate()([ops.log1p(incoming), outgoing / 10.0, phase])
    x = layers.Dense(WIDTH, activation="relu", name="embed1")(x)
    x = layers.Dense(WIDTH, activation="relu", name="embed2")(x)
    h1, w1 = attention_block(x, adjacency, "att1")
    h2, w2 = attention_block(h1, adjacency, "att2")
    value = layers.Dense(1, name="value")(h2)
    advantage = layers.Dense(PHASES, name="advantage")(h2)
    q = value + (advantage - ops.mean(advantage, axis=-1, keepdims=True))
    q = layers.Add()([q, PhasePressure(name="pressure")(incoming, outgoing)])
    attention = ops.stack([w1, w2], axis=1)
    return keras.Model([incoming, outgoing, phase, adjacency], [q, attention])


def make():
    net = network()
    rng = np.random.default_rng(6)
    for w in net.weights:
        w.assign((0.3 * rng.normal(size=w.shape)).astype("float32"))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    eye = np.eye(AGENTS)
    adjacency = np.stack([np.stack([eye[np.concatenate([[i], rng.choice(
        [j for j in range(AGENTS) if j != i], NEIGHBOURS, replace=False)])] for i in range(AGENTS)])
        for _ in range(b)])
    phase = np.eye(PHASES)[rng.integers(0, PHASES, (b, AGENTS))]
    return tuple(a.astype("float32") for a in (
        rng.gamma(2.0, 2.0, (b, AGENTS, LANES)), rng.gamma(2.0, 2.0, (b, AGENTS, LANES)), phase, adjacency))


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(name, other):
        ported.get_layer(name).set_weights([s[other + ".weight"].T, s[other + ".bias"]])

    dense("embed1", "embedding.fc1")
    dense("embed2", "embedding.fc2")
    dense("value", "value")
    dense("advantage", "advantage")
    for i in (1, 2):
        for part in ("agent", "neighbour", "hidden", "out"):
            dense(f"att{i}_{part}", f"att.{i - 1}.{part}")
    ported.get_layer("pressure").scale.assign(s["pressure_scale"])
