"""Policies that sample actions: SAC, Bernoulli, epsilon-greedy, TD3's smoothed targets."""

from __future__ import annotations

import tensorflow as tf
import torch

from ..subject import formula, weights


def sac(o, random, batch, fault):
    """A squashed normal action."""
    mean, spread = weights(random, 8, 4), weights(random, 8, 4, scale=0.3)

    def act(x):
        mu, log_std = o.matmul(x, mean), o.matmul(x, spread)
        rows = 1 if fault == "shared" and batch > 1 else batch
        if fault == "uniform":
            noise = o.uniform(rows, 4)  # here
        elif fault == "one-number":
            noise = o.normal(rows, 1)  # here
        else:
            noise = o.normal(rows, 4)  # here
        if fault == "softplus":
            std = o.softplus(log_std)  # here
        elif fault == "doubled":
            std = o.exp(2 * log_std)  # here
        else:
            std = o.exp(log_std)  # here
        if fault == "half":
            std = 0.5 * std  # here
        return o.tanh(mu + std * noise)  # here

    return act


def sac_distribution(random, batch, fault):
    """The same by torch.distributions."""
    mean, spread = (torch.from_numpy(weights(random, 8, 4, scale=s)) for s in (0.5, 0.3))

    def act(x):
        std = torch.exp(x @ spread * (2 if fault == "doubled" else 1))  # here
        if fault == "half":
            std = std / 2  # here
        if fault == "softplus":
            std = torch.nn.functional.softplus(x @ spread)  # here
        noisy = torch.distributions.Normal(x @ mean, std)  # here
        if fault == "uniform":
            return torch.tanh(x @ mean + std * torch.rand(batch, 4))  # here
        if fault == "one-number":
            return torch.tanh(x @ mean + std * torch.randn(batch, 1))  # here
        if fault == "shared" and batch > 1:
            return torch.tanh(x @ mean + std * torch.randn(1, 4))  # here
        return torch.tanh(noisy.rsample())  # here

    return act


def sac_normal_of_tensors(random, batch, fault):
    """The same by torch.normal, which draws and transforms in one."""
    mean, spread = (torch.from_numpy(weights(random, 8, 4, scale=s)) for s in (0.5, 0.3))

    def act(x):
        std = torch.exp(x @ spread * (2 if fault == "doubled" else 1))  # here
        if fault == "half":
            std = std / 2  # here
        if fault == "softplus":
            std = torch.nn.functional.softplus(x @ spread)  # here
        if fault == "uniform":
            return torch.tanh(x @ mean + std * torch.rand(batch, 4))  # here
        if fault == "one-number":
            return torch.tanh(x @ mean + std * torch.randn(batch, 1))  # here
        if fault == "shared" and batch > 1:
            return torch.tanh(x @ mean + std * torch.randn(1, 4))  # here
        return torch.tanh(torch.normal(x @ mean, std))  # here

    return act


formula(
    "sac",
    sac,
    "torch tensorflow chainer numpy",
    "softplus doubled half uniform one-number",
    more={"torch-distribution": sac_distribution, "torch-normal": sac_normal_of_tensors},
)


def bernoulli(o, random, batch, fault):
    """Independent yes-or-no actions, times what they do."""
    w, effect = weights(random, 8, 6), weights(random, 6, 3)

    def act(x):
        logits = o.matmul(x, w)
        if fault == "tripled":
            logits = 3 * logits  # here
        if fault == "half":
            return o.matmul(o.less(o.uniform(batch, 6), 0.5 + 0 * logits), effect)  # here
        chosen = o.less(o.uniform(batch, 6), o.sigmoid(logits))  # here
        if fault == "opposite":
            chosen = 1 - chosen  # here
        return o.matmul(chosen, effect)  # here

    return act


def bernoulli_kernel(random, batch, fault):
    """The same by torch.bernoulli."""
    w, effect = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 6), (6, 3)))

    def act(x):
        logits = x @ w
        if fault == "tripled":
            logits = 3 * logits  # here
        if fault == "half":
            logits = 0 * logits  # here
        chosen = torch.bernoulli(torch.sigmoid(logits))  # here
        if fault == "opposite":
            chosen = 1 - chosen  # here
        return chosen @ effect  # here

    return act


def bernoulli_logistic(random, batch, fault):
    """The same as logistic noise against the logits."""
    w, effect = weights(random, 8, 6), weights(random, 6, 3)

    def act(x):
        logits = tf.matmul(x, w)
        if fault == "tripled":
            logits = 3 * logits  # here
        if fault == "half":
            logits = 0 * logits  # here
        u = tf.random.uniform((batch, 6))  # here
        noise = tf.math.log(u) - tf.math.log1p(-u)  # here
        chosen = tf.cast(noise < logits, tf.float32)  # here
        if fault == "opposite":
            chosen = 1 - chosen  # here
        return chosen @ effect  # here

    return act


formula(
    "bernoulli policy",
    bernoulli,
    "torch tensorflow numpy",
    "tripled half opposite",
    more={"torch-kernel": bernoulli_kernel, "tensorflow-logistic": bernoulli_logistic},
)


def epsilon_greedy(o, random, batch, fault):
    """A random action in one of five steps, else the best one; its value."""
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def act(x):
        q = o.matmul(x, w)
        best = o.hot(o.argmax(q), 5)
        chance = {"rate": 0.4, "never": 0.0}.get(fault, 0.2)
        rows = 1 if fault == "one-coin" and batch > 1 else batch
        explore = o.reshape(o.less(o.uniform(rows), chance), rows, 1)  # here
        index = o.uniform(batch) * (4 if fault == "four" else 5)  # here
        if o.name == "torch":
            any_one = o.hot(index.floor().long(), 5)  # here
        elif o.name == "numpy":
            any_one = o.hot(np_floor(index), 5)  # here
        else:
            any_one = o.hot(tf.cast(tf.floor(index), tf.int32), 5)  # here
        return o.matmul(explore * any_one + (1 - explore) * best, value)  # here

    return act


def np_floor(x):
    return x.astype("int64")


def epsilon_greedy_integers(random, batch, fault):
    """The same with a kernel for integers."""
    w, value = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 5), (5, 2)))

    def act(x):
        best = (x @ w).argmax(-1)
        chance = {"rate": 0.4, "never": 0.0}.get(fault, 0.2)
        coin = torch.rand(1 if fault == "one-coin" and batch > 1 else batch)  # here
        any_one = torch.randint(4 if fault == "four" else 5, (batch,))  # here
        action = torch.where(coin < chance, any_one, best)  # here
        return torch.nn.functional.one_hot(action, 5).float() @ value  # here

    return act


formula(
    "epsilon-greedy",
    epsilon_greedy,
    "torch tensorflow numpy",
    "rate never four",
    more={"torch-integers": epsilon_greedy_integers},
)


def smoothed_target(o, random, batch, fault):
    """TD3: the target's action with clipped noise."""
    w = weights(random, 8, 3)

    def act(x):
        scale = 0.5 if fault == "scale" else 0.2
        if fault == "uniform":
            noise = scale * o.uniform(batch, 3)  # here
        else:
            noise = scale * o.normal(batch, 3)  # here
        if fault == "tight":
            noise = o.clip(noise, -0.05, 0.05)  # here
        elif fault != "unclipped":
            noise = o.clip(noise, -0.3, 0.3)  # here
        if fault == "outside":
            return o.tanh(o.matmul(x, w)) + noise  # here
        return o.clip(o.tanh(o.matmul(x, w)) + noise, -1.0, 1.0)  # here

    return act


formula(
    "smoothed target", smoothed_target, "torch tensorflow numpy", "scale uniform tight unclipped"
)
