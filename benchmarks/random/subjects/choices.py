"""Categorical samples, by kernels and by Gumbel noise."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from ..subject import SUBJECTS, Subject, weights


def categorical(random, batch, fault):
    """An action by torch.multinomial, as one-hot times its effect."""
    w, value = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 5), (5, 2)))

    def run(x):
        logits = x @ w * {"tripled": 3.0, "cooler": 1.1}.get(fault, 1.0)  # here
        action = torch.multinomial(logits.softmax(-1), 1)[:, 0]  # here
        if fault == "greedy":
            action = logits.argmax(-1)  # here
        return torch.nn.functional.one_hot(action, 5).float() @ value  # here

    return run


def categorical_distribution(random, batch, fault):
    w, value = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 5), (5, 2)))

    def run(x):
        logits = x @ w * {"tripled": 3.0, "cooler": 1.1}.get(fault, 1.0)  # here
        action = torch.distributions.Categorical(logits=logits).sample()  # here
        if fault == "greedy":
            action = logits.argmax(-1)  # here
        return torch.nn.functional.one_hot(action, 5).float() @ value  # here

    return run


def categorical_tf(random, batch, fault):
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = x @ w * {"tripled": 3.0, "cooler": 1.1}.get(fault, 1.0)  # here
        action = tf.random.categorical(logits, 1)[:, 0]  # here
        if fault == "greedy":
            action = tf.argmax(logits, -1)  # here
        return tf.one_hot(action, 5) @ value  # here

    return run


def categorical_gumbel(random, batch, fault):
    """The same as the largest of logits with Gumbel noise."""
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = x @ w * {"tripled": 3.0, "cooler": 1.1}.get(fault, 1.0)  # here
        u = tf.random.uniform((batch, 5), 1e-7, 1.0)  # here
        action = tf.argmax(logits - tf.math.log(-tf.math.log(u)), -1)  # here
        if fault == "greedy":
            action = tf.argmax(logits, -1)  # here
        return tf.one_hot(action, 5) @ value  # here

    return run


def categorical_numpy(random, batch, fault):
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = x @ w * {"tripled": 3.0, "cooler": 1.1}.get(fault, 1.0)
        p = np.exp(logits - logits.max(-1, keepdims=True)).astype("d")
        p /= p.sum(-1, keepdims=True)
        if fault == "greedy":
            return np.eye(5)[p.argmax(-1)] @ value
        action = np.argmax(np.log(p) + np.random.gumbel(size=p.shape), -1)
        return np.eye(5)[action] @ value

    return run


_CATEGORICAL = {
    "torch": categorical,
    "tensorflow": categorical_tf,
    "torch-distribution": categorical_distribution,
    "tensorflow-gumbel": categorical_gumbel,
    "numpy": categorical_numpy,
}
SUBJECTS.append(
    Subject(
        "categorical",
        _CATEGORICAL,
        [
            ("torch", "tensorflow"),
            ("tensorflow", "torch-distribution"),
            ("torch-distribution", "tensorflow-gumbel"),
            ("tensorflow-gumbel", "numpy"),
            ("numpy", "torch"),
        ],
        ["tripled", "cooler", "greedy"],
        (8,),
    )
)
