"""Samplers: VAE, Gumbel-softmax, categorical, multivariate normal, other distributions."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import tensorflow as tf
import torch

from ..ops import F
from ..subject import SUBJECTS, Subject, formula, weights


def vae(o, random, batch, fault):
    """A latent sample, decoded."""
    mean, spread = weights(random, 8, 3), weights(random, 8, 3, scale=0.3)
    decoder = weights(random, 3, 8)

    def run(x):
        mu, log_var = o.matmul(x, mean), o.matmul(x, spread)
        noise = o.uniform(batch, 3) if fault == "uniform" else o.normal(batch, 3)  # here
        std = o.exp(log_var * (1.0 if fault == "variance" else 0.5))  # here
        if fault == "unit":
            return o.sigmoid(o.matmul(mu + noise, decoder))  # here
        z = mu + std * noise  # here
        if fault == "mean":
            z = mu  # here
        return o.sigmoid(o.matmul(z, decoder))  # here

    return run


def vae_gaussian(random, batch, fault):
    """The same by Chainer's F.gaussian."""
    mean, spread = weights(random, 8, 3), weights(random, 8, 3, scale=0.3)
    decoder = weights(random, 3, 8)

    def run(x):
        mu, log_var = F.matmul(x, mean), F.matmul(x, spread)
        if fault == "variance":
            log_var = 2 * log_var  # here
        if fault == "unit":
            log_var = 0 * log_var  # here
        z = F.gaussian(mu, log_var)  # here
        if fault == "uniform":
            noise = np.random.rand(batch, 3).astype("f")  # here
            z = mu + F.exp(0.5 * log_var) * noise  # here
        if fault == "mean":
            z = mu  # here
        return F.sigmoid(F.matmul(z, decoder))  # here

    return run


formula(
    "vae",
    vae,
    "torch tensorflow chainer numpy",
    "uniform variance unit mean",
    more={"chainer-gaussian": vae_gaussian},
)


def gumbel(o, random, batch, fault):
    """A relaxed categorical sample from uniform noise."""
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = o.matmul(x, w) * (3.0 if fault == "tripled" else 1.0)  # here
        u = 1e-6 + (1 - 2e-6) * o.uniform(batch, 5)  # here
        if fault == "one-log":
            noise = -o.log(u)  # here
        elif fault == "normal":
            noise = o.normal(batch, 5)  # here
        else:
            noise = -o.log(-o.log(u))  # here
        y = o.softmax((logits + noise) / (1.0 if fault == "temperature" else 0.7))  # here
        return o.matmul(y, value)  # here

    return run


def gumbel_exponential(random, batch, fault):
    """The same from exponential noise."""
    w, value = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 5), (5, 2)))

    def run(x):
        logits = x @ w * (3.0 if fault == "tripled" else 1.0)  # here
        noise = -torch.empty(batch, 5).exponential_().log()  # here
        if fault == "one-log":
            noise = torch.empty(batch, 5).exponential_()  # here
        if fault == "normal":
            noise = torch.randn(batch, 5)  # here
        y = ((logits + noise) / (1.0 if fault == "temperature" else 0.7)).softmax(-1)  # here
        return y @ value  # here

    return run


def gumbel_torch(random, batch, fault):
    """The same by torch's function."""
    w, value = (torch.from_numpy(weights(random, *shape)) for shape in ((8, 5), (5, 2)))

    def run(x):
        logits = x @ w * (3.0 if fault == "tripled" else 1.0)  # here
        tau = 1.0 if fault == "temperature" else 0.7
        if fault == "normal":
            return ((logits + torch.randn(batch, 5)) / tau).softmax(-1) @ value  # here
        if fault == "one-log":
            noise = torch.empty(batch, 5).exponential_()  # here
            return ((logits + noise) / tau).softmax(-1) @ value  # here
        return torch.nn.functional.gumbel_softmax(logits, tau) @ value  # here

    return run


def gumbel_chainer(random, batch, fault):
    """The same by Chainer's function."""
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = F.matmul(x, w) * (3.0 if fault == "tripled" else 1.0)  # here
        tau = 1.0 if fault == "temperature" else 0.7
        if fault == "normal":
            noise = np.random.randn(batch, 5).astype("f")  # here
            return F.matmul(F.softmax((logits + noise) / tau), value)  # here
        if fault == "one-log":
            noise = np.random.exponential(size=(batch, 5)).astype("f")  # here
            return F.matmul(F.softmax((logits + noise) / tau), value)  # here
        return F.matmul(F.gumbel_softmax(logits, tau), value)  # here

    return run


def gumbel_numpy(random, batch, fault):
    w, value = weights(random, 8, 5), weights(random, 5, 2)

    def run(x):
        logits = x @ w * (3.0 if fault == "tripled" else 1.0)
        noise = np.random.gumbel(size=(batch, 5))
        if fault == "one-log":
            noise = np.random.exponential(size=(batch, 5))
        if fault == "normal":
            noise = np.random.normal(size=(batch, 5))
        y = (logits + noise) / (1.0 if fault == "temperature" else 0.7)
        y = np.exp(y - y.max(-1, keepdims=True))
        return y / y.sum(-1, keepdims=True) @ value

    return run


SUBJECTS.append(
    Subject(
        "gumbel",
        {
            "torch-exponential": gumbel_exponential,
            "torch": gumbel_torch,
            "chainer": gumbel_chainer,
            "numpy": gumbel_numpy,
        },
        [
            ("torch-exponential", "torch"),
            ("torch", "chainer"),
            ("chainer", "torch-exponential"),
            ("torch-exponential", "numpy"),
            ("numpy", "torch"),
        ],
        ["tripled", "normal", "one-log", "temperature"],
        (8,),
    )
)
formula("gumbel of a uniform", gumbel, "torch tensorflow", "tripled normal temperature one-log")


def multivariate(o, random, batch, fault):
    """A sample with a full covariance."""
    w, root = weights(random, 8, 4), np.tril(weights(random, 4, 4)) + np.eye(4, dtype="f")

    def run(x):
        noise = o.uniform(batch, 4) if fault == "uniform" else o.normal(batch, 4)  # here
        lower = o.array(root if fault == "transposed" else root.T)  # here
        if fault == "diagonal":
            lower = o.array(np.diag(np.diag(root)))  # here
        if fault == "covariance":
            lower = o.array((root @ root.T).T)  # here
        return o.tanh(o.matmul(x, w) + o.matmul(noise, lower))  # here

    return run


def multivariate_distribution(random, batch, fault):
    w = torch.from_numpy(weights(random, 8, 4))
    root = np.tril(weights(random, 4, 4)) + np.eye(4, dtype="f")

    def run(x):
        lower = torch.from_numpy(root)
        if fault == "diagonal":
            lower = torch.diag(torch.diag(lower))  # here
        if fault in ("transposed", "covariance"):
            lower = lower.T if fault == "transposed" else lower @ lower.T  # here
            return torch.tanh(x @ w + torch.randn(batch, 4) @ lower.T)  # here
        if fault == "uniform":
            return torch.tanh(x @ w + torch.rand(batch, 4) @ lower.T)  # here
        signs = torch.sign(torch.diag(lower))
        made = torch.distributions.MultivariateNormal(
            x @ w, scale_tril=lower * 1.0, validate_args=False
        )
        assert signs.shape == (4,)
        return torch.tanh(made.rsample())  # here

    return run


formula(
    "multivariate normal",
    multivariate,
    "torch tensorflow chainer",
    "uniform transposed diagonal covariance",
    more={"torch-distribution": multivariate_distribution},
)


def laplace(o, random, batch, fault):
    """Laplace noise, by its quantiles."""
    w = weights(random, 8, 4)

    def run(x):
        if fault == "normal":
            noise = o.normal(batch, 4)  # here
        else:
            u = o.uniform(batch, 4) * 0.998 - 0.499  # here
            noise = -o.sign(u) * o.log(1 - 2 * o.abs(u))  # here
        if fault == "scale":
            noise = 1.5 * noise  # here
        if fault == "one-sided":
            noise = o.abs(noise)  # here
        return o.matmul(x, w) + 0.3 * noise  # here

    return run


formula("laplace noise", laplace, "torch tensorflow numpy", "normal scale one-sided")


def truncated(random, batch, fault):
    """Noise from a normal distribution cut at two deviations, by TensorFlow's kernel."""
    w = weights(random, 8, 4)

    def run(x):
        if fault == "normal":
            noise = tf.random.normal((batch, 4))  # here
        else:
            noise = tf.random.truncated_normal((batch, 4))  # here
        return x @ w + (0.5 if fault == "scale" else 0.3) * noise  # here

    return run


def truncated_torch(random, batch, fault, by_rejection=False):
    """The same from uniform noise; or as torch's initialiser does it, in a loop."""
    w = torch.from_numpy(weights(random, 8, 4))

    def run(x):
        if fault == "normal":
            noise = torch.randn(batch, 4)  # here
        elif by_rejection:
            noise = torch.nn.init.trunc_normal_(torch.empty(batch, 4))  # here
        else:
            edge = math.erf(2 / 2**0.5)
            noise = 2**0.5 * torch.empty(batch, 4).uniform_(-edge, edge).erfinv()  # here
        return x @ w + (0.5 if fault == "scale" else 0.3) * noise  # here

    return run


SUBJECTS.append(
    Subject(
        "truncated normal",
        {"tensorflow": truncated, "torch": truncated_torch},
        [("tensorflow", "torch"), ("torch", "tensorflow")],
        ["normal", "scale"],
        (8,),
    )
)


SUBJECTS.append(
    Subject(
        "truncated normal by rejection",
        {"tensorflow": truncated, "torch": partial(truncated_torch, by_rejection=True)},
        [("tensorflow", "torch")],
        [],
        (8,),
    )
)


def gamma(random, batch, fault):
    w = torch.from_numpy(weights(random, 8, 4, scale=0.3))

    def run(x):
        shape = torch.nn.functional.softplus(x @ w) + (1.5 if fault == "shape" else 0.5)  # here
        made = torch._standard_gamma(shape)  # here
        return torch.log1p(made * (2 if fault == "scale" else 1))  # here

    return run


def gamma_tf(random, batch, fault):
    w = weights(random, 8, 4, scale=0.3)

    def run(x):
        shape = tf.math.softplus(x @ w) + (1.5 if fault == "shape" else 0.5)  # here
        made = tf.random.gamma((), shape)  # here
        return tf.math.log1p(made * (2 if fault == "scale" else 1))  # here

    return run


SUBJECTS.append(
    Subject(
        "gamma",
        {"torch": gamma, "tensorflow": gamma_tf},
        [("torch", "tensorflow"), ("tensorflow", "torch")],
        ["shape", "scale"],
        (8,),
    )
)
