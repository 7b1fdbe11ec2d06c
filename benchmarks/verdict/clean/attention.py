"""Clean pairs with attention: encoder blocks, cross-attention, and masks of every kind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf
import torch
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side, chainer

from .layers import AROUND_TF, loaded, t
from .subject import Clean, Forms, pairs_of

F = chainer.functions
STEPS, WIDTH, HEADS, HIDDEN = 6, 12, 3, 20
DEPTH = WIDTH // HEADS


def encoder_block(rng) -> Forms:
    """Attention and a GELU network, each after a LayerNorm and around it a residual."""
    joint, joint_bias = normal(rng, 3 * WIDTH, WIDTH, scale=0.3), normal(rng, 3 * WIDTH)
    out, out_bias = normal(rng, WIDTH, WIDTH, scale=0.3), normal(rng, WIDTH)
    up, up_bias = normal(rng, HIDDEN, WIDTH, scale=0.3), normal(rng, HIDDEN)
    down, down_bias = normal(rng, WIDTH, HIDDEN, scale=0.3), normal(rng, WIDTH)
    gains = [normal(rng, WIDTH) for _ in range(4)]
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True
    )
    arrays = (
        joint, joint_bias, out, out_bias, up, up_bias, down, down_bias,
        gains[0], gains[1], gains[2], gains[3],
    )  # fmt: skip

    def tensorflow_norm(x, gain, shift):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gain + shift

    def tensorflow_form(x):
        h = tensorflow_norm(x, *gains[:2])
        heads = tf.reshape(h @ joint.T + joint_bias, (-1, STEPS, 3, HEADS, DEPTH))
        query, key, value = tf.unstack(heads, axis=2)
        scores = tf.einsum("bqhd,bkhd->bhqk", query * DEPTH**-0.5, key)
        mixed = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), value)
        x = x + tf.reshape(mixed, (-1, STEPS, WIDTH)) @ out.T + out_bias
        h = tf.nn.gelu(tensorflow_norm(x, *gains[2:]) @ up.T + up_bias)
        return x + h @ down.T + down_bias

    def chainer_norm(x, gain, shift):
        flat = F.layer_normalization(F.reshape(x, (-1, WIDTH)), gain, shift, 1e-5)
        return F.reshape(flat, x.shape)

    def chainer_form(x):
        x = chainer.as_variable(x)
        h = F.linear(chainer_norm(x, *gains[:2]), joint, joint_bias, n_batch_axes=2)
        query, key, value = (
            F.transpose(F.reshape(part, (-1, STEPS, HEADS, DEPTH)), (0, 2, 1, 3))
            for part in F.split_axis(h, 3, 2)
        )
        scores = F.matmul(query, key, transb=True) / DEPTH**0.5
        mixed = F.transpose(F.matmul(F.softmax(scores, axis=3), value), (0, 2, 1, 3))
        mixed = F.reshape(mixed, (-1, STEPS, WIDTH))
        x = x + F.linear(mixed, out, out_bias, n_batch_axes=2)
        h = F.linear(chainer_norm(x, *gains[2:]), up, up_bias, n_batch_axes=2)
        h = 0.5 * h * (1 + F.erf(h / 2**0.5))
        return x + F.linear(h, down, down_bias, n_batch_axes=2)

    forms = {
        "torch": Side("torch", loaded(layer, *arrays)),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 3, STEPS, WIDTH),)


def causal_attention(rng) -> Forms:
    """Scores of later steps are -inf, float32's least, or -1e9: all are nothing after softmax."""
    lower = np.tril(np.ones((STEPS, STEPS), bool))

    def torch_form(q, k, v):
        return torch_f.scaled_dot_product_attention(q, k, v, is_causal=True)

    def torch_infinite(q, k, v):
        scores = (q @ k.transpose(1, 2) / DEPTH**0.5).masked_fill(~t(lower), -torch.inf)
        return scores.softmax(-1) @ v

    def tensorflow_billion(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True) / DEPTH**0.5
        return tf.nn.softmax(scores + (1 - lower.astype(np.float32)) * -1e9) @ v

    def tensorflow_least(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True) / DEPTH**0.5
        return tf.nn.softmax(tf.where(lower, scores, tf.float32.min)) @ v

    def chainer_billion(q, k, v):
        scores = F.matmul(q, k, transb=True) / DEPTH**0.5
        masked = F.where(
            np.broadcast_to(lower, scores.shape), scores, np.full(scores.shape, -1e9, np.float32)
        )
        return F.matmul(F.softmax(masked, axis=2), v)

    forms = {
        "torch": Side("torch", torch_form),
        "torch -inf": Side("torch", torch_infinite),
        "tensorflow -1e9": Side("tensorflow", tensorflow_billion),
        "tensorflow least": Side("tensorflow", tensorflow_least),
        "chainer -1e9": Side("chainer", chainer_billion),
    }
    return forms, tuple(normal(rng, 3, STEPS, DEPTH) for _ in range(3))


ACTIONS = 7
ALLOWED = np.array([True, False, True, True, False, True, True])


def masked_logits(rng) -> Forms:
    """Logits of actions of which some are not allowed, marked in four ways; an output as it is."""
    kernel = normal(rng, ACTIONS, 5)

    def torch_infinite(x):
        return (x @ t(kernel).T).masked_fill(~t(ALLOWED), -torch.inf)

    def torch_least(x):
        return torch.where(t(ALLOWED), x @ t(kernel).T, torch.finfo(torch.float32).min)

    def tensorflow_billion(x):
        return tf.where(ALLOWED, x @ kernel.T, -1e9)

    def tensorflow_added(x):
        return x @ kernel.T + (1 - ALLOWED.astype(np.float32)) * tf.float32.min

    def chainer_hundred_million(x):
        logits = F.linear(x, kernel)
        return F.where(
            np.broadcast_to(ALLOWED, logits.shape), logits, np.full(logits.shape, -1e8, np.float32)
        )

    forms = {
        "torch -inf": Side("torch", torch_infinite),
        "torch least": Side("torch", torch_least),
        "tensorflow -1e9": Side("tensorflow", tensorflow_billion),
        "tensorflow least added": Side("tensorflow", tensorflow_added),
        "chainer -1e8": Side("chainer", chainer_hundred_million),
    }
    return forms, (normal(rng, 4, 5),)


def masked_policy(rng) -> Forms:
    """Probabilities of the allowed actions, whatever the others' logits are filled with."""
    logits, _ = masked_logits(rng)

    def torch_form(x):
        return torch.softmax(logits["torch -inf"].model(x), 1)

    def tensorflow_form(x):
        return tf.nn.softmax(logits["tensorflow least added"].model(x))

    def chainer_form(x):
        return F.softmax(logits["chainer -1e8"].model(x), axis=1)

    forms = {
        "torch": Side("torch", torch_form),
        "tensorflow": Side("tensorflow", tensorflow_form),
        "chainer": Side("chainer", chainer_form),
    }
    return forms, (normal(rng, 4, 5),)


def pairs() -> Iterator[Clean]:
    yield from pairs_of("attention", encoder_block, *AROUND_TF)
    # Scores of 1e12 and more drown a mask of -1e9: there it is no longer the same computation.
    fit = tuple(
        style
        for style in ("normal", "uniform", "sparse", "scale 1e-6", "near-constant", "mean 100")
    ) + ("a constant example",)
    yield from pairs_of(
        "masks",
        causal_attention,
        ("torch", "tensorflow -1e9"),
        ("torch -inf", "tensorflow least"),
        ("tensorflow least", "chainer -1e9"),
        ("torch", "torch -inf"),
        styles=fit,
    )
    yield from pairs_of(
        "masks",
        masked_logits,
        ("torch -inf", "torch least"),
        ("torch -inf", "tensorflow -1e9"),
        ("torch least", "tensorflow least added"),
        ("tensorflow -1e9", "chainer -1e8"),
        ("torch -inf", "chainer -1e8"),
        styles=(*fit, "pixels 0..255"),
    )
    yield from pairs_of("masks", masked_policy, *AROUND_TF, styles=(*fit, "pixels 0..255"))
