"""Writes that no dispatcher sees: what is recorded is not what was returned."""

from __future__ import annotations

import ctypes

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import F, W, X, tf_head, torch_head

RULE = "hidden-writes"


@attack(RULE, "a mask is written through .numpy(), after the activation was computed")
def torch_numpy_write() -> Case:
    def wrong(x):
        h = torch_head(x)
        h.numpy()[:, 2] = 0
        return h

    return Case(tf_(tf_head), torch_(wrong), torch_(torch_head), X)


@attack(RULE, "a hidden layer is scaled through .numpy() before it is read")
def torch_numpy_scale() -> Case:
    v = weights(4, 3, seed=1)

    def wrong(x):
        h = torch_head(x)
        memory = h.numpy()
        memory *= 1.5
        return h @ torch.from_numpy(v)

    return Case(
        tf_(lambda x: tf.matmul(tf_head(x), v)),
        torch_(wrong),
        torch_(lambda x: torch_head(x) @ torch.from_numpy(v)),
        X,
    )


@attack(RULE, "h.data is replaced by another tensor")
def torch_data() -> Case:
    def wrong(x):
        h = torch_head(x)
        h.data = torch.clamp(h.data, -0.3, 0.3)
        return h * 1.0

    return Case(tf_(tf_head), torch_(wrong), torch_(lambda x: torch_head(x) * 1.0), X)


@attack(RULE, "h.data is exchanged for another sample's")
def torch_set_data() -> Case:
    def wrong(x):
        h = torch_head(x)
        h.data = h.data.flip(0).contiguous()
        return h

    return Case(tf_(tf_head), torch_(wrong), torch_(torch_head), X)


@attack(RULE, "NumPy writes into memory that a tensor was made of by from_numpy")
def torch_from_numpy() -> Case:
    def port(later):
        def model(x):
            memory = np.zeros((6, 4), np.float32)
            h = torch.from_numpy(memory)
            h += torch_head(x)
            memory += later
            return h * 2.0

        return model

    return Case(tf_(lambda x: 2 * tf_head(x)), torch_(port(0.25)), torch_(port(0.0)), X)


@attack(RULE, "np.clip with out= works on a tensor's memory")
def torch_out() -> Case:
    def port(most):
        def model(x):
            h = torch_head(x)
            array = h.detach().numpy()
            np.clip(array, -most, most, out=array)
            return h + 0.0

        return model

    return Case(tf_(tf_head), torch_(port(0.5)), torch_(port(1.0)), X)


@attack(RULE, "a NumPy reference changes its input in place")
def numpy_reference_in_place() -> Case:
    def reference(x):
        x -= x.mean(1, keepdims=True)
        return np.tanh(x) + x

    def wrong(x):
        c = x - tf.reduce_mean(x, 1, keepdims=True)
        return tf.tanh(c) + x

    def right(x):
        c = x - tf.reduce_mean(x, 1, keepdims=True)
        return tf.tanh(c) + c

    return Case(numpy_(reference), tf_(wrong), tf_(right), X)


@attack(RULE, "a NumPy reference adds to its input at every call: the second call is another")
def numpy_reference_counts() -> Case:
    def reference(x):
        x += 1
        return np.tanh(x)

    return Case(
        numpy_(reference),
        tf_(lambda x: tf.tanh(x + 2)),
        tf_(lambda x: tf.tanh(x + 1)),
        X,
    )


@attack(RULE, "a candidate writes into the caller's array")
def numpy_candidate_in_place() -> Case:
    def port(factor):
        def model(x):
            np.multiply(x, np.float32(factor), out=x)
            return np.tanh(x)

        return model

    return Case(torch_(lambda x: torch.tanh(x)), numpy_(port(1.1)), numpy_(port(1.0)), X)


@attack(RULE, "a Chainer variable's array is changed behind the functions' back")
def chainer_array_write() -> Case:
    def wrong(x):
        h = F.tanh(F.matmul(x, W))
        h.array[:, 1] *= 0.5
        return h

    def right(x):
        return F.tanh(F.matmul(x, W))

    return Case(torch_(torch_head), chainer_(wrong), chainer_(right), X)


@attack(RULE, "a Chainer variable gets another array, then goes through a function")
def chainer_array_assigned() -> Case:
    def wrong(x):
        h = F.tanh(F.matmul(x, W))
        h.array = np.maximum(h.array, 0)
        return h * 2

    def right(x):
        return F.tanh(F.matmul(x, W)) * 2

    return Case(torch_(lambda x: torch_head(x) * 2), chainer_(wrong), chainer_(right), X)


@attack(RULE, "a weight of a module is changed through its memory during the call, and put back")
def weight_through_memory() -> Case:
    class Net(torch.nn.Module):
        def __init__(self, extra):
            super().__init__()
            self.layer = torch.nn.Linear(5, 4, bias=False)
            self.layer.weight.data = torch.from_numpy(W.T.copy())
            self.extra = np.float32(extra)

        def forward(self, x):
            memory = self.layer.weight.detach().numpy()
            memory += self.extra
            h = self.layer(x)
            memory -= self.extra
            return torch.tanh(h)

    return Case(tf_(tf_head), torch_(Net(0.5)), torch_(Net(0.0)), X)


@attack(RULE, "the memory of a hidden layer is overwritten by its address")
def ctypes_write() -> Case:
    def port(shift):
        def model(x):
            h = torch_head(x)
            moved = torch.roll(h, shift, 1).contiguous()
            ctypes.memmove(h.data_ptr(), moved.data_ptr(), 4 * h.numel())
            return h + 0.0

        return model

    return Case(tf_(tf_head), torch_(port(1)), torch_(port(0)), X)


@attack(RULE, "the sign bits are turned in memory: here the hidden write is right")
def storage_write() -> Case:
    def port(sign):
        def model(x):
            h = torch_head(x)
            bits = h.numpy().view(np.uint32)
            bits ^= np.uint32(sign)  # the sign bit
            return h * 1.0

        return model

    return Case(tf_(lambda x: -tf_head(x)), torch_(port(0)), torch_(port(0x80000000)), X)
