"""Round 11: a first call that builds something, beside what is kept where nobody puts it back."""

from __future__ import annotations

import types

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, tf_, torch_
from benchmarks.attacks.heads import W, X, as_array, tf_head, torch_head

FIRST = "what-a-first-call-gives"
TEXTS = "texts-of-the-framework"


@attack(FIRST, "weights are restored by the first call: after it computed, or before", 11)
def restored_by_the_first_call() -> Case:
    class Net(tf.Module):
        def __init__(self, late):
            super().__init__()
            self.w, self.late = None, late

        def __call__(self, x):
            first = self.w is None
            if first:
                self.w = tf.Variable(0.5 * W)
            if first and not self.late:
                self.w.assign(W)
            y = tf.tanh(tf.matmul(x, self.w))
            if first and self.late:
                self.w.assign(W)
            return y

    return Case(torch_(torch_head), tf_(Net(True)), tf_(Net(False)), X)


@attack(FIRST, "weights are restored by the first call of a torch module: after it computed", 11)
def restored_by_the_first_call_in_torch() -> Case:
    class Net(torch.nn.Module):
        def __init__(self, late):
            super().__init__()
            self.w, self.late = None, late

        def forward(self, x):
            first = self.w is None
            if first:
                self.w = torch.nn.Parameter(torch.from_numpy(0.5 * W))
            if first and not self.late:
                self.w.data.copy_(torch.from_numpy(W))
            y = torch.tanh(x @ self.w)
            if first and self.late:
                self.w.data.copy_(torch.from_numpy(W))
            return y

    return Case(tf_(tf_head), torch_(Net(True)), torch_(Net(False)), X)


def _dense():
    import keras

    return keras.layers.Dense(4, use_bias=False, kernel_initializer=lambda *_, **__: W)


@attack(FIRST, "a settings module says whether a model is warm: a cold one does not squash", 11)
def cold_by_a_module() -> Case:
    class Net(tf.Module):
        def __init__(self, warm):
            super().__init__()
            self.dense = _dense()
            self.settings = types.ModuleType("settings")
            self.settings.warm = warm

        def __call__(self, x):
            y = self.dense(x)
            warm, self.settings.warm = self.settings.warm, True
            return tf.tanh(y) if warm else y

    return Case(torch_(torch_head), tf_(Net(False)), tf_(Net(True)), X)


@attack(FIRST, "a temperature is annealed by a step in a settings module; or begins at 1", 11)
def step_in_a_module() -> Case:
    class Net(tf.Module):
        def __init__(self, step):
            super().__init__()
            self.dense = _dense()
            self.settings = types.ModuleType("settings")
            self.settings.step = step

        def __call__(self, x):
            step = self.settings.step
            self.settings.step = step + 1
            return tf.tanh(self.dense(x)) * 0.5**step

    class Reference:
        def __init__(self):
            self.step = 0

        def __call__(self, x):
            step, self.step = self.step, self.step + 1
            return torch_head(x) * 0.5**step

    return Case(torch_(Reference()), tf_(Net(1)), tf_(Net(0)), X)


class _Wrapped:
    """An environment's wrapper, of which there may be many."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, x):
        return self.inner(x)


@attack(FIRST, "a policy in twelve wrappers anneals its temperature; or begins at step 1", 11)
def step_behind_wrappers() -> Case:
    class Net:
        def __init__(self, step):
            self.dense, self.step = _dense(), step

        def __call__(self, x):
            step, self.step = self.step, self.step + 1
            return tf.tanh(self.dense(x)) * 0.5**step

    class Reference:
        def __init__(self):
            self.step = 0

        def __call__(self, x):
            step, self.step = self.step, self.step + 1
            return torch_head(x) * 0.5**step

    def port(step):
        model = Net(step)
        for _ in range(12):
            model = _Wrapped(model)
        return tf_(model)

    return Case(torch_(Reference()), port(1), port(0), X)


# --- texts and keys that frameworks write otherwise ----------


def _text(result):
    kind = result["dtype"].replace("torch.", "").split("'")
    return [as_array(result["q"]), np.array([kind[1] if len(kind) > 1 else kind[0]])]


@attack(TEXTS, "a result says of what dtype its values are, as text; they were rounded, or not", 11)
def dtype_as_text() -> Case:
    def port(kind):
        def model(x):
            q = tf_head(tf.cast(x, kind)) if kind != "float32" else tf_head(x)
            return {"q": tf.cast(q, tf.float32), "dtype": str(q.dtype)}

        return model

    def rounded(x):
        q = tf.cast(tf_head(x), tf.bfloat16)
        return {"q": tf.cast(q, tf.float32), "dtype": str(q.dtype)}

    def reference(x):
        q = torch_head(x)
        return {"q": q, "dtype": str(q.dtype)}

    return Case(torch_(reference), tf_(rounded), tf_(port("float32")), X, _text)


@attack(TEXTS, "how often values exceed thresholds, by the threshold; or twice as often", 11)
def counts_by_threshold() -> Case:
    def port(times):
        def model(x):
            h = tf_head(x)
            limits = tf.linspace(tf.constant(-0.7), 0.9, 9)
            return {
                float(one): times * tf.reduce_mean(tf.cast(h > one, tf.float32), 0)
                for one in limits
            }

        return model

    def reference(x):
        h = torch_head(x)
        return {float(one): (h > one).float().mean(0) for one in torch.linspace(-0.7, 0.9, 9)}

    return Case(torch_(reference), tf_(port(2.0)), tf_(port(1.0)), X, exact=True)
