"""Attention with another scale, other masks or none, or positions counted otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch.nn import functional as torch_f

from benchmarks.corpus.gallery._between import Between, F, L, built, dense, tensor
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, chainer


@dataclass(frozen=True)
class Heads:
    """Kernels of query, key, value, (width, heads, depth), and of the output."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray

    @property
    def depth(self) -> int:
        return self.query.shape[2]

    def torch(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Query, key, value: (batch, heads, steps, depth)."""
        kernels = self.query, self.key, self.value
        return [torch.einsum("btw,whd->bhtd", x, tensor(kernel)) for kernel in kernels]

    def tensorflow(self, x: tf.Tensor) -> list[tf.Tensor]:
        kernels = self.query, self.key, self.value
        return [tf.einsum("btw,whd->bhtd", x, kernel) for kernel in kernels]

    def chainer(self, x: chainer.Variable) -> list[chainer.Variable]:
        kernels = self.query, self.key, self.value
        return [F.einsum("btw,whd->bhtd", x, kernel) for kernel in kernels]

    def joined(self, p: Any, value: Any) -> Any:
        """What the heads saw, through the output's kernel: (batch, steps, width)."""
        if isinstance(p, torch.Tensor):
            return torch.einsum("bhtd,hdw->btw", p @ value, tensor(self.output))
        if isinstance(p, tf.Tensor):
            return tf.einsum("bhtd,hdw->btw", p @ value, self.output)
        return F.einsum("bhtd,hdw->btw", F.matmul(p, value), self.output)

    def keras(self, width: int) -> layers.MultiHeadAttention:
        """The layer with these kernels, for inputs of this width."""
        layer = layers.MultiHeadAttention(
            self.query.shape[1], self.depth, use_bias=False, name="attention"
        )
        shape = (None, None, width)
        layer.build(shape, shape)
        layer.set_weights([self.query, self.key, self.value, self.output])
        return layer


def attention(random: np.random.Generator) -> tuple[Between, Heads]:
    """Self-attention between two dense layers."""
    between = dense(random, steps=True)
    heads, depth = [size for size in sizes(random, 3, 2, 5) if size != between.width][:2]
    kernels = (normal(random, between.width, heads, depth, scale=0.6) for _ in range(3))
    return between, Heads(*kernels, normal(random, heads, depth, between.width, scale=0.4))


def valid_steps(random: np.random.Generator, between: Between) -> np.ndarray:
    """Which steps hold something, (batch, steps): sequences end early, but for the first."""
    batch, steps = between.inputs.shape[:2]
    lengths = random.integers(2, steps, batch)
    lengths[0] = steps
    return np.arange(steps) < lengths[:, None]


def earlier_steps(between: Between) -> np.ndarray:
    """Which steps a step may see: itself and those before, (steps, steps)."""
    steps = between.inputs.shape[1]
    return np.tril(np.ones((steps, steps), bool))


@fault("scale-missing", "attention-scale", family="attention")
def scale_missing(random: np.random.Generator) -> Pair:
    between, heads = attention(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5  # scale-missing: reference
        return heads.joined(scores.softmax(-1), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))  # scale-missing: candidate
        return heads.joined(p, v)

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("scale-of-the-width", "attention-scale", family="attention")
def scale_of_the_width(random: np.random.Generator) -> Pair:
    """By the model's width in place of one head's depth."""
    between, heads = attention(random)
    layer = heads.keras(between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x, x)  # scale-of-the-width: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / x.shape[-1] ** 0.5  # scale-of-the-width: candidate
        return heads.joined(scores.softmax(-1), v)

    return between.pair("keras", reference, "torch", candidate)


@fault("scale-twice", "attention-scale", family="attention")
def scale_twice(random: np.random.Generator) -> Pair:
    """The query is scaled, and then torch's function scales as well."""
    between, heads = attention(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        q = q * heads.depth**-0.5
        scores = tf.matmul(q, k, transpose_b=True)  # scale-twice: reference
        return heads.joined(tf.nn.softmax(scores), v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        q = q * heads.depth**-0.5
        seen = torch_f.scaled_dot_product_attention(q, k, v)  # scale-twice: candidate
        return torch.einsum("bhtd,hdw->btw", seen, tensor(heads.output))

    return between.pair("tensorflow", reference, "torch", candidate)


@fault("scale-without-root", "attention-scale", family="attention")
def scale_without_root(random: np.random.Generator) -> Pair:
    between, heads = attention(random)

    def reference(x: chainer.Variable) -> chainer.Variable:
        q, k, v = heads.chainer(x)
        scores = F.matmul(q, k, transb=True) * heads.depth**-0.5  # scale-without-root: reference
        return heads.joined(F.softmax(scores, axis=3), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth  # scale-without-root: candidate
        return heads.joined(tf.nn.softmax(scores), v)

    return between.pair("chainer", reference, "tensorflow", candidate)


@fault(
    "mask-of-tiny-numbers",
    "attention-mask-value",
    family="attention",
    source="awslabs/gluonts#1401",
)
def mask_of_tiny_numbers(random: np.random.Generator) -> Pair:
    """Adds 1e-9 in place of -1e9."""
    between, heads = attention(random)
    hidden = 1 - earlier_steps(between).astype(np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) * heads.depth**-0.5
        masked = scores + hidden * -1e9  # mask-of-tiny-numbers: reference
        return heads.joined(tf.nn.softmax(masked), v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        masked = scores + tensor(hidden) * 1e-9  # mask-of-tiny-numbers: candidate
        p = masked.softmax(-1)  # mask-of-tiny-numbers: candidate
        return heads.joined(p, v)

    return between.pair("tensorflow", reference, "torch", candidate)


@fault(
    "mask-of-ten-thousand",
    "attention-mask-value",
    family="attention",
    source="NVIDIA/TransformerEngine#1268",
)
def mask_of_ten_thousand(random: np.random.Generator) -> Pair:
    """A row with nothing to see: filled with the least number, or 10000 taken off its scores."""
    between, heads = attention(random)
    seen = earlier_steps(between)
    seen[0] = False

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        least = torch.finfo(torch.float32).min
        masked = scores.masked_fill(tensor(~seen), least)  # mask-of-ten-thousand: reference
        return heads.joined(masked.softmax(-1), v)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        q, k, v = heads.chainer(x)
        scores = F.matmul(q, k, transb=True) * heads.depth**-0.5
        off = np.broadcast_to(np.where(seen, 0, -10000).astype(np.float32), scores.shape)
        masked = scores + off  # mask-of-ten-thousand: candidate
        return heads.joined(F.softmax(masked, axis=3), v)

    return between.pair("torch", reference, "chainer", candidate)


@fault("mask-sees-the-next-step", "mask-shift", family="attention")
def mask_sees_the_next_step(random: np.random.Generator) -> Pair:
    """`triu` with a diagonal of 1 hides what comes later; of 2 it shows one step of it."""
    between, heads = attention(random)
    steps = between.inputs.shape[1]

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        masked = scores.masked_fill(later, -torch.inf)  # mask-sees-the-next-step: reference
        return heads.joined(masked.softmax(-1), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) * heads.depth**-0.5
        seen = tf.constant(np.tri(steps, k=1, dtype=bool))
        masked = tf.where(seen, scores, -1e9)  # mask-sees-the-next-step: candidate
        p = tf.nn.softmax(masked)  # mask-sees-the-next-step: candidate
        return heads.joined(p, v)

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("mask-hides-the-step-itself", "mask-shift", family="attention")
def mask_hides_the_step_itself(random: np.random.Generator) -> Pair:
    """The first step, which is to see nothing then, sees all."""
    between, heads = attention(random)
    seen = earlier_steps(between)
    hidden = 1 - np.tri(len(seen), k=-1, dtype=np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) * heads.depth**-0.5
        masked = tf.where(seen, scores, -1e9)  # mask-hides-the-step-itself: reference
        p = tf.nn.softmax(masked)  # mask-hides-the-step-itself: reference
        return heads.joined(p, v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        masked = scores - 1e9 * tensor(hidden)  # mask-hides-the-step-itself: candidate
        p = masked.softmax(-1)  # mask-hides-the-step-itself: candidate
        return heads.joined(p, v)

    return between.pair("tensorflow", reference, "torch", candidate)


@fault("mask-as-a-product", "attention-mask-value", family="attention")
def mask_as_a_product(random: np.random.Generator) -> Pair:
    """Hidden scores become 0, which is a score like any other."""
    between, heads = attention(random)
    layer, seen = heads.keras(between.width), valid_steps(random, between)

    def reference(x: tf.Tensor) -> tf.Tensor:
        mask = tf.constant(seen[:, None, :])
        return layer(x, x, attention_mask=mask)  # mask-as-a-product: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        masked = scores * tensor(seen)[:, None, None]  # mask-as-a-product: candidate
        return heads.joined(masked.softmax(-1), v)

    return between.pair("keras", reference, "torch", candidate)


@fault("causal-mask-missing", "attention-mask-missing", family="attention")
def causal_mask_missing(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    layer = heads.keras(between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        seen = torch_f.scaled_dot_product_attention(  # causal-mask-missing: reference
            q, k, v, is_causal=True
        )
        return torch.einsum("bhtd,hdw->btw", seen, tensor(heads.output))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return layer(x, x)  # causal-mask-missing: candidate

    return between.pair("torch", reference, "keras", candidate)


@fault("padding-mask-missing", "attention-mask-missing", family="attention")
def padding_mask_missing(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    seen = valid_steps(random, between)[:, None, None]

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth**0.5
        masked = tf.where(seen, scores, -np.inf)  # padding-mask-missing: reference
        return heads.joined(tf.nn.softmax(masked), v)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        q, k, v = heads.chainer(x)
        scores = F.matmul(q, k, transb=True) / heads.depth**0.5
        p = F.softmax(scores, axis=3)  # padding-mask-missing: candidate
        return heads.joined(p, v)

    return between.pair("tensorflow", reference, "chainer", candidate)


@fault("keras-causal-mask-lost", "attention-mask-missing", family="attention")
def keras_causal_mask_lost(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    layer = heads.keras(between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x, x, use_causal_mask=True)  # keras-causal-mask-lost: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        p = torch.softmax(q @ k.mT / heads.depth**0.5, -1)  # keras-causal-mask-lost: candidate
        return heads.joined(p, v)

    return between.pair("keras", reference, "torch", candidate)


@fault("pooled-over-the-padding", "attention-mask-missing", family="attention")
def pooled_over_the_padding(random: np.random.Generator) -> Pair:
    """One learned query sums up a sequence."""
    between = dense(random, steps=True)
    query, seen = normal(random, between.width), valid_steps(random, between)

    def reference(x: chainer.Variable) -> chainer.Variable:
        scores = F.einsum("btw,w->bt", x, query)
        least = np.full(seen.shape, -1e9, np.float32)
        masked = F.where(seen, scores, least)  # pooled-over-the-padding: reference
        return F.einsum("bt,btw->bw", F.softmax(masked), x)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        scores = x @ tensor(query)
        p = scores.softmax(1)  # pooled-over-the-padding: candidate
        return torch.einsum("bt,btw->bw", p, x)

    return between.pair("chainer", reference, "torch", candidate)


def left_padded(random: np.random.Generator, between: Between) -> np.ndarray:
    """Positions of left-padded sequences, (batch, steps); what is before them is at 0."""
    seen = valid_steps(random, between)[:, ::-1]
    return np.maximum(seen.cumsum(1) - 1, 0)


@fault(
    "positions-of-the-padding",
    "position-ids",
    family="attention",
    source="huggingface/transformers#30053",
)
def positions_of_the_padding(random: np.random.Generator) -> Pair:
    """Positions count the padding on the left."""
    between = dense(random, steps=True)
    steps = between.inputs.shape[1]
    table, ids = normal(random, steps, between.width), left_padded(random, between)

    def reference(x: torch.Tensor) -> torch.Tensor:
        places = tensor(table)[tensor(ids)]  # positions-of-the-padding: reference
        return torch.tanh(x + places)  # positions-of-the-padding: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        places = tf.gather(table, tf.range(steps))  # positions-of-the-padding: candidate
        return tf.tanh(x + places)  # positions-of-the-padding: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "keras-positions-from-zero",
    "position-ids",
    family="attention",
    source="TransformerLensOrg/TransformerLens#1609",
)
def keras_positions_from_zero(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    steps = between.inputs.shape[1]
    table, ids = normal(random, steps, between.width), left_padded(random, between)
    embed = built(layers.Embedding(*table.shape, name="places"), (None, None), table)

    def reference(x: chainer.Variable) -> chainer.Variable:
        places = F.embed_id(ids.astype(np.int32), table)  # keras-positions-from-zero: reference
        return F.tanh(x + places)  # keras-positions-from-zero: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        places = embed(tf.range(steps))  # keras-positions-from-zero: candidate
        return tf.tanh(x + places)  # keras-positions-from-zero: candidate

    return between.pair("chainer", reference, "keras", candidate)


@fault("positions-from-two", "position-ids", family="attention")
def positions_from_two(random: np.random.Generator) -> Pair:
    """The first position is 2, for 0 and 1 are reserved."""
    between = dense(random, steps=True)
    steps = between.inputs.shape[1]
    table = normal(random, steps + 2, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return x * tf.gather(table, tf.range(2, steps + 2))  # positions-from-two: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return x * tensor(table)[torch.arange(steps)]  # positions-from-two: candidate

    return between.pair("tensorflow", reference, "torch", candidate)


@fault("sinusoids-from-one", "position-ids", family="attention")
def sinusoids_from_one(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    rates = (100 ** -np.linspace(0, 1, between.width)).astype(np.float32)
    steps = between.inputs.shape[1]

    def reference(x: torch.Tensor) -> torch.Tensor:
        angles = torch.arange(steps, dtype=torch.float32)[:, None] * tensor(rates)
        return x + torch.sin(angles)  # sinusoids-from-one: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        angles = np.arange(1, steps + 1, dtype=np.float32)[:, None] * rates
        return x + np.sin(angles)  # sinusoids-from-one: candidate

    return between.pair("torch", reference, "chainer", candidate)


@fault("scale-and-gelu", "attention-scale", "gelu-variant", family="attention")
def scale_and_gelu(random: np.random.Generator) -> Pair:
    between, heads = attention(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5  # scale-and-gelu: reference
        y = heads.joined(scores.softmax(-1), v)
        return torch_f.gelu(y)  # scale-and-gelu 2: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))  # scale-and-gelu: candidate
        y = heads.joined(p, v)
        return tf.nn.gelu(y, approximate=True)  # scale-and-gelu 2: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("positions-and-mask", "position-ids", "attention-mask-missing", family="attention")
def positions_and_mask(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    seen, steps = earlier_steps(between), between.inputs.shape[1]
    table = normal(random, steps + 1, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        x = x * tf.gather(table, tf.range(1, steps + 1))  # positions-and-mask: reference
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth**0.5
        masked = tf.where(seen, scores, -1e9)  # positions-and-mask 2: reference
        return heads.joined(tf.nn.softmax(masked), v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        x = x * tensor(table)[:steps]  # positions-and-mask: candidate
        q, k, v = heads.torch(x)
        scores = q @ k.mT / heads.depth**0.5
        p = scores.softmax(-1)  # positions-and-mask 2: candidate
        return heads.joined(p, v)

    return between.pair("tensorflow", reference, "torch", candidate)


def torch_attention(heads: Heads, x: torch.Tensor, seen: np.ndarray | None = None) -> torch.Tensor:
    """The framework's own function."""
    q, k, v = heads.torch(x)
    mask = None if seen is None else tensor(seen)
    y = torch_f.scaled_dot_product_attention(q, k, v, mask)
    return torch.einsum("bhtd,hdw->btw", y, tensor(heads.output))


@clean("attention-in-one-function-and-in-steps", family="attention")
def attention_in_one_function_and_in_steps(random: np.random.Generator) -> Pair:
    between, heads = attention(random)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        return heads.joined(tf.nn.softmax(tf.einsum("bhqd,bhkd->bhqk", q, k) / heads.depth**0.5), v)

    return between.pair("torch", lambda x: torch_attention(heads, x), "tensorflow", candidate)


@clean("scale-in-the-query-kernel", family="attention")
def scale_in_the_query_kernel(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    query = heads.query * np.float32(heads.depth**-0.5)
    scaled = Heads(query, heads.key, heads.value, heads.output)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        q, k, v = scaled.chainer(x)
        return heads.joined(F.softmax(F.matmul(q, k, transb=True), axis=3), v)

    return between.pair("torch", lambda x: torch_attention(heads, x), "chainer", candidate)


@clean("hidden-by-a-large-number", family="attention")
def hidden_by_a_large_number(random: np.random.Generator) -> Pair:
    """-1e9 added, or minus infinity filled in: nothing is left of a hidden score."""
    between, heads = attention(random)
    hidden = 1 - earlier_steps(between).astype(np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) * heads.depth**-0.5 - 1e9 * hidden
        return heads.joined(tf.nn.softmax(scores), v)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = (q @ k.mT / heads.depth**0.5).masked_fill(tensor(hidden) > 0, -torch.inf)
        return heads.joined(scores.softmax(-1), v)

    return between.pair("tensorflow", reference, "torch", candidate)


@clean("ten-thousand-is-enough", family="attention", source="EleutherAI/gpt-neox#966")
def ten_thousand_is_enough(random: np.random.Generator) -> Pair:
    """Where each row has something to see, and scores are small."""
    between, heads = attention(random)
    seen = valid_steps(random, between)[:, None, None]

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) * heads.depth**-0.5
        return heads.joined(tf.nn.softmax(tf.where(seen, scores, -10000.0)), v)

    return between.pair("torch", lambda x: torch_attention(heads, x, seen), "tensorflow", candidate)


@clean("masks-of-both-signs", family="attention")
def masks_of_both_signs(random: np.random.Generator) -> Pair:
    """Keras and torch mark what is seen; here the other side fills what is above the diagonal."""
    between, heads = attention(random)
    layer, seen = heads.keras(between.width), earlier_steps(between)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x, x, use_causal_mask=True)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        q, k, v = heads.chainer(x)
        scores = F.matmul(q, k, transb=True) * heads.depth**-0.5
        hidden = np.broadcast_to(np.triu(np.ones_like(seen), 1), scores.shape)
        masked = F.where(hidden, np.full(scores.shape, -1e9, np.float32), scores)
        return heads.joined(F.softmax(masked, axis=3), v)

    return between.pair("keras", reference, "chainer", candidate)


@clean("key-bias-left-out", family="attention")
def key_bias_left_out(random: np.random.Generator) -> Pair:
    """It adds the same to all scores of a row, and softmax does not see it."""
    between, heads = attention(random)
    bias = normal(random, heads.query.shape[1], 1, heads.depth)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        return heads.joined((q @ (k + tensor(bias)).mT / heads.depth**0.5).softmax(-1), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth**0.5
        return heads.joined(tf.nn.softmax(scores), v)

    return between.pair("torch", reference, "tensorflow", candidate)


@clean("scores-less-their-maximum", family="attention")
def scores_less_their_maximum(random: np.random.Generator) -> Pair:
    between, heads = attention(random)
    layer = heads.keras(between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x, x)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        scores = q @ k.mT * heads.depth**-0.5
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        return heads.joined(e / e.sum(-1, keepdim=True), v)

    return between.pair("keras", reference, "torch", candidate)


@clean("divided-after-the-sum", family="attention")
def divided_after_the_sum(random: np.random.Generator) -> Pair:
    """The values are summed with unnormalised weights, as fast kernels do."""
    between, heads = attention(random)

    def reference(x: chainer.Variable) -> chainer.Variable:
        q, k, v = heads.chainer(x)
        return heads.joined(F.softmax(F.matmul(q, k, transb=True) / heads.depth**0.5, axis=3), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth**0.5
        e = tf.exp(scores - tf.reduce_max(scores, -1, keepdims=True))
        y = (e @ v) / tf.reduce_sum(e, -1, keepdims=True)
        return tf.einsum("bhtd,hdw->btw", y, heads.output)

    return between.pair("chainer", reference, "tensorflow", candidate)


@clean("positions-by-one-hot", family="attention")
def positions_by_one_hot(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    steps = between.inputs.shape[1]
    table = normal(random, steps, between.width)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + torch_f.embedding(torch.arange(steps), tensor(table)))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x + tf.one_hot(tf.range(steps), steps) @ table)

    return between.pair("torch", reference, "tensorflow", candidate)


@clean(
    "positions-counted-from-a-full-mask",
    family="attention",
    source="huggingface/transformers#30053",
)
def positions_counted_from_a_full_mask(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    batch, steps = between.inputs.shape[:2]
    table = normal(random, steps, between.width)
    embed = L.EmbedID(*table.shape, initialW=table)

    def reference(x: torch.Tensor) -> torch.Tensor:
        ids = torch.ones(batch, steps, dtype=torch.int64).cumsum(1) - 1
        return torch.tanh(x + tensor(table)[ids])

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.tanh(x + F.broadcast_to(embed(np.arange(steps, dtype=np.int32)), x.shape))

    return between.pair("torch", reference, "chainer", candidate)


@clean("keras-positions", family="attention")
def keras_positions(random: np.random.Generator) -> Pair:
    """A table with rows to spare."""
    between = dense(random, steps=True)
    steps = between.inputs.shape[1]
    table = normal(random, steps + 4, between.width)
    embed = built(layers.Embedding(*table.shape, name="places"), (None, None), table)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x + embed(tf.range(steps)[None]))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + tensor(table[:steps]))

    return between.pair("keras", reference, "torch", candidate)


@clean("a-band-of-steps", family="attention")
def a_band_of_steps(random: np.random.Generator) -> Pair:
    """A window of neighbours, by their distance or as a band of a matrix."""
    between, heads = attention(random)
    steps = np.arange(between.inputs.shape[1])
    near = np.abs(steps[:, None] - steps) <= 1

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        scores = tf.matmul(q, k, transpose_b=True) / heads.depth**0.5
        band = tf.linalg.band_part(tf.ones_like(scores), 1, 1)
        return heads.joined(tf.nn.softmax(scores + (band - 1) * 1e9), v)

    return between.pair("torch", lambda x: torch_attention(heads, x, near), "tensorflow", candidate)


@clean("one-key-for-all-heads", family="attention")
def one_key_for_all_heads(random: np.random.Generator) -> Pair:
    """Multi-query attention: one key, broadcast or repeated."""
    between, heads = attention(random)
    count = heads.query.shape[1]

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = heads.torch(x)
        return heads.joined((q @ k[:, :1].mT / heads.depth**0.5).softmax(-1), v)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k, v = heads.tensorflow(x)
        repeated = tf.repeat(k[:, :1], count, 1)
        scores = tf.matmul(q, repeated, transpose_b=True) / heads.depth**0.5
        return heads.joined(tf.nn.softmax(scores), v)

    return between.pair("torch", reference, "tensorflow", candidate)
