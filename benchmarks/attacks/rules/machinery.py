"""Round 5: what frameworks do between a user's line and the numbers."""

from __future__ import annotations

import tensorflow as tf
import torch
from torch.utils.checkpoint import checkpoint

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, tf_, torch_
from benchmarks.attacks.heads import F, W, X, chainer, tf_head, torch_head

RULE = "between-line-and-number"


def _backend(factor):
    """A backend for torch.compile that scales what the graph gives."""

    def compiled(graph, _):
        return lambda *args: tuple(factor * one for one in graph(*args))

    return compiled


@attack(RULE, "a backend of the user's own compiles the model to one that is off by 1e-4", 5)
def own_backend() -> Case:
    torch.compiler.reset()  # of one piece of code it compiles a few, and runs the rest as it is

    def port(factor):
        return torch.compile(torch.nn.Sequential(_Head()), backend=_backend(factor))

    return Case(tf_(tf_head), torch_(port(1.0001)), torch_(port(1.0)), X)


class _Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(W))

    def forward(self, x):
        return torch.tanh(x @ self.weight)


@attack(RULE, "a branch is torch.cond, whose other branch is taken in the port", 5)
def conditional() -> Case:
    def port(sign):
        def model(x):
            h = torch_head(x)
            return torch.cond(sign * h.sum() > 0, lambda h: h * 2, lambda h: h - 1, (h,))

        return model

    def reference(x):
        h = tf_head(x)
        return tf.cond(tf.reduce_sum(h) > 0, lambda: h * 2, lambda: h - 1)

    return Case(tf_(reference), torch_(port(-1)), torch_(port(1)), X)


@attack(RULE, "the output is a gradient through a checkpoint, which leaves out a factor", 5)
def checkpointed_gradient() -> Case:
    def port(detached):
        def model(x):
            x = x.clone().requires_grad_()
            with torch.enable_grad():
                h = checkpoint(torch_head, x, use_reentrant=False)
                gain = h.detach() if detached else h
                (found,) = torch.autograd.grad((h * gain).sum(), x)
            return found

        return model

    def reference(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = tf_head(x)
            total = tf.reduce_sum(h * h)
        return tape.gradient(total, x)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)


@attack(RULE, "ids go through a table of TensorFlow's, in which one has another place", 5)
def table_of_ids() -> Case:
    ids = [[7, 11], [13, 7], [11, 13]]
    rows = normal(3, 4)

    def port(places):
        pairs = tf.lookup.KeyValueTensorInitializer(
            tf.constant([7, 11, 13], tf.int64), tf.constant(places, tf.int64)
        )
        table = tf.lookup.StaticHashTable(pairs, -1)

        def model(ids):
            return tf.reduce_sum(tf.gather(rows, table.lookup(ids)), 1)

        return model

    def reference(ids):
        at = torch.searchsorted(torch.tensor([7, 11, 13]), ids)
        return torch.nn.functional.embedding(at, torch.from_numpy(rows)).cumsum(1)[:, -1]

    given = torch.tensor(ids).numpy()
    return Case(torch_(reference), tf_(port([0, 2, 1])), tf_(port([0, 1, 2])), given)


@attack(RULE, "a Chainer gradient of a gradient leaves the first one out of the graph", 5)
def second_gradient() -> Case:
    def port(again):
        def model(x):
            h = F.sum(F.tanh(F.matmul(x, W)) ** 2)
            (first,) = chainer.grad([h], [x], enable_double_backprop=True)
            square = F.sum((first if again else first.array * first) * first)
            (second,) = chainer.grad([square], [x])
            return second

        return model

    def reference(x):
        x = x.clone().requires_grad_()
        with torch.enable_grad():
            h = torch_head(x).square().sum()
            (first,) = torch.autograd.grad(h, x, create_graph=True)
            (second,) = torch.autograd.grad(first.square().sum(), x)
        return second

    return Case(torch_(reference), chainer_(port(False)), chainer_(port(True)), X)


@attack(RULE, "an activation in place also changes the residual that is added to it", 5)
def residual_in_place() -> Case:
    def port(inplace):
        def model(x):
            h = x @ torch.from_numpy(W)
            rows = h.view(2, 3, 4)
            activated = torch.nn.functional.relu(rows, inplace=inplace)
            return h + activated.reshape(6, 4)

        return model

    def reference(x):
        h = tf.matmul(x, W)
        return h + tf.nn.relu(h)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)
