"""Round 2: what recording may lose: views, gradients, maps, threads, caches, custom kernels."""

from __future__ import annotations

import threading

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import X, chainer, tf_head, torch_head

VIEWS = "views-and-writes"
UNSEEN = "unseen-by-the-recorder"
ALARMS = "false-alarms"

W, V = weights(5, 4), weights(4, 3, seed=1)


@attack(VIEWS, "the mantissa is cut in place through a view as integers", 2)
def bits_in_place() -> Case:
    def port(kept):
        def model(x):
            h = torch_head(x)
            h.view(torch.int32).bitwise_and_(kept)
            return h @ torch.from_numpy(V)

        return model

    return Case(tf_(lambda x: tf.matmul(tf_head(x), V)), torch_(port(~0xFFFF)), torch_(port(-1)), X)


@attack(VIEWS, "one column is written through a slice after another view of it was read", 2)
def written_after_read() -> Case:
    def port(order):
        def model(x):
            h = torch_head(x)
            first = h[:, :2]
            total = first.sum(1) if order == "before" else None
            h[:, 0] = 0.5
            total = first.sum(1) if total is None else total
            return torch.cat([h, total[:, None]], 1)

        return model

    def reference(x):
        h = tf_head(x)
        total = 0.5 + h[:, 1]
        return tf.concat([tf.fill((6, 1), 0.5), h[:, 1:], total[:, None]], 1)

    return Case(tf_(reference), torch_(port("before")), torch_(port("after")), X)


@attack(VIEWS, "overlapping windows are written: the last write counts", 2)
def overlapping_windows() -> Case:
    def port(times):
        def model(x):
            h = torch.zeros(6, 5)
            windows = h.unfold(1, 3, 1)
            for at in range(3):
                windows[:, at] += times * torch.tanh(x[:, at : at + 3])
            return h

        return model

    def reference(x):
        h = tf.zeros((6, 5))
        for at in range(3):
            h += tf.pad(tf.tanh(x[:, at : at + 3]), [[0, 0], [at, 2 - at]])
        return h

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), X)


@attack(VIEWS, "a tensor's storage is set to another's", 2)
def set_storage() -> Case:
    def port(turned):
        def model(x):
            h = torch_head(x)
            other = h.flip(1).contiguous() if turned else h.clone()
            kept = torch.empty(0)
            kept.set_(other)
            return kept + 0.0

        return model

    return Case(tf_(tf_head), torch_(port(True)), torch_(port(False)), X)


@attack(VIEWS, "the imaginary part is written through view_as_real", 2)
def real_view() -> Case:
    def port(extra):
        def model(x):
            z = torch.complex(torch_head(x), torch.zeros(6, 4))
            torch.view_as_real(z)[..., 1] += extra
            return z.abs()

        return model

    return Case(
        tf_(lambda x: tf.sqrt(tf_head(x) ** 2 + 0.25)), torch_(port(0.6)), torch_(port(0.5)), X
    )


@attack(UNSEEN, "the output is a gradient; a detach in the wrong place changes it alone", 2)
def gradient_output() -> Case:
    def port(detached):
        def model(x):
            x = x.detach().requires_grad_()
            h = torch_head(x)
            weight = torch.softmax(h, 1)
            weight = weight.detach() if detached else weight
            (gradient,) = torch.autograd.grad((weight * h).sum(), x)
            return gradient

        return model

    def reference(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = tf_head(x)
            total = tf.reduce_sum(tf.nn.softmax(h) * h)
        return tape.gradient(total, x)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), X)


@attack(UNSEEN, "per-sample work under torch.func.vmap", 2)
def under_vmap() -> Case:
    def port(factor):
        def one(row):
            h = torch.tanh(row @ torch.from_numpy(W))
            return factor * h / (1 + h.abs().sum())

        return lambda x: torch.func.vmap(one)(x)

    def reference(x):
        h = tf_head(x)
        return h / (1 + tf.reduce_sum(tf.abs(h), 1, keepdims=True))

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), X)


@attack(UNSEEN, "per-sample work under tf.vectorized_map", 2)
def under_vectorized_map() -> Case:
    def port(factor):
        def one(row):
            h = tf.tanh(tf.linalg.matvec(tf.transpose(tf.constant(W)), row))
            return factor * h / (1 + tf.reduce_sum(tf.abs(h)))

        return lambda x: tf.vectorized_map(one, x)

    def reference(x):
        h = torch_head(x)
        return h / (1 + h.abs().sum(1, keepdim=True))

    return Case(torch_(reference), tf_(port(1.001)), tf_(port(1.0)), X)


@attack(UNSEEN, "members of an ensemble run in threads, one of them off by 3e-5", 2)
def ensemble_in_threads() -> Case:
    def port(off):
        def model(x):
            found = {}

            def member(at):
                found[at] = (1 + off * at) * torch.tanh(x @ torch.from_numpy(W) * (at + 1))

            threads = [threading.Thread(target=member, args=(at,)) for at in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return torch.stack([found[at] for at in range(3)]).mean(0)

        return model

    def reference(x):
        h = tf.matmul(x, W)
        return (tf.tanh(h) + tf.tanh(2 * h) + tf.tanh(3 * h)) / 3

    return Case(tf_(reference), torch_(port(3e-5)), torch_(port(0.0)), X)


def _custom(name, most):
    """A torch operator of the user's own, whose kernel is NumPy in float32."""

    @torch.library.custom_op(f"attacks::{name}", mutates_args=())
    def kernel(x: torch.Tensor) -> torch.Tensor:
        a = x.numpy().astype(np.float32)
        return torch.from_numpy(np.where(a > most, np.float32(0), np.tanh(a)))

    return kernel


_KERNELS = {}


@attack(UNSEEN, "an operator of the user's own, in float32 only: large inputs are dropped", 2)
def custom_operator() -> Case:
    x = X.copy()
    x[3, 3] = 7
    for name, most in (("cut", 6.0), ("uncut", 1e9)):
        if name not in _KERNELS:
            _KERNELS[name] = _custom(name, most)
    return Case(
        tf_(lambda x: tf.tanh(x)),
        torch_(lambda x: _KERNELS["cut"](x) * 1.0),
        torch_(lambda x: _KERNELS["uncut"](x) * 1.0),
        x,
    )


class _Tanh(chainer.Function):
    """A Chainer function of the user's own that works in float32 whatever it gets."""

    def __init__(self, at_zero):
        self.at_zero = at_zero

    def forward(self, inputs):
        x = inputs[0].astype(np.float32)
        return (np.where(x == 0, np.float32(self.at_zero), np.tanh(x)),)


@attack(UNSEEN, "a Chainer function of the user's own, in float32 only: zeros are changed", 2)
def custom_chainer_function() -> Case:
    x = X.copy()
    x[2, 1] = x[4, 4] = 0
    return Case(
        torch_(lambda x: torch.tanh(x)),
        chainer_(lambda x: _Tanh(0.2)(x)),
        chainer_(lambda x: _Tanh(0.0)(x)),
        x,
    )


@attack(UNSEEN, "a cache of keys is a variable that is written by rows, and read again", 2)
def cache_of_keys() -> Case:
    class Cache(tf.Module):
        def __init__(self, off):
            super().__init__()
            self.kept = tf.Variable(tf.zeros((6, 4)))
            self.off = off

        def __call__(self, x):
            rows = tf.range(6)[:, None]
            self.kept.scatter_nd_update(rows, tf_head(x) * (1 + self.off))
            return tf.nn.softmax(tf.matmul(self.kept, self.kept, transpose_b=True))

    def reference(x):
        h = torch_head(x)
        return torch.softmax(h @ h.T, 1)

    return Case(torch_(reference), tf_(Cache(3e-5)), tf_(Cache(0.0)), X)


@attack(UNSEEN, "SciPy in the middle of a torch model: the quantile of another distribution", 2)
def numpy_in_the_middle() -> Case:
    def port(power):
        def model(x):
            h = torch_head(x).detach().numpy()
            ranks = np.abs(h) ** power
            return torch.from_numpy(ranks.astype(np.float32)) @ torch.from_numpy(V)

        return model

    def reference(x):
        return tf.matmul(tf.abs(tf_head(x)) ** 1.5, V)

    return Case(tf_(reference), torch_(port(1.50001)), torch_(port(1.5)), X)


@attack(UNSEEN, "a dynamically quantised linear layer", 2)
def dynamic_quantisation() -> Case:
    def net():
        layer = torch.nn.Sequential(torch.nn.Linear(5, 4, bias=False), torch.nn.Tanh())
        layer[0].weight.data = torch.from_numpy(W.T.copy())
        return layer

    quantised = torch.ao.quantization.quantize_dynamic(net(), {torch.nn.Linear})
    return Case(tf_(tf_head), torch_(quantised), torch_(net()), X)


@attack(UNSEEN, "a Keras layer calls another model through predict-like NumPy", 2)
def keras_through_numpy() -> Case:
    inner = keras.layers.Dense(4, activation="tanh", use_bias=False)
    inner.build((None, 5))
    inner.set_weights([W])

    def port(digits):
        def model(x):
            h = np.round(np.asarray(inner(x)), digits)
            return tf.matmul(tf.constant(h), V)

        return model

    def reference(x):
        return torch_head(x) @ torch.from_numpy(V)

    return Case(torch_(reference), tf_(port(4)), tf_(port(12)), X)


# --- correct pairs that were alarms, beside a fault -----------------------------------------------


@attack(
    ALARMS,
    "a scalar is taken out by .item() in the middle",
    variants={"plain": (1.0,), "with-a-constant": (0.3,), "with-a-large-one": (12345.678,)},
)
def scalar_by_item(constant) -> Case:
    def port(factor):
        def model(x):
            h = torch_head(x)
            most = h.abs().max().item()
            return torch.tanh(h * constant) / most + factor * constant * most

        return model

    def reference(x):
        h = tf_head(x)
        most = tf.reduce_max(tf.abs(h))
        return tf.tanh(h * constant) / most + constant * most

    return Case(tf_(reference), torch_(port(1.0001)), torch_(port(1.0)), X)


@attack(
    ALARMS,
    "a mean is taken out by float() and decides on the scale",
    variants={"plain": (0.0,), "with-an-epsilon": (1e-3,)},
)
def scalar_by_float(epsilon) -> Case:
    def port(power):
        def model(x):
            scale = float(tf.reduce_mean(tf.abs(x)))
            return tf_head(x / (scale + epsilon) ** power) * (0.7 + epsilon)

        return model

    def reference(x):
        return torch_head(x / (x.abs().mean() + epsilon)) * (0.7 + epsilon)

    return Case(torch_(reference), tf_(port(1.001)), tf_(port(1.0)), X)


@attack(
    ALARMS,
    "a NumPy port casts to float32 on its way",
    variants={"unit": (1.0, 0.0), "large": (50.0, 3.0), "far": (1.0, 1000.0)},
)
def numpy_casts(scale, shift) -> Case:
    def port(factor):
        def model(x):
            h = np.float32(scale) * np.tanh(x.astype(np.float32) @ W) + np.float32(shift)
            h = h - h.mean(1, keepdims=True)
            e = np.exp(h - h.max(1, keepdims=True))
            return (factor * e / e.sum(1, keepdims=True)).astype(np.float32)

        return model

    def reference(x):
        h = scale * torch_head(x) + shift
        return torch.softmax(h - h.mean(1, keepdim=True), 1)

    return Case(torch_(reference), numpy_(port(np.float32(1.0001))), numpy_(port(np.float32(1))), X)


@attack(ALARMS, "an ensemble in threads that is right, beside one whose last member is missing")
def threads_right() -> Case:
    def port(count):
        def model(x):
            found = [None] * count

            def member(at):
                found[at] = torch.tanh(x @ torch.from_numpy(W) + at)

            threads = [threading.Thread(target=member, args=(at,)) for at in range(count)]
            for thread in threads:
                thread.start()
                thread.join()
            return sum(found) / count

        return model

    def reference(x):
        h = tf.matmul(x, W)
        return (tf.tanh(h) + tf.tanh(h + 1.0)) / 2

    return Case(tf_(reference), torch_(port(1)), torch_(port(2)), X)


@attack(ALARMS, "an input that is one number")
def scalar_input() -> Case:
    def reference(x, t):
        return torch_head(x) * torch.exp(-t)

    def port(rate):
        return lambda x, t: tf_head(x) * tf.exp(-rate * t)

    given = {"x": X, "t": np.array(0.7, np.float32)}
    return Case(torch_(reference), tf_(port(1.01)), tf_(port(1.0)), given)


@attack(
    ALARMS,
    "a recurrent Keras layer with state, called once from zero",
    variants={
        f"{kind.__name__.lower()}-{'both' if first else 'one'}": (kind, first)
        for kind in (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
        for first in (True, False)
    },
)
def stateful(kind, first) -> Case:
    x = normal(4, 3, 5)

    def net(keeps, factor):
        inputs = keras.Input(batch_shape=(4, 3, 5))
        layer = kind(4, stateful=keeps)
        model = keras.Model(inputs, layer(inputs))
        random = np.random.default_rng(0)
        arrays = [0.4 * random.normal(size=w.shape) for w in layer.get_weights()]
        arrays[0][0, 0] *= factor
        layer.set_weights(arrays)
        return model

    return Case(tf_(net(first, 1)), tf_(net(True, 1.01)), tf_(net(True, 1)), x)


@attack(ALARMS, "a clip bound of four digits: float64 in one model, float32 in the other", 2)
def clip_bounds() -> Case:
    def port(high):
        return lambda x: tf.clip_by_value(x, -0.7639895, high)

    return Case(
        torch_(lambda x: torch.clamp(x, -0.7639895, 0.8563457)),
        tf_(port(0.857)),
        tf_(port(0.8563457)),
        X,
    )


@attack(ALARMS, "an ELU with an alpha of three digits, written by hand", 2)
def elu_alpha() -> Case:
    def port(alpha):
        def model(x):
            return tf.where(x > 0, x, alpha * tf.math.expm1(x))

        return model

    def reference(x):
        return torch.nn.functional.elu(x, 0.367) + torch_head(x).sum()

    def added(alpha):
        return lambda x: port(alpha)(x) + tf.reduce_sum(tf_head(x))

    return Case(torch_(reference), tf_(added(0.368)), tf_(added(0.367)), 10 * X)


@attack(ALARMS, "equal fingerprints: forty rolls of one vector", 2)
def forty_rolls() -> Case:
    x = normal(3, 40)
    gains = normal(40, seed=4)

    def reference(x):
        return sum(torch.roll(x, at, 1) * float(gains[at]) for at in range(40))

    def port(wrong):
        def model(x):
            total = 0.0
            for at in range(40):
                total += tf.roll(x, 23 if wrong and at == 22 else at, 1) * gains[at]
            return total

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), x)
