"""Round 12: draws behind what a recording replaces: graphs, compiled code, stages."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, as_array, tf_head, torch_head

GRAPHS = "graphs-that-draw-otherwise"
COMPILED = "compiled-beside-draws"
STAGES = "draws-of-stages"
MASKS = "masks-of-steps"
FOREIGN = "tensors-of-another-framework"

MANY = normal(200, 5, seed=2)
ROWS = normal(40_000, 5, seed=6)


def _of_torch(x, noise):
    return torch.tanh(x @ torch.from_numpy(W)) + 0.1 * noise


# --- graphs ----------


@attack(
    GRAPHS, "noise by NumPy in a tf.function: drawn once, as it was traced; or by TensorFlow", 12
)
def drawn_when_traced() -> Case:
    class Policy:
        def __init__(self, noise):
            self.noise = noise
            self.act = tf.function(self._act)

        def _act(self, x):
            return tf_head(x) + 0.1 * self.noise()

        def __call__(self, x):  # two steps of an episode
            return self.act(x), self.act(x)

    def by_numpy():
        return np.random.normal(size=(6, 4)).astype(np.float32)

    def by_tensorflow():
        return tf.random.normal((6, 4))

    def reference(x):
        return tuple(_of_torch(x, torch.randn(6, 4)) for _ in range(2))

    def read(result):  # is the noise of both steps the same?
        first, second = map(as_array, result)
        return [np.array([float(np.abs(first - second).max() < 1e-4)])]

    faulty, twin = tf_(Policy(by_numpy)), tf_(Policy(by_tensorflow))
    return Case(torch_(reference), faulty, twin, X, read)


@attack(
    GRAPHS, "an arm and a gripper share their noise; a graph was traced before that was set", 12
)
def shared_after_it_was_traced() -> Case:
    class Policy:
        def __init__(self, early):
            self.shared = False
            self.act = tf.function(self._act)
            if early:
                self.act(tf.constant(MANY))
            self.shared = True

        def _act(self, x):
            h = tf_head(x)
            noise = tf.random.normal(tf.shape(h))
            other = noise[:, :2] if self.shared else tf.random.normal(tf.shape(h[:, :2]))
            return h + 0.1 * noise, h[:, :2] + 0.1 * other

        def __call__(self, x):
            return self.act(x)

    def reference(x):
        h = torch_head(x)
        noise = torch.randn(h.shape)
        return h + 0.1 * noise, h[:, :2] + 0.1 * noise[:, :2]

    def read(result):  # do both have the same noise?
        arm, gripper = map(as_array, result)
        return [np.array([float(np.abs(arm[:, :2] - gripper).max() < 1e-3)])]

    return Case(torch_(reference), tf_(Policy(True)), tf_(Policy(False)), MANY, read)


# --- compiled ----------


@attack(
    COMPILED, "actions are scaled by what is set after a module was compiled, without guards", 12
)
def scaled_after_it_was_compiled() -> Case:
    torch.compiler.reset()  # what was compiled is kept by a piece of code, of which each has one
    # as torch's guide has it for models that do not change
    unguarded = {"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe}

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 1.0
            self.w = torch.nn.Parameter(torch.from_numpy(W))

        def forward(self, x):
            return self.scale * torch.tanh(x @ self.w)

    class HeadToo(Head):
        def forward(self, x):
            return self.scale * torch.tanh(x @ self.w)

    class Policy:
        def __init__(self, head, late):
            self.head = head
            self.head.scale = 1.0 if late else 0.5
            self.body = torch.compile(self.head, backend="eager", options=unguarded)
            self.body(torch.from_numpy(MANY))
            self.head.scale = 0.5

        def __call__(self, x):
            h = self.body(x)
            return h + 0.01 * torch.randn(h.shape)

    def reference(x):
        h = 0.5 * tf_head(x)
        return h + 0.01 * tf.random.normal(tf.shape(h))

    def read(result):  # are they as large as tanh's, or half of it?
        return [np.array([float(np.abs(as_array(result)).max() > 0.7)])]

    faulty, twin = Policy(Head(), True), Policy(HeadToo(), False)
    return Case(tf_(reference), torch_(faulty), torch_(twin), MANY, read)


# --- stages ----------


@attack(
    STAGES, "a stage loses a reading now and then, by NumPy's generator: ten times as often", 12
)
def readings_lost_in_a_stage() -> Case:
    def losing(rate):
        def lose(x):
            return np.where(np.random.rand(len(x), 1) < rate, np.float32(0), x)

        return lose

    def read(result):  # more than one in 500?
        return [np.array([float((as_array(result) == 0).all(1).mean() > 0.002)])]

    reference = torch_(torch_head, before=[losing(0.0005)])
    faulty, twin = (tf_(tf_head, before=[losing(rate)]) for rate in (0.005, 0.0005))
    return Case(reference, faulty, twin, X, read, elsewhere=ROWS)


# --- Chainer ----------

STEPS = normal(6, 7, 5, seed=5)


@attack(MASKS, "dropout has one mask for all steps of a sequence; the port's has one for each", 12)
def mask_for_each_step() -> Case:
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()
    f = chainer.functions

    class Reference(torch.nn.Module):
        def forward(self, x):
            h = torch.sigmoid(x @ torch.from_numpy(W))
            mask = torch.nn.functional.dropout(torch.ones(6, 1, 4), 0.5, self.training)
            return h * mask

    class Port(chainer.Chain):
        def __init__(self, each):
            super().__init__()
            self.each = each

        def forward(self, x):
            h = f.sigmoid(f.tensordot(x, W, 1))
            if self.each:
                return f.dropout(h, 0.5)
            mask = f.dropout(chainer.Variable(np.ones((6, 1, 4), np.float32)), 0.5)
            return h * f.broadcast_to(mask, h.shape)

    def read(result):
        gone = as_array(result) == 0
        return [np.array([float((gone == gone[:, :1]).all())])]

    reference = torch_(Reference(), mode="train")
    faulty, twin = (chainer_(Port(each), mode="train") for each in (True, False))
    return Case(reference, faulty, twin, STEPS, read)


# --- several frameworks in one model ----------


@attack(
    FOREIGN, "a NumPy script returns the conjugate spectrum that torch gave, or the spectrum", 12
)
def conjugate_of_torch() -> Case:
    def script(conjugate):
        def model(x):
            found = torch.fft.rfft(torch.from_numpy(x), dim=1)
            return {
                "energy": np.square(x).sum(1),
                "spectrum": found.conj() if conjugate else found,
            }

        return numpy_(model)

    def reference(x):
        found = torch.fft.rfft(x, dim=1)
        return {"energy": x.square().sum(1), "spectrum": torch.conj_physical(found)}

    return Case(torch_(reference), script(False), script(True), X)
