"""Situations that went wrong once on models nobody had in mind: each is the smallest that did."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, place_of, tagged_lines

F, L = chainer.functions, chainer.links


def normal(seed, *shape, scale=1.0):
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


def compare(reference, candidate, *inputs, candidate_framework="tensorflow"):
    sides = Side("torch", reference), Side(candidate_framework, candidate)
    return Pair(*sides, inputs).compare()


def assert_first_at(report, *tags):
    """The first divergence is on the tagged lines, on both sides."""
    assert report.verdict == "diverged", str(report)
    lines = tagged_lines(__file__, *tags)
    first = report.divergences[0]
    assert {place_of(first.reference), place_of(first.candidate)} <= lines, str(report)


def test_hidden_logits_that_are_not_hidden_in_the_other_model_are_no_rounding():
    """Infinite differences do not shrink with the precision, though inf <= inf."""
    weights, shown = normal(1, 4, 1), np.random.default_rng(2).random((3, 5)) > 0.3

    def reference(x):
        logits = (x @ torch.from_numpy(weights))[..., 0]
        logits = torch.where(torch.from_numpy(shown), logits, -torch.inf)  # fault: mask
        return torch.einsum("nt,ntd->nd", torch.softmax(logits, 1), x)

    def candidate(x):
        logits = tf.squeeze(x @ weights, -1)
        logits = tf.where(shown, logits, -3.0)  # fault: mask
        return tf.reduce_sum(tf.nn.softmax(logits, 1)[..., None] * x, 1)

    assert_first_at(compare(reference, candidate, normal(3, 3, 5, 4)), "fault: mask")


def test_values_that_overflow_when_a_repair_is_tried():
    """A clipped log_std against a squashed one: tried in its place, other values overflow exp."""
    weights = normal(4, 5, 6, scale=400.0)

    def reference(x):
        mean, log_std = torch.chunk(x @ torch.from_numpy(weights), 2, -1)
        log_std = torch.clamp(log_std, -5, 2)  # fault: squash
        return {"log_std": log_std, "score": ((mean / torch.exp(log_std)) ** 2).sum(-1)}

    def candidate(x):
        mean, log_std = tf.split(x @ weights, 2, -1)
        log_std = 3.5 * tf.tanh(log_std) - 1.5  # fault: squash
        return {"log_std": log_std, "score": tf.reduce_sum((mean * tf.exp(-log_std)) ** 2, -1)}

    assert_first_at(compare(reference, candidate, normal(5, 7, 5)), "fault: squash")


def test_a_model_whose_inputs_are_lost_in_numpy_has_a_place_all_the_same():
    table = normal(6, 20, 8)

    class Reference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(20, 8)
            self.embed.weight.data.copy_(torch.from_numpy(table))

        def forward(self, ids):
            return torch.tanh(self.embed(ids))  # fault: shifted

    class Candidate(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(20, 8, initialW=table)

        def forward(self, ids):
            return F.tanh(self.embed((ids + 1) % 20))  # fault: shifted

    ids = np.random.default_rng(7).integers(0, 20, (3, 6))
    report = compare(Reference(), Candidate(), ids, candidate_framework="chainer")
    assert_first_at(report, "fault: shifted")


def recurrence(steps, faulty):
    """A loop in torch and in TensorFlow, which some steps of the second leave by a little."""
    inner, outer = normal(8, 6, 6, scale=0.4), normal(9, 6, 6, scale=0.4)

    def reference(x):
        a, b = torch.from_numpy(inner), torch.from_numpy(outer)
        for _ in range(steps):
            h = torch.tanh(x @ a)
            x = x + 0.1 * (h - 0.5 * x @ b)  # fault: step
        return x

    def candidate(x):
        for step in range(steps):
            h = tf.tanh(x @ inner)
            if step in faulty:
                h = h * 1.002  # fault: step
            update = h - tf.matmul(0.5 * x, outer)  # fault: step
            x = x + 0.1 * update
        return x

    return compare(reference, candidate, normal(10, 3, 6))


def test_a_fault_in_one_step_of_a_loop_is_one_divergence():
    """Behind it the state is near the reference's again, and no later step is at fault."""
    report = recurrence(30, faulty=[15])

    assert_first_at(report, "fault: step")
    assert len(report.divergences) == 1, str(report)


def test_a_fault_in_some_steps_of_a_loop_is_found_as_often_as_it_is_there():
    report = recurrence(30, faulty=[15, 16, 22])

    assert_first_at(report, "fault: step")
    assert sum(found.times for found in report.divergences) == 3, str(report)


def test_an_output_of_another_shape_only_is_reported_so_and_has_no_place():
    weights = normal(11, 9, 4)

    def reference(x):
        return (torch.tanh(x @ torch.from_numpy(weights)) ** 2).sum(-1)

    def candidate(x):
        return tf.reduce_sum(tf.tanh(x @ weights) ** 2, -1, keepdims=True)

    report = compare(reference, candidate, normal(12, 6, 9))

    assert report.verdict == "diverged"
    assert report.divergences == []
    assert report.worst.notes == ()
    assert "shape (6,)" in str(report) and "(6, 1)" in str(report)


def test_an_input_that_one_model_reverses_is_placed_where_the_other_reads_it():
    weights = normal(13, 5, 5)

    def reference(x, y):
        scores = x @ torch.from_numpy(weights) @ y.transpose(1, 2)
        return torch.softmax(scores, -1) @ y  # fault: reversed

    def candidate(x, y):
        scores = tf.matmul(x @ weights, y, transpose_b=True)
        backwards = y[:, ::-1]  # fault: reversed
        return tf.nn.softmax(scores) @ backwards

    report = compare(reference, candidate, normal(14, 3, 4, 5), normal(15, 3, 6, 5))

    assert_first_at(report, "fault: reversed")


def test_a_repair_among_axes_of_one_length_is_laid_out_as_what_follows_needs_it():
    """Elementwise layers run in any order of axes; a wrong one would make the pooling diverge."""
    kernel, bias = normal(16, 4, 3, 2, 3, 2), normal(17, 4)

    flipped = torch.from_numpy(kernel[..., ::-1].copy())

    def candidate(x):
        x = torch.nn.functional.conv3d(x, flipped, torch.from_numpy(bias))  # fault: flip
        return torch.nn.functional.max_pool3d(torch.relu(x), 2).sum(1)

    def reference(x):
        x = tf.transpose(x, (0, 2, 3, 4, 1))
        x = tf.nn.conv3d(x, kernel.transpose(2, 3, 4, 1, 0), [1] * 5, "VALID")  # fault: flip
        return tf.reduce_sum(tf.nn.max_pool3d(tf.nn.relu(x + bias), 2, 2, "VALID"), -1)

    sides = Side("tensorflow", reference), Side("torch", candidate)
    report = Pair(*sides, (normal(18, 2, 3, 6, 7, 5),)).compare()

    assert_first_at(report, "fault: flip")
    assert len(report.divergences) == 1, str(report)
