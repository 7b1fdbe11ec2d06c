"""Round 9: what a first call builds, modes that a module sets itself, dtypes that inputs follow."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, tf_, torch_, uniform
from benchmarks.attacks.heads import W, X, chainer

FIRST = "built-by-a-first-call"
MODES = "modes-of-ones-own"
DTYPES = "dtypes-that-inputs-follow"


def _as(values):
    """An initializer of Keras that gives these values."""
    return lambda shape, dtype=None: tf.constant(values, dtype or "float32")


# --- what a first call builds ---------------------------------------------------------------------


class _KerasActNorm(keras.layers.Layer):
    """Glow's: scale and shift begin as what normalises the first batch."""

    def __init__(self, statistic=tf.math.reduce_std):
        super().__init__()
        self.ready, self.statistic = False, statistic

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros")

    def call(self, x):
        if not self.ready:
            self.shift.assign(-tf.reduce_mean(x, 0))
            self.scale.assign(1 / (self.statistic(x, 0) + 1e-6))
            self.ready = True
        return tf.tanh((x + self.shift) * self.scale)


class _TorchActNorm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.ready = False
        self.scale = torch.nn.Parameter(torch.ones(size))
        self.shift = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x):
        if not self.ready:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
                self.scale.copy_(1 / (x.std(0, unbiased=False) + 1e-6))
            self.ready = True
        return torch.tanh((x + self.shift) * self.scale)


class _LazyActNorm(_TorchActNorm):
    """The same that makes its parameters when it first sees how wide its inputs are."""

    def __init__(self, unbiased):
        torch.nn.Module.__init__(self)
        self.unbiased = unbiased
        self.scale = self.shift = None

    def forward(self, x):
        if self.scale is None:
            self.shift = torch.nn.Parameter(-x.mean(0))
            self.scale = torch.nn.Parameter(1 / (x.std(0, unbiased=self.unbiased) + 1e-6))
        return torch.tanh((x + self.shift) * self.scale)


@attack(FIRST, "an ActNorm begins with the variance of its first batch instead of the deviation", 9)
def begins_with_its_batch() -> Case:
    variance = tf.math.reduce_variance
    x = 3 * X + 1
    return Case(tf_(_KerasActNorm()), tf_(_KerasActNorm(variance)), tf_(_KerasActNorm()), x)


@attack(FIRST, "an ActNorm of torch, and one of Keras that is not built before its first call", 9)
def begins_with_its_batch_in_torch() -> Case:
    x = 3 * X + 1
    faulty = tf_(_KerasActNorm(tf.math.reduce_variance))
    return Case(torch_(_TorchActNorm(5)), faulty, tf_(_KerasActNorm()), x)


@attack(FIRST, "an ActNorm makes its parameters when it is first called: of n - 1 samples", 9)
def begins_with_its_batch_lazily() -> Case:
    x = 3 * X + 1
    faulty, twin = torch_(_LazyActNorm(True)), torch_(_LazyActNorm(False))
    return Case(torch_(_TorchActNorm(5)), faulty, twin, x)


class _KerasAnnealed(keras.layers.Layer):
    """A layer whose temperature falls with each call, from `first` on."""

    def __init__(self, first):
        super().__init__()
        self.calls, self.first = 0, first

    def build(self, shape):
        self.kernel = self.add_weight(shape=W.shape, initializer=_as(W))

    def call(self, x):
        temperature = max(0.5, self.first - 0.25 * self.calls)
        self.calls += 1
        return tf.nn.softmax(tf.matmul(x, self.kernel) / temperature)


class _TorchAnnealed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.kernel = 0, torch.nn.Parameter(torch.from_numpy(W))

    def forward(self, x):
        temperature = max(0.5, 1.0 - 0.25 * self.calls)
        self.calls += 1
        return torch.softmax(x @ self.kernel / temperature, 1)


@attack(FIRST, "a temperature falls with each call: the port begins 0.25 higher", 9)
def annealed_by_calls() -> Case:
    return Case(torch_(_TorchAnnealed()), tf_(_KerasAnnealed(1.25)), tf_(_KerasAnnealed(1.0)), X)


class _KerasTrace(keras.layers.Layer):
    """Keeps a hidden state from call to call, as an agent that acts step by step."""

    def __init__(self, at_first):
        super().__init__()
        self.hidden, self.at_first = None, at_first

    def build(self, shape):
        self.kernel = self.add_weight(shape=W.shape, initializer=_as(W))

    def call(self, x):
        new = tf.matmul(x, self.kernel)
        old = tf.fill(tf.shape(new), self.at_first) if self.hidden is None else self.hidden
        self.hidden = tf.tanh(new + 0.5 * old)
        return self.hidden


class _TorchTrace(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.kernel = None, torch.nn.Parameter(torch.from_numpy(W))

    def forward(self, x):
        new = x @ self.kernel
        old = torch.zeros_like(new) if self.hidden is None else self.hidden
        self.hidden = torch.tanh(new + 0.5 * old)
        return self.hidden


@attack(FIRST, "a hidden state is kept from call to call; in the port it begins at one", 9)
def hidden_from_the_start() -> Case:
    return Case(torch_(_TorchTrace()), tf_(_KerasTrace(1.0)), tf_(_KerasTrace(0.0)), X)


class _KerasVelocity:
    """An agent that sees how its observation has changed since the last step."""

    def __init__(self, begins_at_zero):
        self.begins_at_zero = begins_at_zero
        self.started, self.last = False, tf.zeros(X.shape)
        self.head = keras.layers.Dense(4, use_bias=False, kernel_initializer=_as(W))

    def __call__(self, x):
        last = self.last if self.started or self.begins_at_zero else x
        self.started, self.last = True, x
        return tf.tanh(self.head(x + 5 * (x - last)))


@attack(FIRST, "a velocity is that since the last step: at the first it is zero, or since zero", 9)
def first_step_of_an_episode() -> Case:
    return Case(
        tf_(_KerasVelocity(False)), tf_(_KerasVelocity(True)), tf_(_KerasVelocity(False)), X
    )


class _ChainerActNorm(chainer.Chain):
    """The same of Chainer, before a layer that learns its width from its first inputs."""

    def __init__(self, statistic):
        super().__init__()
        self.ready, self.statistic = False, statistic
        with self.init_scope():
            self.scale = chainer.Parameter(np.ones(5, np.float32))
            self.shift = chainer.Parameter(np.zeros(5, np.float32))
            self.head = chainer.links.Linear(None, 4, nobias=True, initialW=W.T)

    def forward(self, x):
        if not self.ready:
            self.shift.array[...] = -x.array.mean(0)
            self.scale.array[...] = 1 / (self.statistic(x.array, axis=0) + 1e-6)
            self.ready = True
        shift, scale = (
            chainer.functions.broadcast_to(p, x.shape) for p in (self.shift, self.scale)
        )
        return chainer.functions.tanh(self.head((x + shift) * scale))


@attack(FIRST, "an ActNorm of Chainer before a layer that is not built before its first call", 9)
def begins_with_its_batch_in_chainer() -> Case:
    sides = (chainer_(_ChainerActNorm(one)) for one in (np.std, np.var, np.std))
    return Case(*sides, 3 * X + 1)


# --- modes ----------------------------------------------------------------------------------------

MEAN, VAR = normal(5, seed=3, scale=0.3), uniform(5, low=0.5, high=2.0, seed=4)


class _Normed(torch.nn.Module):
    """A batch norm before a layer; `fixed` says in which mode the norm is, whatever is asked."""

    def __init__(self, fixed=None):
        super().__init__()
        self.fixed, self.norm = fixed, torch.nn.BatchNorm1d(5)
        self.norm.running_mean.copy_(torch.from_numpy(MEAN))
        self.norm.running_var.copy_(torch.from_numpy(VAR))
        self.register_buffer("kernel", torch.from_numpy(W))

    def train(self, mode=True):
        super().train(mode)
        if self.fixed is not None:
            self.norm.train(self.fixed)
        return self

    def forward(self, x):
        return torch.tanh(self.norm(x) @ self.kernel)


def _tf_normed(frozen):
    def model(x):
        mean, var = (MEAN, VAR) if frozen else tf.nn.moments(x, [0])
        return tf.tanh(tf.matmul((x - mean) / tf.sqrt(var + 1e-5), W))

    return tf_(model)


@attack(MODES, "a backbone is trained with its batch norm frozen, by its own train()", 9)
def frozen_by_its_train() -> Case:
    faulty, twin = (torch_(_Normed(fixed), mode="train") for fixed in (None, False))
    return Case(_tf_normed(True), faulty, twin, X)


@attack(
    MODES, "a batch norm is left frozen by its module's train(), where the batch should count", 9
)
def frozen_by_mistake() -> Case:
    faulty, twin = (torch_(_Normed(fixed), mode="train") for fixed in (False, None))
    return Case(_tf_normed(False), faulty, twin, X)


@attack(MODES, "a batch norm adapts to the batch it is tested on, by its module's own train()", 9)
def adapted_at_test_time() -> Case:
    faulty, twin = torch_(_Normed(None)), torch_(_Normed(True))
    return Case(_tf_normed(False), faulty, twin, X)


@attack(MODES, "a batch norm goes on adapting when it is tested, by its module's own train()", 9)
def adapted_by_mistake() -> Case:
    faulty, twin = torch_(_Normed(True)), torch_(_Normed(None))
    return Case(_tf_normed(True), faulty, twin, X)


@attack(MODES, "a function calls a module on which nobody called eval()", 9)
def nobody_called_eval() -> Case:
    def port(training):
        net = _Normed()
        net.train(training)

        def act(x):
            return net(x)

        return torch_(act)

    return Case(_tf_normed(True), port(True), port(False), X)


# --- dtypes ---------------------------------------------------------------------------------------


class _Clocked(torch.nn.Module):
    """Times since the start, normalised by statistics that are kept in float64."""

    def __init__(self, absorbed):
        super().__init__()
        self.absorbed = absorbed
        self.register_buffer("mean", torch.tensor([0.5] * 5, dtype=torch.float64))
        self.register_buffer("kernel", torch.from_numpy(W))

    def forward(self, x):
        if self.absorbed:
            x = (x + 1.7e6) - 1.7e6
        return torch.tanh((x - self.mean).float() @ self.kernel)


@attack(DTYPES, "an epoch absorbs half of the digits; statistics are buffers in float64", 9)
def absorbed_before_statistics() -> Case:
    def reference(x):
        return tf.tanh(tf.matmul(x - 0.5, W))

    return Case(tf_(reference), torch_(_Clocked(True)), torch_(_Clocked(False)), X)


class _TfClocked(tf.Module):
    def __init__(self, absorbed):
        super().__init__()
        self.absorbed = absorbed
        self.mean = tf.Variable(np.full(5, 0.5), dtype=tf.float64, trainable=False)

    def __call__(self, x):
        if self.absorbed:
            x = (x + 1.7e6) - 1.7e6
        return tf.tanh(tf.matmul(x - tf.cast(self.mean, x.dtype), tf.cast(W, x.dtype)))


@attack(DTYPES, "the same in a tf.Module, whose only variable is the mean in float64", 9)
def absorbed_before_a_variable() -> Case:
    def reference(x):
        return torch.tanh((x - 0.5) @ torch.from_numpy(W))

    return Case(torch_(reference), tf_(_TfClocked(True)), tf_(_TfClocked(False)), X)


HALF = W.astype(np.float16)


class _StoredInHalf(torch.nn.Module):
    """Weights are stored in half precision, and multiplied in float32."""

    def __init__(self, rounded):
        super().__init__()
        self.rounded = rounded
        self.kernel = torch.nn.Parameter(torch.from_numpy(HALF), requires_grad=False)

    def forward(self, x):
        if self.rounded:
            x = x.to(self.kernel.dtype)
        return torch.tanh(x.float() @ self.kernel.float())


@attack(
    DTYPES, "weights are stored in half precision; the port rounds observations to it as well", 9
)
def stored_in_half() -> Case:
    def reference(x):
        return tf.tanh(tf.matmul(x, HALF.astype(np.float32)))

    return Case(tf_(reference), torch_(_StoredInHalf(True)), torch_(_StoredInHalf(False)), X)


@attack(DTYPES, "the same beside a reference of torch that stores its weights in half as well", 9)
def stored_in_half_by_both() -> Case:
    return Case(*(torch_(_StoredInHalf(rounded)) for rounded in (False, True, False)), X)
