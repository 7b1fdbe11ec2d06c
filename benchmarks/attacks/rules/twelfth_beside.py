"""Round 12: right twins that round beside random draws, where a difference is excused no longer."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import X, as_array, tf_head, torch_head

BESIDE = "either-side-of-a-jump-beside-draws"
ABSORBED = "float64-alone-beside-draws"


def _first(result):
    return [as_array(result[0])]


@attack(BESIDE, "an angle at the cut, by a remainder or an arc, beside a noisy action; or 6.28", 12)
def angle_beside_a_noisy_action() -> Case:
    off = np.array([-np.pi, 0.3, 4.0, -1.2, -5.5, 2.9], np.float32)

    def faulty(x, off):
        h = torch_head(x)
        wrapped = torch.remainder(off + 3.14, 6.28) - 3.14
        return wrapped, h + 0.1 * torch.randn(h.shape)

    def twin(x, off):
        h = torch_head(x)
        return torch.atan2(off.sin(), off.cos()), h + 0.1 * torch.randn(h.shape)

    def reference(x, off):
        h = tf_head(x)
        wrapped = tf.math.floormod(off + np.pi, 2 * np.pi) - np.pi
        return wrapped, h + 0.1 * tf.random.normal(tf.shape(h))

    return Case(tf_(reference), torch_(faulty), torch_(twin), (X, off), _first)


@attack(ABSORBED, "attention of a row that is hidden altogether, beside a noisy action", 12)
def hidden_row_beside_a_noisy_action() -> Case:
    x = normal(5, 5)
    seen = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]])

    def port(seen):
        def model(x):
            h = torch_head(x)
            scores = 3 * h + (1 - torch.tensor(seen, dtype=torch.float32)) * -1e9
            return torch.softmax(scores, 1), h + 0.1 * torch.randn(h.shape)

        return model

    def reference(x):
        h = tf_head(x)
        scores = tf.where(tf.constant(seen) > 0, 3 * h, -1e9)
        return tf.nn.softmax(scores, 1), h + 0.1 * tf.random.normal(tf.shape(h))

    other = seen.copy()
    other[1] = [1, 1, 0, 1]
    return Case(tf_(reference), torch_(port(other)), torch_(port(seen)), x, _first)
