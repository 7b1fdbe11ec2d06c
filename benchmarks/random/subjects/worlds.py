"""World models and other networks: RSSM, diffusion, quantile networks, mixtures."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from ..subject import SUBJECTS, Subject, formula, weights


def rssm(o, random, batch, fault):
    """Two steps of a recurrent state-space model: a state, and a latent sampled from it."""
    recur, inputs = weights(random, 6, 6), weights(random, 8, 6)
    mean, spread, latent = weights(random, 6, 3), weights(random, 6, 3), weights(random, 3, 6)
    other = weights(random, 6, 3)

    def run(x):
        state = o.tanh(o.matmul(x, inputs))
        if fault == "one-sample":
            noise = o.normal(batch, 3)  # here
        for _ in range(2):
            if fault not in ("one-sample", "uniform"):
                noise = o.normal(batch, 3)  # here
            elif fault == "uniform":
                noise = o.uniform(batch, 3)  # here
            std = o.softplus(o.matmul(state, spread)) + (0.0 if fault == "least" else 0.1)  # here
            z = o.matmul(state, other if fault == "prior" else mean) + std * noise  # here
            state = o.tanh(o.matmul(state, recur) + o.matmul(z, latent))  # here
        return state

    return run


def rssm_at_once(random, batch, fault):
    """The same; the noise of both steps is drawn at once."""
    recur, inputs = weights(random, 6, 6), weights(random, 8, 6)
    mean, spread, latent = weights(random, 6, 3), weights(random, 6, 3), weights(random, 3, 6)
    other = weights(random, 6, 3)
    recur, inputs, mean, spread, latent, other = (
        torch.from_numpy(one) for one in (recur, inputs, mean, spread, latent, other)
    )

    def run(x):
        state = torch.tanh(x @ inputs)
        both = torch.rand(2, batch, 3) if fault == "uniform" else torch.randn(2, batch, 3)  # here
        for step in range(2):
            noise = both[0 if fault == "one-sample" else step]  # here
            least = 0.0 if fault == "least" else 0.1
            std = torch.nn.functional.softplus(state @ spread) + least  # here
            z = state @ (other if fault == "prior" else mean) + std * noise  # here
            state = torch.tanh(state @ recur + z @ latent)  # here
        return state

    return run


formula(
    "rssm",
    rssm,
    "torch tensorflow numpy",
    "uniform least prior one-sample",
    more={"torch-at-once": rssm_at_once},
)


def diffusion(o, random, batch, fault):
    """One step of noising, and a net that is to find the noise."""
    w, v = weights(random, 8, 8), weights(random, 8, 8)
    share = 0.6

    def run(x):
        noise = o.uniform(batch, 8) if fault == "uniform" else o.normal(batch, 8)  # here
        root = share if fault == "no-root" else share**0.5
        rest = (1 - share) if fault == "no-root" else (1 - share) ** 0.5
        noisy = root * x + rest * noise  # here
        if fault == "exchanged":
            noisy = rest * x + root * noise  # here
        wrong = o.matmul(o.relu(o.matmul(noisy, w)), v) - noise  # here
        return wrong * wrong

    return run


formula("diffusion", diffusion, "torch tensorflow chainer numpy", "uniform no-root exchanged")


def quantiles(o, random, batch, fault):
    """An implicit quantile network: the quantiles' places are drawn for each sample."""
    w, embed, head = weights(random, 8, 6), weights(random, 5, 6), weights(random, 6, 3)
    orders = o.array(np.arange(5, dtype="f") * np.float32(np.pi))

    def run(x):
        if fault == "normal":  # a standard normal gives the same waves to half a percent
            places = 0.5 + 0.25 * o.normal(batch, 1)  # here
        elif fault == "half":
            places = 0.5 * o.uniform(batch, 1)  # here
        else:
            places = o.uniform(batch, 1)  # here
        waves = o.sin(places * orders) if fault == "sine" else o.cos(places * orders)  # here
        h = o.tanh(o.matmul(x, w)) * o.relu(o.matmul(waves, embed))  # here
        return o.matmul(h, head)

    return run


formula("quantile network", quantiles, "torch tensorflow numpy", "normal half sine")


def mixture_torch(random, batch, fault):
    """A mixture of normal distributions: which one, and then where."""
    w, means, spreads = (
        torch.from_numpy(weights(random, *shape)) for shape in ((8, 4), (8, 4), (8, 4))
    )

    def run(x):
        logits = x @ w * (3 if fault == "tripled" else 1)  # here
        which = torch.distributions.Categorical(logits=logits).sample()[:, None]  # here
        mean, std = (x @ means).gather(1, which), torch.exp(x @ spreads).gather(1, which)
        if fault == "scale":
            std = 2 * std  # here
        noise = torch.rand(batch, 1) if fault == "uniform" else torch.randn(batch, 1)  # here
        return mean + std * noise  # here

    return run


def mixture_tensorflow(random, batch, fault):
    w, means, spreads = (weights(random, *shape) for shape in ((8, 4), (8, 4), (8, 4)))

    def run(x):
        logits = x @ w * (3 if fault == "tripled" else 1)  # here
        noise = tf.random.uniform((batch, 1)) if fault == "uniform" else None  # here
        if noise is None:
            noise = tf.random.normal((batch, 1))  # here
        which = tf.one_hot(tf.random.categorical(logits, 1)[:, 0], 4)  # here
        mean = tf.reduce_sum(which * (x @ means), 1, True)
        std = tf.reduce_sum(which * tf.exp(x @ spreads), 1, True)
        if fault == "scale":
            std = 2 * std  # here
        return mean + std * noise  # here

    return run


SUBJECTS.append(
    Subject(
        "mixture",
        {"torch": mixture_torch, "tensorflow": mixture_tensorflow},
        [("torch", "tensorflow"), ("tensorflow", "torch")],
        ["tripled", "scale", "uniform"],
        (8,),
    )
)


def shuffled_torch(random, batch, fault):
    """A batch in a random order, each sample beside the one that it is mixed with."""
    w = torch.from_numpy(weights(random, 8, 4))

    def run(x):
        order = torch.randperm(8)  # here
        features = x[:, order]  # here
        share = torch.rand(1 if fault == "shared" else batch, 1)  # here
        if fault == "square":
            share = share * share  # here
        if fault == "unshuffled":
            features = x  # here
        return (share * x + (1 - share) * features) @ w  # here

    return run


def shuffled_tensorflow(random, batch, fault):
    w = weights(random, 8, 4)

    def run(x):
        order = tf.random.shuffle(tf.range(8))  # here
        features = tf.gather(x, order, axis=1)  # here
        share = tf.random.uniform((1 if fault == "shared" else batch, 1))  # here
        if fault == "square":
            share = share * share  # here
        if fault == "unshuffled":
            features = x  # here
        return (share * x + (1 - share) * features) @ w  # here

    return run


SUBJECTS.append(
    Subject(
        "mixed features",
        {"torch": shuffled_torch, "tensorflow": shuffled_tensorflow},
        [("torch", "tensorflow"), ("tensorflow", "torch")],
        ["square", "unshuffled"],
        (8,),
    )
)
