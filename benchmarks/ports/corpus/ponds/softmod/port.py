"""Soft modularization in the Keras functional API."""
import os
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
OBS, TASKS, ACT, D, LAYERS, MODULES, G = 9, 4, 3, 8, 4, 3, 8


def route(e):
    gate = ops.relu(e)
    g = layers.Dense(G, name="gate_first")(gate)
    probs = []
    for l in range(LAYERS - 2):
        raw = layers.Dense(MODULES * MODULES, name=f"gate_w{l}")(ops.relu(g))
        p = layers.Softmax(axis=-1)(layers.Reshape((MODULES, MODULES))(raw))
        probs.append(p)
        flat = layers.Flatten()(p)
        if l < LAYERS - 3:
            g = layers.Dense(G, name=f"gate_c{l}")(flat) * gate
    g = layers.Dense(G, name="gate_last_c")(flat) * gate
    probs.append(layers.Softmax(axis=-1)(layers.Dense(MODULES, name="gate_last")(ops.relu(g))))
    return probs


def modules(x, l):
    """[B, modules, D] -> [B, modules, D], every module with its own weights"""
    return layers.EinsumDense("bmi,mio->bmo", (MODULES, D), bias_axes="mo", activation="relu",
                              name=f"modules{l}")(x)


def make():
    obs = keras.Input((OBS,), name="obs")
    task = keras.Input((TASKS,), name="task")
    f = layers.Dense(D, name="base2")(layers.Dense(16, activation="relu", name="base1")(obs))
    z = layers.Dense(D, name="task_embed")(task)
    probs = route(layers.Multiply()([f, z]))
    x = layers.RepeatVector(MODULES)(ops.relu(f))
    x = modules(x, 0)
    for l in range(1, LAYERS - 1):
        x = ops.einsum("btf,bfd->btd", probs[l - 1], x)
        x = modules(x, l)
    y = ops.einsum("bf,bfd->bd", probs[-1], x)
    y = layers.LayerNormalization(epsilon=1e-6, name="norm")(y)
    y = layers.Dense(2 * ACT, name="head")(y)
    mean, log_std = ops.split(y, 2, axis=-1)
    std = ops.exp(ops.clip(log_std, -2.0, 0.5))
    model = keras.Model([obs, task], [ops.tanh(mean), std])
    r = np.random.RandomState(66)
    for w in model.weights:
        w.assign((r.randn(*w.shape) * 0.4).astype("f"))
    return model


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(6, OBS).astype("f"), np.eye(TASKS, dtype="f")[r.randint(0, TASKS, 6)]


def load(ported, original):
    def dense(name, link):
        ported.get_layer(name).set_weights([link.W.array.T, link.b.array])
    for n, l in (("base1", original.base1), ("base2", original.base2), ("task_embed", original.task),
                 ("head", original.head), ("gate_first", original.routing.first),
                 ("gate_last_c", original.routing.last_cond), ("gate_last", original.routing.last)):
        dense(n, l)
    for l in range(LAYERS - 2):
        dense(f"gate_w{l}", original.routing.weights[l])
    for l in range(LAYERS - 3):
        dense(f"gate_c{l}", original.routing.conds[l])
    for l in range(LAYERS - 1):
        ms = original.layers[l]
        ported.get_layer(f"modules{l}").set_weights([np.stack([m.W.array.T for m in ms]),
                                                     np.stack([m.b.array for m in ms])])
    ported.get_layer("norm").set_weights([original.norm.gamma.array, original.norm.beta.array])
