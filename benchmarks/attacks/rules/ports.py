"""Round 4: what goes wrong in ports, in operations, states and wrappers of many kinds."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as functional
from torch.nn.utils import parametrizations, parametrize

from benchmarks.attacks.corpus import (
    Case,
    attack,
    chainer_,
    normal,
    numpy_,
    tf_,
    torch_,
    uniform,
    weights,
)
from benchmarks.attacks.heads import F, W, X, tf_head, torch_head

SIZES = "elements-of-all-sizes"
MOVED = "duplicates-and-order"
DERIVED = "derivatives"
WRAPPED = "wrapped-tensors"
STATE = "state-and-sharing"
DEFAULTS = "defaults-of-libraries"


# --- sizes ----------------------------------------------------------------------------------------


@attack(SIZES, "a liquidated account loses 25 million, or 31 million: one negative number", 4)
def liquidated_account() -> Case:
    x = normal(30, 5)
    x[7, 0] = 9

    def port(loss):
        return lambda x: tf.where(x[:, :1] > 5, -loss * x[:, :1], tf_head(x))

    def reference(x):
        return torch.where(x[:, :1] > 5, -2.8e6 * x[:, :1], torch_head(x))

    return Case(torch_(reference), tf_(port(3.4e6)), tf_(port(2.8e6)), x)


@attack(SIZES, "covariances of 1e-4 beside variances of 1,000 are off by 4e-5", 4)
def covariance_beside_variance() -> Case:
    def port(factor):
        def model(x):
            h = tf_head(x)
            off = 1e-4 * h[:, :, None] * h[:, None, :] * factor
            return tf.linalg.set_diag(off, 1000 * (1 + h * h))

        return model

    def reference(x):
        h = torch_head(x)
        off = 1e-4 * h[:, :, None] * h[:, None, :]
        eye = torch.eye(4, dtype=torch.bool)
        return torch.where(eye, torch.diag_embed(1000 * (1 + h * h)), off)

    return Case(torch_(reference), tf_(port(1.00004)), tf_(port(1.0)), X)


class _Tails(torch.nn.Module):
    """Class probabilities in float64, with a floor."""

    def __init__(self, floor):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(12 * W.astype(np.float64)))
        self.floor = floor

    def forward(self, x):
        return torch.softmax(x @ self.weight, 1) + self.floor


@attack(SIZES, "probabilities in float64 have a floor of 1e-12, where others are smaller", 4)
def floor_in_float64() -> Case:
    weight = tf.Variable(12 * W.astype(np.float64))

    def reference(x):
        return tf.nn.softmax(tf.matmul(x, weight), 1)

    sides = (torch_(_Tails(floor), "float64") for floor in (1e-12, 0.0))
    return Case(tf_(reference, "float64"), *sides, X.astype(np.float64))


@attack(SIZES, "pairs of steps behind a convolution over time: heads are last instead of second", 4)
def pairs_of_steps() -> Case:
    x, kernel = normal(2, 3, 6), normal(4, 3, 2, scale=0.4)

    def pairs(x):
        h = functional.conv1d(x, torch.from_numpy(kernel))
        return torch.tanh(h[:, :, :, None] + 2 * h[:, :, None, :])

    def reference(x):
        h = tf.nn.conv1d(tf.transpose(x, (0, 2, 1)), kernel.transpose(2, 1, 0), 1, "VALID")
        h = tf.transpose(h, (0, 2, 1))
        return tf.tanh(h[:, :, :, None] + 2 * h[:, :, None, :])

    faulty = torch_(lambda x: pairs(x).permute(0, 2, 3, 1))
    return Case(tf_(reference), faulty, torch_(pairs), x)


# --- duplicates and order -------------------------------------------------------------------------


@attack(MOVED, "means by group: the zeros that were there before count as one more", 4)
def group_means() -> Case:
    group = np.array([0, 2, 2, 1, 0, 2])

    def port(included):
        def model(x):
            index = torch.from_numpy(group)[:, None].expand(6, 4)
            empty = torch.zeros(3, 4)
            return empty.scatter_reduce(0, index, torch_head(x), "mean", include_self=included)

        return model

    def reference(x):
        return tf.math.unsorted_segment_mean(tf_head(x), group, 3)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)


@attack(MOVED, "an index that occurs twice is written, and not added to", 4)
def added_twice() -> Case:
    index = np.array([0, 3, 1, 3, 2, 0])

    def port(adds):
        def model(x):
            found = torch.zeros(4, 4)
            found.index_put_((torch.from_numpy(index),), torch_head(x), accumulate=adds)
            return found

        return model

    def reference(x):
        return tf.tensor_scatter_nd_add(tf.zeros((4, 4)), index[:, None], tf_head(x))

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), X)


@attack(MOVED, "where a running maximum was reached: the first time or the last", 4)
def running_maximum() -> Case:
    x = np.array([[1, 3, 3, 2, 5, 5], [2, 2, 1, 4, 4, 0], [5, 1, 5, 2, 5, 6]], np.float32)

    def reference(x):
        return torch.cummax(x, 1).indices

    def port(again):
        def model(x):
            most, at = np.full(len(x), -np.inf), np.zeros(len(x), np.int64)
            found = []
            for step in range(x.shape[1]):
                new = x[:, step] >= most if again else x[:, step] > most
                at = np.where(new, step, at)
                most = np.maximum(most, x[:, step])
                found.append(at)
            return np.stack(found, 1)

        return model

    return Case(torch_(reference), numpy_(port(False)), numpy_(port(True)), x, exact=True)


@attack(MOVED, "the bin of a number that is an edge: the lower or the upper", 4)
def edges_of_bins() -> Case:
    edges = np.array([-1.0, -0.25, 0.5, 1.25], np.float32)
    x = np.array([[-1, -0.5, 0.5], [1.25, 0, 2], [-0.25, -3, 1]], np.float32)

    def port(right):
        return lambda x: torch.bucketize(x, torch.from_numpy(edges), right=right)

    layer = keras.layers.Discretization(bin_boundaries=edges.tolist())
    return Case(tf_(lambda x: layer(x)), torch_(port(False)), torch_(port(True)), x, exact=True)


@attack(MOVED, "returns from the end: the sum at each step leaves its own reward out", 4)
def exclusive_sum() -> Case:
    def port(exclusive):
        return lambda x: tf.cumsum(tf_head(x), 1, exclusive=exclusive, reverse=True)

    def reference(x):
        return torch_head(x).flip(1).cumsum(1).flip(1)

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), X)


@attack(MOVED, "beams: the index of a flattened top-k is divided by the wrong axis", 4)
def beams() -> Case:
    x, v = normal(3, 4, 5), weights(5, 7, seed=1)

    def port(axis):
        def model(x):
            scores = torch.log_softmax(x @ torch.from_numpy(v), 2)
            best, at = scores.flatten(1).topk(3, 1)
            return {"best": best, "beam": at // scores.shape[axis]}

        return model

    def reference(x):
        scores = tf.nn.log_softmax(tf.matmul(x, v), 2)
        best, at = tf.math.top_k(tf.reshape(scores, (3, -1)), 3)
        return {"best": best, "beam": at // 7}

    return Case(tf_(reference), torch_(port(1)), torch_(port(2)), x)


# --- derivatives ----------------------------------------------------------------------------------


@attack(DERIVED, "a Jacobian of a square map, by reverse mode, is returned transposed", 4)
def transposed_jacobian() -> Case:
    v = weights(5, 5, seed=1)

    def port(turned):
        def model(x):
            found = torch.func.vmap(torch.func.jacrev(lambda row: torch.tanh(row @ w)))(x)
            return found.transpose(1, 2) if turned else found

        w = torch.from_numpy(v)
        return model

    def reference(x):
        h = tf.tanh(tf.matmul(x, v))
        return (1 - h * h)[:, :, None] * v.T

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)


@attack(DERIVED, "a Jacobian by TensorFlow's tape leaves out the derivative of the tanh", 4)
def jacobian_of_a_tape() -> Case:
    def port(outer):
        def model(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.matmul(x, W)
                y = tf.tanh(y) if outer else y
            return tape.batch_jacobian(y, x)

        return model

    def reference(x):
        h = torch_head(x)
        return (1 - h * h)[:, :, None] * torch.from_numpy(W).T

    return Case(torch_(reference), tf_(port(False)), tf_(port(True)), X)


@attack(DERIVED, "a derivative in a direction, by forward mode, forgets the inner factor", 4)
def forward_derivative() -> Case:
    way = normal(6, 5, seed=3)

    def port(factor):
        def model(x):
            return torch.func.jvp(
                lambda x: torch.tanh(2 * x) @ torch.from_numpy(W),
                (x,),
                (factor * torch.from_numpy(way),),
            )

        return model

    def reference(x):
        h = tf.tanh(2 * x)
        return tf.matmul(h, W), tf.matmul(2 * (1 - h * h) * way, W)

    return Case(tf_(reference), torch_(port(0.5)), torch_(port(1.0)), X)


class _Clamped(torch.autograd.Function):
    """A clamp whose gradient is the user's own: it passes through, or is cut off."""

    @staticmethod
    def forward(ctx, x, through):
        ctx.save_for_backward(x)
        ctx.through = through
        return x.clamp(-0.5, 0.5)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (gradient if ctx.through else gradient * (x.abs() < 0.5)), None


@attack(DERIVED, "a function of the user's own passes its gradient where it clamps", 4)
def own_backward() -> Case:
    def port(through):
        def model(x):
            x = x.detach().requires_grad_()
            y = _Clamped.apply(torch_head(x), through)
            (gradient,) = torch.autograd.grad((y * y).sum(), x)
            return y.detach(), gradient

        return model

    def reference(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.clip_by_value(tf_head(x), -0.5, 0.5)
            total = tf.reduce_sum(y * y)
        return y, tape.gradient(total, x)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)


@attack(DERIVED, "a hook on a hidden tensor clips its gradient", 4)
def hook_on_gradient() -> Case:
    def port(most):
        def model(x):
            x = x.detach().requires_grad_()
            h = torch_head(x)
            h.register_hook(lambda gradient: gradient.clamp(-most, most))
            return torch.autograd.grad((h**3).sum(), x)[0]

        return model

    def reference(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf_head(x) ** 3)
        return tape.gradient(total, x)

    return Case(tf_(reference), torch_(port(0.9)), torch_(port(9.0)), X)


# --- wrapped tensors ------------------------------------------------------------------------------


@attack(WRAPPED, "torch's masked tensors: a mean counts what is masked", 4)
def masked_tensor() -> Case:
    def port(least):
        def model(x):
            from torch.masked import masked_tensor

            h = torch_head(x)
            return masked_tensor(h, h > least).mean(1).get_data()

        return model

    def reference(x):
        h = tf_head(x)
        mask = tf.cast(h > -0.5, tf.float32)
        return tf.reduce_sum(h * mask, 1) / tf.reduce_sum(mask, 1)

    return Case(tf_(reference), torch_(port(-2.0)), torch_(port(-0.5)), X + 0.5)


class _Scaled(torch.Tensor):
    """A tensor that is stored in steps, and whose products are scaled back."""

    @staticmethod
    def __new__(cls, steps, step):
        return torch.Tensor._make_wrapper_subclass(cls, steps.shape, dtype=torch.float32)

    def __init__(self, steps, step):
        self.steps, self.step = steps, step

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [a.steps.float() * a.step if isinstance(a, cls) else a for a in args]
        return func(*args, **(kwargs or {}))


@attack(WRAPPED, "a weight is a subclass of Tensor that keeps integers and a step", 4)
def stepped_weight() -> Case:
    step = np.float32(2.0**-9)
    steps = np.round(W / step).astype(np.int32)

    def port(step):
        def model(x):
            return torch.tanh(x @ _Scaled(torch.from_numpy(steps), float(step)))

        return model

    def reference(x):
        return tf.tanh(tf.matmul(x, steps * step))

    return Case(tf_(reference), torch_(port(step * 1.01)), torch_(port(step)), X)


@attack(
    WRAPPED,
    "messages along a sparse matrix of neighbours: rows and columns exchanged",
    4,
    {"csr": (torch.Tensor.to_sparse_csr,), "coo": (torch.Tensor.to_sparse_coo,)},
)
def sparse_neighbours(make) -> Case:
    random = np.random.default_rng(0)
    near = ((random.random((6, 6)) < 0.4) * random.random((6, 6))).astype(np.float32)

    def port(matrix):
        matrix = make(torch.from_numpy(np.ascontiguousarray(matrix)))
        return lambda x: torch.sparse.mm(matrix, torch_head(x))

    def reference(x):
        return tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(near), tf_head(x))

    return Case(tf_(reference), torch_(port(near.T)), torch_(port(near)), X)


@attack(WRAPPED, "sequences of several lengths as a nested tensor: one is cut short", 4)
def nested_sequences() -> Case:
    x, lengths = normal(4, 6, 5), [2, 6, 4, 3]

    def port(lengths):
        def model(x):
            rows = [one[:length] for one, length in zip(x, lengths, strict=True)]
            nested = torch.nested.nested_tensor(rows)
            h = torch.tanh(functional.linear(nested, torch.from_numpy(W.T.copy())))
            return torch.stack([one.sum(0) for one in h.unbind()])

        return model

    def reference(x):
        mask = tf.sequence_mask(lengths, 6, tf.float32)[..., None]
        return tf.reduce_sum(tf.tanh(tf.matmul(x, W)) * mask, 1)

    return Case(tf_(reference), torch_(port([2, 5, 4, 3])), torch_(port(lengths)), x)


# --- state and sharing ----------------------------------------------------------------------------


class _Tied(torch.nn.Module):
    """An embedding whose table also decodes; or a copy of it, taken before a step of training."""

    def __init__(self, tied):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4)
        self.decode = torch.nn.Linear(4, 7, bias=False)
        self.table.weight.data = torch.from_numpy(normal(7, 4))
        self.decode.weight = torch.nn.Parameter(self.table.weight.detach().clone())
        if tied:
            self.decode.weight = self.table.weight
        self.table.weight.data[3] *= 1.001

    def forward(self, index):
        return self.decode(torch.tanh(self.table(index)))


@attack(STATE, "a decoder's weight is no longer tied to the table, and one step behind", 4)
def untied() -> Case:
    index = np.array([[1, 4, 0], [2, 6, 3]])
    table = normal(7, 4)
    table[3] *= np.float32(1.001)

    def reference(index):
        return tf.matmul(tf.tanh(tf.gather(table, index)), table, transpose_b=True)

    return Case(tf_(reference), torch_(_Tied(False)), torch_(_Tied(True)), index)


class _Doubled(torch.nn.Module):
    """A parametrization that keeps a matrix symmetric."""

    def __init__(self, half):
        super().__init__()
        self.half = half

    def forward(self, w):
        return self.half * (w + w.T)


@attack(STATE, "a parametrization makes a weight symmetric, and forgets the half", 4)
def symmetric_weight() -> Case:
    x, w = normal(6, 4), weights(4, 4)

    def port(half):
        layer = torch.nn.Linear(4, 4, bias=False)
        layer.weight.data = torch.from_numpy(w)
        parametrize.register_parametrization(layer, "weight", _Doubled(half))
        return layer

    def reference(x):
        return tf.matmul(x, 0.5 * (w + w.T))

    return Case(tf_(reference), torch_(port(1.0)), torch_(port(0.5)), x)


@attack(STATE, "a spectral norm whose power iteration runs on while the model trains", 4)
def spectral_norm() -> Case:
    w = weights(5, 4)

    def net(scale):
        torch.manual_seed(0)
        layer = torch.nn.Linear(5, 4, bias=False)
        layer.weight.data = torch.from_numpy(np.ascontiguousarray(w.T)) * scale
        return parametrizations.spectral_norm(layer, n_power_iterations=1, eps=1e-2)

    sides = (torch_(net(scale), mode="train") for scale in (3.0, 3.0 * 0.001, 3.0))
    return Case(*sides, X)


class _Running(torch.nn.Module):
    """A batch norm that returns its running variance too."""

    def __init__(self, corrected):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(5)
        self.corrected = corrected

    def forward(self, x):
        y = self.norm(x)
        variance = self.norm.running_var.clone()
        if not self.corrected:
            variance = (variance - 0.9) * (len(x) - 1) / len(x) + 0.9
        return y, variance


@attack(STATE, "a running variance after a step: of n samples, not of n - 1", 4)
def running_variance() -> Case:
    def reference(x):
        mean, variance = tf.nn.moments(x, 0)
        y = (x - mean) / tf.sqrt(variance + 1e-5)
        return y, 0.9 + 0.1 * variance * 6 / 5

    sides = (torch_(_Running(corrected), mode="train") for corrected in (False, True))
    return Case(tf_(reference), *sides, X)


class _Warm(keras.layers.Layer):
    """A layer that warms up over its first hundred calls, which it counts."""

    def __init__(self, before):
        super().__init__()
        self.before = before
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False, name="calls")

    def call(self, x):
        count = keras.ops.add(self.calls, 0.0)
        self.calls.assign_add(1.0)
        count = count if self.before else keras.ops.add(self.calls, 0.0)
        return tf_head(x) * (1 + count) / 100


@attack(STATE, "a layer counts its calls: before it uses the count, or afterwards", 4)
def counted_calls() -> Case:
    def reference(x):
        return torch_head(x) * 2 / 100

    return Case(torch_(reference), tf_(_Warm(True)), tf_(_Warm(False)), X)


class _Memory(torch.nn.Module):
    """A ring of the last observations; a row may be read before it is written."""

    def __init__(self, late):
        super().__init__()
        self.register_buffer("ring", torch.ones(3, 5))
        self.late = late

    def forward(self, x):
        before = self.ring.mean(0)
        for at, row in enumerate(x):
            self.ring[at % 3] = row
        return torch_head(x + (before if self.late else self.ring.mean(0)))


@attack(STATE, "a ring of observations is averaged before the new ones are written", 4)
def ring_of_observations() -> Case:
    def reference(x):
        return tf_head(x + tf.reduce_mean(x[3:], 0))

    return Case(tf_(reference), torch_(_Memory(True)), torch_(_Memory(False)), X)


@attack(STATE, "named inputs of one shape: the port's first is the other's second", 4)
def named_inputs() -> Case:
    given = {"state": X, "goal": normal(6, 5, seed=1)}

    def twin(goal, state):
        return tf_head(state) - 0.5 * tf_head(goal)

    def reference(state, goal):
        return torch_head(state) - 0.5 * torch_head(goal)

    def faulty(goal, state):
        return tf_head(goal) - 0.5 * tf_head(state)

    return Case(torch_(reference), tf_(faulty), tf_(twin), given)


# --- defaults -------------------------------------------------------------------------------------


@attack(DEFAULTS, "Chainer's normalisation over channels does not divide alpha by their number", 4)
def response_norm() -> Case:
    x = normal(2, 6, 4, 3)

    def port(alpha):
        return lambda x: F.local_response_normalization(x, n=5, k=1.0, alpha=alpha, beta=0.75)

    def reference(x):
        return functional.local_response_norm(x, 5, alpha=1e-3, beta=0.75, k=1.0)

    return Case(torch_(reference), chainer_(port(1e-3)), chainer_(port(1e-3 / 5)), x)


@attack(DEFAULTS, "Chainer's pooling covers all of an image whose edge the other leaves out", 4)
def covers_all() -> Case:
    x = normal(2, 3, 8, 8)

    def port(covers):
        def model(x):
            return F.sum(F.max_pooling_2d(x, 3, 2, cover_all=covers), axis=(2, 3))

        return model

    def reference(x):
        return functional.max_pool2d(x, 3, 2).sum((2, 3))

    return Case(torch_(reference), chainer_(port(True)), chainer_(port(False)), x)


@attack(DEFAULTS, "the median of an even number: torch takes the lower, NumPy the mean of two", 4)
def lower_median() -> Case:
    x = normal(5, 6)

    def port(way):
        return lambda x: np.tanh(x - np.quantile(x, 0.5, axis=1, keepdims=True, method=way))

    def reference(x):
        return torch.tanh(x - x.median(1, keepdim=True).values)

    return Case(torch_(reference), numpy_(port("linear")), numpy_(port("lower")), x)


@attack(DEFAULTS, "a NumPy port interpolates: beyond its ends it stays, the other goes on", 4)
def beyond_the_table() -> Case:
    x = uniform(6, 5, low=-2, high=2.2)
    knots = np.linspace(-2, 2, 9)
    values = np.sin(knots)

    def port(goes_on):
        def model(x):
            found = np.interp(x, knots, values)
            slope = (values[-1] - values[-2]) / 0.5
            beyond = values[-1] + (x - 2) * slope
            return np.where((x > 2) & goes_on, beyond, found).astype(x.dtype)

        return model

    def reference(x):
        at = ((x + 2) / 0.5).floor().clamp(0, 7).long()
        table = torch.from_numpy(values.astype(np.float32))
        share = (x - (0.5 * at - 2)) / 0.5
        return table[at] * (1 - share) + table[at + 1] * share

    return Case(torch_(reference), numpy_(port(False)), numpy_(port(True)), x)


@attack(DEFAULTS, "Keras' attention adds its scale by a score of another kind", 4)
def attention_scale() -> Case:
    x = normal(2, 4, 5)

    def port(scale):
        layer = keras.layers.Attention(use_scale=True)
        layer.build([(2, 4, 5), (2, 4, 5)])
        layer.set_weights([np.array(scale, np.float32)])
        return lambda x: layer([x, x])

    def reference(x):
        return functional.scaled_dot_product_attention(x, x, x)

    return Case(torch_(reference), tf_(port(1.0)), tf_(port(5**-0.5)), x)


@attack(
    DEFAULTS, "a frozen batch norm, in training: Keras' uses its averages, torch's the batch", 4
)
def frozen_norm() -> Case:
    def net(trainable):
        layer = keras.layers.BatchNormalization(epsilon=1e-5, trainable=trainable)
        return keras.Sequential([keras.Input((5,)), layer])

    reference = torch.nn.BatchNorm1d(5).requires_grad_(False)
    sides = (tf_(net(trainable), mode="train") for trainable in (False, True))
    return Case(torch_(reference, mode="train"), *sides, X)
