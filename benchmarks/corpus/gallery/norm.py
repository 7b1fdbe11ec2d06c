"""Normalisation with another epsilon, other axes, other statistics, or without its affine part."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.gallery._between import F, L, built, convolved, dense, tensor, with_state
from benchmarks.corpus.gallery.entry import clean, fault, normal
from benchmarks.corpus.scenarios.pair import Pair, chainer

MIDDLE = ("middle", "middle")


def affine(random: np.random.Generator, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale (away from 0) and offset of each feature."""
    scale = random.uniform(0.5, 1.5, width).astype(np.float32)
    return scale, normal(random, width, scale=0.3)


def statistics(
    random: np.random.Generator, width: int, variance: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Running mean and variance, the latter about as large as stated."""
    mean = normal(random, width, scale=0.5 * variance**0.5)
    return mean, (variance * random.uniform(0.5, 1.5, width)).astype(np.float32)


def torch_batch_norm(
    scale: np.ndarray, offset: np.ndarray, mean: np.ndarray, variance: np.ndarray, eps: float = 1e-5
) -> nn.Module:
    module = nn.BatchNorm2d(len(scale), eps=eps)
    return with_state(module, weight=scale, bias=offset, running_mean=mean, running_var=variance)


def chainer_batch_norm(
    scale: np.ndarray, offset: np.ndarray, mean: np.ndarray, variance: np.ndarray, eps: float = 2e-5
) -> L.BatchNormalization:
    link = L.BatchNormalization(
        len(scale), eps=eps, initial_gamma=scale, initial_beta=offset, initial_avg_mean=mean,
        initial_avg_var=variance,
    )  # fmt: skip
    return link


def torch_layer_norm(scale: np.ndarray, offset: np.ndarray, eps: float = 1e-5) -> nn.Module:
    return with_state(nn.LayerNorm(len(scale), eps=eps), weight=scale, bias=offset)


@fault(
    "keras-default-batch-norm-epsilon",
    "norm-epsilon",
    family="norm",
    layers=[MIDDLE],
    parameters=[{"epsilon": (1e-5, 1e-3)}],
    source="gzuidhof/nn-transfer#3",
)
def keras_default_batch_norm_epsilon(random: np.random.Generator) -> Pair:
    between = convolved(random, scale=0.3)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width, 0.05)
    reference = torch_batch_norm(scale, offset, mean, variance)
    shape = (None, None, None, between.width)
    candidate = built(
        layers.BatchNormalization(name="middle"), shape, scale, offset, mean, variance
    )
    return between.pair("torch", reference, "keras", candidate)


@fault(
    "batch-norm-epsilon-twice",
    "norm-epsilon",
    family="norm",
    layers=[("middle", "")],
    parameters=[{"epsilon": (0.02, 0.04)}],
    source="chainer/chainer#4505",
)
def batch_norm_epsilon_twice(random: np.random.Generator) -> Pair:
    """The running variance already holds the epsilon."""
    between = convolved(random)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width)
    reference = chainer_batch_norm(scale, offset, mean, variance, 0.02)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        inverse = tf.math.rsqrt(variance + 0.02 + 0.02)
        return (x - mean) * inverse * scale + offset  # batch-norm-epsilon-twice: candidate

    return between.pair("chainer", reference, "tensorflow", candidate)


@fault(
    "fixed-batch-norm-epsilon",
    "norm-epsilon",
    family="norm",
    parameters=[{"epsilon": (1e-3, 2e-5)}],
)
def fixed_batch_norm_epsilon(random: np.random.Generator) -> Pair:
    between = convolved(random, scale=0.3)
    weights = affine(random, between.width)
    mean, variance = statistics(random, between.width, 0.05)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.batch_normalization(  # fixed-batch-norm-epsilon: reference
            x, mean, variance, *weights[::-1], 1e-3
        )

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.fixed_batch_normalization(  # fixed-batch-norm-epsilon: candidate
            x, *weights, mean, variance
        )

    return between.pair("tensorflow", reference, "chainer", candidate)


@fault(
    "bert-layer-norm-epsilon",
    "norm-epsilon",
    family="norm",
    layers=[MIDDLE],
    parameters=[{"epsilon": (1e-12, 1e-5)}],
    source="keras-team/keras-hub#642",
)
def bert_layer_norm_epsilon(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True, scale=0.02)
    scale, offset = affine(random, between.width)
    candidate = layers.LayerNormalization(epsilon=1e-5, name="middle")
    candidate = built(candidate, (None, None, between.width), scale, offset)
    return between.pair("torch", torch_layer_norm(scale, offset, 1e-12), "keras", candidate)


@fault(
    "chainer-norm-epsilon",
    "norm-epsilon",
    family="norm",
    layers=[("", "middle")],
    parameters=[{"epsilon": (1e-3, 1e-6)}],
)
def chainer_norm_epsilon(random: np.random.Generator) -> Pair:
    between = dense(random, scale=0.2)
    scale, offset = affine(random, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)  # chainer-norm-epsilon: reference
        inverse = tf.math.rsqrt(variance + 1e-3)  # chainer-norm-epsilon: reference
        return (x - mean) * inverse * scale + offset

    candidate = L.LayerNormalization(between.width, eps=1e-6)
    candidate.gamma.array[...], candidate.beta.array[...] = scale, offset
    return between.pair("tensorflow", reference, "chainer", candidate)


@fault(
    "llama-rms-norm-epsilon",
    "norm-epsilon",
    family="norm",
    parameters=[{"epsilon": (1e-6, 1e-5)}],
    source="huggingface/candle#271",
)
def llama_rms_norm_epsilon(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True, scale=0.02)
    scale, _ = affine(random, between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        square = x.pow(2).mean(-1, keepdim=True)
        inverse = torch.rsqrt(square + 1e-6)  # llama-rms-norm-epsilon: reference
        return tensor(scale) * (x * inverse)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        square = tf.reduce_mean(x * x, -1, keepdims=True)
        inverse = tf.math.rsqrt(square + 1e-5)  # llama-rms-norm-epsilon: candidate
        return x * inverse * scale

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "keras-default-group-norm-epsilon",
    "norm-epsilon",
    family="norm",
    layers=[MIDDLE],
    parameters=[{"epsilon": (1e-5, 1e-3)}],
    source="tensorflow/swift-apis#747",
)
def keras_default_group_norm_epsilon(random: np.random.Generator) -> Pair:
    between = convolved(random, scale=0.1, even=True)
    scale, offset = affine(random, between.width)
    reference = with_state(nn.GroupNorm(2, between.width), weight=scale, bias=offset)
    candidate = layers.GroupNormalization(2, name="middle")
    candidate = built(candidate, (None, None, None, between.width), scale, offset)
    return between.pair("torch", reference, "keras", candidate)


@fault("layer-epsilon-outside", "norm-epsilon-placement", family="norm")
def layer_epsilon_outside(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True, scale=0.3)
    scale, offset = affine(random, between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.layer_norm(  # layer-epsilon-outside: reference
            x, x.shape[-1:], tensor(scale), tensor(offset), 1e-3
        )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)  # layer-epsilon-outside: candidate
        divisor = tf.sqrt(variance) + 1e-3  # layer-epsilon-outside: candidate
        return scale * (x - mean) / divisor + offset

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("rms-norm-epsilon-outside", "norm-epsilon-placement", family="norm")
def rms_norm_epsilon_outside(random: np.random.Generator) -> Pair:
    between = dense(random, scale=0.3)
    scale, _ = affine(random, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        square = tf.reduce_mean(tf.square(x), -1, keepdims=True)
        rms = tf.sqrt(square + 0.01)  # rms-norm-epsilon-outside: reference
        return x / rms * scale

    def candidate(x: torch.Tensor) -> torch.Tensor:
        square = x.square().mean(-1, keepdim=True)
        rms = square.sqrt() + 0.01  # rms-norm-epsilon-outside: candidate
        return x / rms * tensor(scale)

    return between.pair("tensorflow", reference, "torch", candidate)


@fault(
    "batch-norm-epsilon-outside", "norm-epsilon-placement", family="norm", layers=[("middle", "")]
)
def batch_norm_epsilon_outside(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width, 0.2)
    reference = torch_batch_norm(scale, offset, mean, variance, 0.01)
    scale, offset, mean, variance = (a[:, None, None] for a in (scale, offset, mean, variance))

    def candidate(x: chainer.Variable) -> chainer.Variable:
        divisor = np.sqrt(variance) + np.float32(0.01)
        standard = (x - mean) / divisor  # batch-norm-epsilon-outside: candidate
        return F.broadcast_to(F.scale(standard, scale[:, 0, 0]), x.shape) + offset

    return between.pair("torch", reference, "chainer", candidate)


@fault("unit-vectors-epsilon", "norm-epsilon-placement", family="norm")
def unit_vectors_epsilon(random: np.random.Generator) -> Pair:
    """One divides by the norm, at least epsilon; the other by the norm and epsilon."""
    between = dense(random, scale=0.1)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.normalize(x, eps=1e-3)  # unit-vectors-epsilon: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.normalize(x, eps=1e-3)  # unit-vectors-epsilon: candidate

    return between.pair("torch", reference, "chainer", candidate)


@fault(
    "layer-norm-over-steps",
    "norm-axis",
    family="norm",
    parameters=[{"axis": (-1, 1)}],
)
def layer_norm_over_steps(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    scale, offset = affine(random, between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.layer_norm(  # layer-norm-over-steps: reference
            x, x.shape[-1:], tensor(scale), tensor(offset)
        )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [1], keepdims=True)  # layer-norm-over-steps: candidate
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "keras-layer-norm-axis",
    "norm-axis",
    family="norm",
    layers=[("", "middle")],
    parameters=[{"axis": (-1, 1)}],
)
def keras_layer_norm_axis(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)

    def reference(x: chainer.Variable) -> chainer.Variable:
        flat = F.reshape(x, (-1, x.shape[-1]))
        ones = np.ones(x.shape[-1], np.float32)
        standard = F.layer_normalization(  # keras-layer-norm-axis: reference
            flat, ones, 0 * ones, eps=1e-3
        )
        return F.reshape(standard, x.shape)

    steps = between.inputs.shape[1]
    candidate = layers.LayerNormalization(axis=1, center=False, scale=False, name="middle")
    candidate.build((None, steps, between.width))
    return between.pair("chainer", reference, "keras", candidate)


@fault("instance-not-layer", "norm-axis", family="norm", layers=[("middle", "")])
def instance_not_layer(random: np.random.Generator) -> Pair:
    """Each channel alone, in place of all of an image."""
    between = convolved(random)
    scale, offset = affine(random, between.width)
    reference = with_state(nn.GroupNorm(1, between.width), weight=scale, bias=offset)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)  # instance-not-layer: candidate
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "unit-vectors-axis",
    "norm-axis",
    family="norm",
    parameters=[{"axis": (-1, 0)}],
    source="PINTO0309/onnx2tf#368",
)
def unit_vectors_axis(random: np.random.Generator) -> Pair:
    between = dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)  # unit-vectors-axis: reference
        return x / length

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.math.l2_normalize(x, axis=0)  # unit-vectors-axis: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "keras-batch-norm-in-training",
    "norm-batch-statistics",
    family="norm",
    layers=[("middle", "")],
    source="Cadene/pretrained-models.pytorch#5",
)
def keras_batch_norm_in_training(random: np.random.Generator) -> Pair:
    between = convolved(random)
    weights = *affine(random, between.width), *statistics(random, between.width)
    normalise = layers.BatchNormalization(epsilon=1e-5, name="norm")
    normalise = built(normalise, (None, None, None, between.width), *weights)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return normalise(x, training=True)  # keras-batch-norm-in-training: candidate

    return between.pair("torch", torch_batch_norm(*weights), "keras", candidate)


@fault("torch-batch-statistics", "norm-batch-statistics", family="norm")
def torch_batch_statistics(random: np.random.Generator) -> Pair:
    between = dense(random)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.batch_normalization(  # torch-batch-statistics: reference
            x, mean, variance, offset, scale, 1e-5
        )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        running = tensor(mean.copy()), tensor(variance.copy())
        return torch_f.batch_norm(  # torch-batch-statistics: candidate
            x, *running, tensor(scale), tensor(offset), training=True
        )

    return between.pair("tensorflow", reference, "torch", candidate)


@fault("chainer-batch-statistics", "norm-batch-statistics", family="norm", layers=[("middle", "")])
def chainer_batch_statistics(random: np.random.Generator) -> Pair:
    between = convolved(random)
    weights = affine(random, between.width)
    moments = statistics(random, between.width)
    reference = torch_batch_norm(*weights, *moments, 2e-5)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.batch_normalization(x, *weights)  # chainer-batch-statistics: candidate

    return between.pair("torch", reference, "chainer", candidate)


@fault(
    "fixed-gamma",
    "norm-affine-missing",
    family="norm",
    layers=[MIDDLE],
    source="apache/mxnet#15717",
)
def fixed_gamma(random: np.random.Generator) -> Pair:
    """The scale is taken for 1."""
    between = convolved(random)
    scale, offset = affine(random, between.width)
    moments = statistics(random, between.width)
    candidate = layers.BatchNormalization(epsilon=1e-5, scale=False, name="middle")
    candidate = built(candidate, (None, None, None, between.width), offset, *moments)
    return between.pair("torch", torch_batch_norm(scale, offset, *moments), "keras", candidate)


@fault("layer-norm-without-affine", "norm-affine-missing", family="norm", layers=[("", "last")])
def layer_norm_without_affine(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    scale, offset = affine(random, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        standard = (x - mean) * tf.math.rsqrt(variance + 1e-5)
        return standard * scale + offset  # layer-norm-without-affine: reference

    candidate = nn.LayerNorm(between.width, elementwise_affine=False)
    return between.pair("tensorflow", reference, "torch", candidate)


@fault("chainer-without-beta", "norm-affine-missing", family="norm", layers=[MIDDLE])
def chainer_without_beta(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width)
    candidate = L.BatchNormalization(
        between.width, eps=1e-5, initial_gamma=scale, use_beta=False, initial_avg_mean=mean,
        initial_avg_var=variance,
    )  # fmt: skip
    reference = torch_batch_norm(scale, offset, mean, variance)
    return between.pair("torch", reference, "chainer", candidate)


@fault(
    "standard-deviation-unbiased",
    "variance-ddof",
    family="norm",
    parameters=[{"ddof": (0, 1)}],
    source="tensorflow/tensorflow#43324",
)
def standard_deviation_unbiased(random: np.random.Generator) -> Pair:
    between = dense(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        spread = tf.math.reduce_std(  # standard-deviation-unbiased: reference
            x, -1, keepdims=True
        )
        return (x - tf.reduce_mean(x, -1, keepdims=True)) / (spread + 1e-5)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        spread = x.std(-1, keepdim=True)  # standard-deviation-unbiased: candidate
        return (x - x.mean(-1, keepdim=True)) / (spread + 1e-5)

    return between.pair("tensorflow", reference, "torch", candidate)


@fault(
    "annotated-layer-norm",
    "variance-ddof",
    family="norm",
    layers=[("middle", "")],
    parameters=[{"ddof": (0, 1)}],
)
def annotated_layer_norm(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    scale, offset = affine(random, between.width)
    reference = layers.LayerNormalization(epsilon=1e-5, name="middle")
    reference = built(reference, (None, None, between.width), scale, offset)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True)  # annotated-layer-norm: candidate
        return tensor(scale) * (x - mean) / torch.sqrt(variance + 1e-5) + tensor(offset)

    return between.pair("keras", reference, "torch", candidate)


@fault("advantages-sample-deviation", "variance-ddof", family="norm", parameters=[{"ddof": (1, 0)}])
def advantages_sample_deviation(random: np.random.Generator) -> Pair:
    """Advantages standardised over the batch."""
    between = dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / (x.std(0) + 1e-8)  # advantages-sample-deviation: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        centred = x - F.broadcast_to(F.mean(x, axis=0), x.shape)
        spread = F.sqrt(F.mean(centred**2, axis=0))  # advantages-sample-deviation: candidate
        return centred / F.broadcast_to(spread + np.float32(1e-8), x.shape)

    return between.pair("torch", reference, "chainer", candidate)


@fault(
    "gemma-norm-without-one",
    "rmsnorm-offset",
    family="norm",
    source="huggingface/transformers#29402",
)
def gemma_norm_without_one(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    weight = normal(random, between.width, scale=0.3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        standard = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return standard * (1 + tensor(weight))  # gemma-norm-without-one: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        standard = x * tf.math.rsqrt(tf.reduce_mean(x**2, -1, keepdims=True) + 1e-6)
        return standard * weight  # gemma-norm-without-one: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "gemma-norm-with-two",
    "rmsnorm-offset",
    family="norm",
    layers=[("middle", "")],
    source="utensils/mold#1078",
)
def gemma_norm_with_two(random: np.random.Generator) -> Pair:
    """The stored weights hold the 1 already."""
    between = dense(random, steps=True)
    weight = 1 + normal(random, between.width, scale=0.3)
    reference = built(
        layers.RMSNormalization(epsilon=1e-6, name="middle"), (None, None, between.width), weight
    )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch_f.rms_norm(  # gemma-norm-with-two: candidate
            x, x.shape[-1:], 1 + tensor(weight), 1e-6
        )

    return between.pair("keras", reference, "torch", candidate)


@fault("chainer-norm-with-one", "rmsnorm-offset", family="norm", layers=[("middle", "")])
def chainer_norm_with_one(random: np.random.Generator) -> Pair:
    between = dense(random)
    weight = affine(random, between.width)[0]
    reference = with_state(nn.RMSNorm(between.width, eps=1e-6), weight=weight)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        size = F.sqrt(F.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
        standard = x / F.broadcast_to(size, x.shape)
        return F.scale(standard, weight + 1)  # chainer-norm-with-one: candidate

    return between.pair("torch", reference, "chainer", candidate)


@fault("lrn-alpha-not-divided", "lrn-parameters", family="norm", source="MarcBS/keras#4")
def lrn_alpha_not_divided(random: np.random.Generator) -> Pair:
    """Torch divides alpha by the size of the window; TensorFlow does not."""
    between = convolved(random, even=True)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.local_response_norm(x, 3, alpha=0.1)  # lrn-alpha-not-divided: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.lrn(x, 1, alpha=0.1, beta=0.75)  # lrn-alpha-not-divided: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("lrn-bias", "lrn-parameters", family="norm", layers=[("middle", "")])
def lrn_bias(random: np.random.Generator) -> Pair:
    """Chainer adds 2 by default, torch 1; Chainer does not divide alpha."""
    between = convolved(random, even=True)
    reference = nn.LocalResponseNorm(5, alpha=0.05)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.local_response_normalization(x, n=5, alpha=0.01)  # lrn-bias: candidate

    return between.pair("torch", reference, "chainer", candidate)


@fault("lrn-radius", "lrn-parameters", family="norm")
def lrn_radius(random: np.random.Generator) -> Pair:
    """A window of 3 channels taken for 3 channels on each side."""
    between = convolved(random, even=True)

    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.local_response_normalization(x, n=3, k=1, alpha=0.2)  # lrn-radius: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.lrn(x, 3, alpha=0.2, beta=0.75)  # lrn-radius: candidate

    return between.pair("chainer", reference, "tensorflow", candidate)


@fault(
    "two-norms",
    "norm-epsilon",
    "rmsnorm-offset",
    family="norm",
    parameters=[{"epsilon": (1e-6, 1e-3)}],
)
def two_norms(random: np.random.Generator) -> Pair:
    between = dense(random, scale=0.3)
    scale, offset = affine(random, between.width)
    weight = normal(random, between.width, scale=0.3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        y = torch_f.layer_norm(  # two-norms: reference
            x, x.shape[-1:], tensor(scale), tensor(offset), 1e-6
        )
        y = torch_f.softplus(y)
        standard = y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6)
        return standard * (1 + tensor(weight))  # two-norms 2: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)  # two-norms: candidate
        y = tf.nn.batch_normalization(  # two-norms: candidate
            x, mean, variance, offset, scale, 1e-3
        )
        y = tf.nn.softplus(y)
        standard = y * tf.math.rsqrt(tf.reduce_mean(y * y, -1, keepdims=True) + 1e-6)
        return standard * weight  # two-norms 2: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("batch-norm-folded-into-a-scale", family="norm")
def batch_norm_folded_into_a_scale(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale, offset = affine(random, between.width)
    mean, variance = statistics(random, between.width, 0.05)
    factor = scale / np.sqrt(variance + np.float32(1e-5))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return x * factor + (offset - mean * factor)

    reference = torch_batch_norm(scale, offset, mean, variance)
    return between.pair("torch", reference, "tensorflow", candidate)


@clean("batch-norms-of-torch-and-keras", family="norm")
def batch_norms_of_torch_and_keras(random: np.random.Generator) -> Pair:
    between = convolved(random, scale=0.3)
    weights = *affine(random, between.width), *statistics(random, between.width, 0.05)
    candidate = layers.BatchNormalization(epsilon=1e-5, name="middle")
    candidate = built(candidate, (None, None, None, between.width), *weights)
    return between.pair("torch", torch_batch_norm(*weights), "keras", candidate)


@clean("batch-norm-without-its-unit-scale", family="norm")
def batch_norm_without_its_unit_scale(random: np.random.Generator) -> Pair:
    """Keras leaves out a scale that is 1 in Chainer."""
    between = convolved(random)
    _, offset = affine(random, between.width)
    moments = statistics(random, between.width)
    reference = chainer_batch_norm(np.ones_like(offset), offset, *moments, 1e-3)
    candidate = layers.BatchNormalization(scale=False, name="middle")
    candidate = built(candidate, (None, None, None, between.width), offset, *moments)
    return between.pair("chainer", reference, "keras", candidate)


@clean("layer-norm-by-its-moments", family="norm")
def layer_norm_by_its_moments(random: np.random.Generator) -> Pair:
    """The variance as the mean square less the squared mean."""
    between = dense(random, steps=True)
    scale, offset = affine(random, between.width)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(x * x, -1, keepdims=True) - mean * mean
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)

    return between.pair("torch", torch_layer_norm(scale, offset), "tensorflow", candidate)


@clean("group-norm-by-reshape", family="norm")
def group_norm_by_reshape(random: np.random.Generator) -> Pair:
    between = convolved(random, even=True)
    scale, offset = affine(random, between.width)
    reference = with_state(nn.GroupNorm(2, between.width), weight=scale, bias=offset)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        groups = tf.reshape(x, (*x.shape[:3], 2, -1))
        mean, variance = tf.nn.moments(groups, [1, 2, 4], keepdims=True)
        standard = (groups - mean) * tf.math.rsqrt(variance + 1e-5)
        return tf.reshape(standard, x.shape) * scale + offset

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("instance-norm-as-group-norm", family="norm")
def instance_norm_as_group_norm(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale, offset = affine(random, between.width)

    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.group_normalization(x, between.width, scale, offset)

    module = nn.InstanceNorm2d(between.width, affine=True)
    return between.pair(
        "chainer", reference, "torch", with_state(module, weight=scale, bias=offset)
    )


@clean("rms-norm-epsilon-times-width", family="norm")
def rms_norm_epsilon_times_width(random: np.random.Generator) -> Pair:
    """A sum in place of the mean takes an epsilon as many times larger."""
    between = dense(random, scale=0.1)
    weight, width = affine(random, between.width)[0], between.width

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch_f.rms_norm(x, x.shape[-1:], tensor(weight), 1e-3)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        inverse = tf.math.rsqrt(tf.reduce_sum(x * x, -1, keepdims=True) + width * 1e-3)
        return x * inverse * (weight * np.float32(width**0.5))

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("rms-norm-with-converted-offset", family="norm", source="linkedin/Liger-Kernel#85")
def rms_norm_with_converted_offset(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    weight = normal(random, between.width, scale=0.3)
    reference = layers.RMSNormalization(epsilon=1e-6, name="middle")
    reference = built(reference, (None, None, between.width), 1 + weight)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch_f.rms_norm(x, x.shape[-1:], None, 1e-6) * (1 + tensor(weight))

    return between.pair("keras", reference, "torch", candidate)


@clean("unbiased-variance-corrected", family="norm")
def unbiased_variance_corrected(random: np.random.Generator) -> Pair:
    between = dense(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        variance = x.var(-1, keepdim=True) * ((x.shape[-1] - 1) / x.shape[-1])
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + 1e-5)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        ones = np.ones(x.shape[-1], np.float32)
        return F.layer_normalization(x, ones, 0 * ones, eps=1e-5)

    return between.pair("torch", reference, "chainer", candidate)


@clean("lrn-alpha-divided", family="norm", source="ethereon/caffe-tensorflow#173")
def lrn_alpha_divided(random: np.random.Generator) -> Pair:
    between = convolved(random, even=True)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.lrn(x, depth_radius=2, bias=1.0, alpha=0.1 / 5, beta=0.75)

    reference = nn.LocalResponseNorm(5, alpha=0.1)
    return between.pair("torch", reference, "tensorflow", candidate)


@clean("unit-vectors-with-a-tiny-epsilon", family="norm")
def unit_vectors_with_a_tiny_epsilon(random: np.random.Generator) -> Pair:
    """Epsilon added, or the least divisor: no matter where nothing is near zero."""
    between = dense(random)

    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.normalize(x, eps=1e-12)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.math.l2_normalize(x, axis=-1)

    return between.pair("chainer", reference, "tensorflow", candidate)


@clean("layer-norm-of-transposed-steps", family="norm")
def layer_norm_of_transposed_steps(random: np.random.Generator) -> Pair:
    """The features stand first where they are normalised."""
    between = dense(random, steps=True)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        turned = tf.transpose(x, (2, 0, 1))
        mean, variance = tf.nn.moments(turned, [0], keepdims=True)
        return tf.transpose((turned - mean) / tf.sqrt(variance + 1e-5), (1, 2, 0))

    reference = nn.LayerNorm(between.width, elementwise_affine=False)
    return between.pair("torch", reference, "tensorflow", candidate)


@clean("layer-norm-of-images", family="norm")
def layer_norm_of_images(random: np.random.Generator) -> Pair:
    between = convolved(random)
    scale, offset = affine(random, between.width)
    reference = with_state(nn.GroupNorm(1, between.width), weight=scale, bias=offset)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        mean = tf.reduce_mean(x, [1, 2, 3], keepdims=True)
        centred = x - mean
        variance = tf.reduce_mean(tf.square(centred), [1, 2, 3], keepdims=True)
        return centred / tf.sqrt(variance + 1e-5) * scale + offset

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("layer-norm-of-centred-features", family="norm")
def layer_norm_of_centred_features(random: np.random.Generator) -> Pair:
    """What a layer norm takes is centred before: it makes no difference."""
    between = dense(random, steps=True)
    scale, offset = affine(random, between.width)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return torch_f.layer_norm(centred, x.shape[-1:], tensor(scale), tensor(offset), 1e-3)

    reference = layers.LayerNormalization(name="middle")
    reference = built(reference, (None, None, between.width), scale, offset)
    return between.pair("keras", reference, "torch", candidate)


@clean("batch-norms-by-batch-statistics", family="norm")
def batch_norms_by_batch_statistics(random: np.random.Generator) -> Pair:
    between = dense(random)
    weights = affine(random, between.width)

    def reference(x: chainer.Variable) -> chainer.Variable:
        return F.batch_normalization(x, *weights)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        scale, offset = map(tensor, weights)
        return torch_f.batch_norm(x, None, None, scale, offset, training=True, eps=2e-5)

    return between.pair("chainer", reference, "torch", candidate)


@fault("rms-norm-for-layer-norm", "norm-not-centered", family="norm")
def rms_norm_for_layer_norm(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    scale, _ = affine(random, between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        size = x.shape[-1:]
        return torch_f.layer_norm(x, size, tensor(scale))  # rms-norm-for-layer-norm: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        square = tf.reduce_mean(x * x, -1, keepdims=True)  # rms-norm-for-layer-norm: candidate
        return x * tf.math.rsqrt(square + 1e-5) * scale

    return between.pair("torch", reference, "tensorflow", candidate)
