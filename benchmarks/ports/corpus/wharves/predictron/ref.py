"""The Predictron (Silver et al. 2017), functional Keras: k-step preturns and the lambda-preturn."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
SIZE, C, K, OUT = 6, 8, 3, 4


def embed(x):
    for i in range(2):
        x = layers.Conv2D(C, 3, padding="same", name=f"embed_conv{i}")(x)
        x = layers.BatchNormalization(name=f"embed_bn{i}")(x)
        x = layers.ReLU(name=f"embed_relu{i}")(x)
    return x


def head(name, activation=None):
    return keras.Sequential([layers.Flatten(), layers.Dense(16, activation="relu"),
                             layers.Dense(OUT, activation=activation)], name=name)


def build():
    x = keras.Input((SIZE, SIZE, 1))
    state = embed(x)
    trunk = layers.Conv2D(C, 3, padding="same", name="core_trunk")
    trunk_bn = layers.BatchNormalization(name="core_bn")
    step = layers.Conv2D(C, 3, padding="same", name="core_step")
    step_bn = layers.BatchNormalization(name="core_step_bn")
    value = head("value")
    reward = head("reward")
    gamma = head("gamma", "sigmoid")
    lambd = head("lambda", "sigmoid")

    values, rewards, gammas, lambdas = [value(state)], [], [], []
    for _ in range(K):
        net = ops.relu(trunk_bn(trunk(state)))
        rewards.append(reward(net))
        gammas.append(gamma(net))
        lambdas.append(lambd(net))
        state = ops.relu(step_bn(step(net)))
        values.append(value(state))

    preturns = []
    for k in range(K + 1):
        g = values[k]
        for j in reversed(range(k)):
            g = rewards[j] + gammas[j] * g
        preturns.append(g)

    g_lambda = values[K]
    for k in reversed(range(K)):
        g_lambda = (1 - lambdas[k]) * values[k] + lambdas[k] * (rewards[k] + gammas[k] * g_lambda)

    return keras.Model(x, [ops.stack(preturns, axis=1), g_lambda])


def make(seed=0):
    m = build()
    r = np.random.RandomState(seed)
    for v in m.weights:
        if v.name == "kernel":
            w = r.randn(*v.shape) * (1.3 / np.prod(v.shape[:-1]) ** 0.5)
        elif v.name in ("gamma", "moving_variance"):
            w = r.uniform(0.6, 1.4, v.shape)
        elif "seed" in v.name:
            continue
        else:
            w = r.randn(*v.shape) * 0.2
        v.assign(w.astype("f"))
    return m


def inputs(seed=0):
    return (np.random.RandomState(seed).rand(5, SIZE, SIZE, 1) < 0.4).astype("f")
