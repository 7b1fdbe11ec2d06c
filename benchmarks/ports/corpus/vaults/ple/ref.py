"""Progressive Layered Extraction (Tang et al. 2020) for click and conversion, tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

FIELDS = (9, 7, 11)
EMB, DENSE, UNITS = 4, 3, 8


class Linear(tf.Module):
    def __init__(self, n_in, n_out, rng, name):
        super().__init__(name=name)
        w = rng.normal(0, 1.3 / np.sqrt(n_in), (n_in, n_out))
        self.w = tf.Variable(w.astype("float32"), name="w")
        self.b = tf.Variable(rng.normal(0, 0.3, n_out).astype("float32"), name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Experts(tf.Module):
    """Several experts of one layer each, side by side."""

    def __init__(self, number, n_in, n_out, rng, name):
        super().__init__(name=name)
        w = rng.normal(0, 1.5 / np.sqrt(n_in), (number, n_in, n_out))
        self.w = tf.Variable(w.astype("float32"), name="w")
        self.b = tf.Variable(rng.normal(0, 0.3, (number, n_out)).astype("float32"), name="b")

    def __call__(self, x):
        return tf.nn.relu(tf.einsum("bi,eio->beo", x, self.w) + self.b)


class Extraction(tf.Module):
    """A level of customised gate control: own and shared experts, and a gate for each of the tasks."""

    def __init__(self, n_in, rng, last, name, own=2, shared=3):
        super().__init__(name=name)
        self.click = Experts(own, n_in, UNITS, rng, "click")
        self.buy = Experts(own, n_in, UNITS, rng, "buy")
        self.shared = Experts(shared, n_in, UNITS, rng, "shared")
        self.gate_click = Linear(n_in, own + shared, rng, "gate_click")
        self.gate_buy = Linear(n_in, own + shared, rng, "gate_buy")
        self.last = last
        if not last:
            self.gate_shared = Linear(n_in, 2 * own + shared, rng, "gate_shared")

    @staticmethod
    def mix(gate, state, experts):
        weight = tf.nn.softmax(gate(state), axis=-1)
        return tf.reduce_sum(weight[:, :, None] * tf.concat(experts, axis=1), axis=1)

    def __call__(self, x_click, x_buy, x_shared):
        click, buy, shared = self.click(x_click), self.buy(x_buy), self.shared(x_shared)
        out_click = self.mix(self.gate_click, x_click, [click, shared])
        out_buy = self.mix(self.gate_buy, x_buy, [buy, shared])
        if self.last:
            return out_click, out_buy
        out_shared = self.mix(self.gate_shared, x_shared, [click, buy, shared])
        return out_click, out_buy, out_shared


class Tower(tf.Module):
    def __init__(self, rng, name):
        super().__init__(name=name)
        self.hidden = Linear(UNITS, UNITS // 2, rng, "hidden")
        self.logit = Linear(UNITS // 2, 1, rng, "logit")

    def __call__(self, x):
        return tf.nn.sigmoid(self.logit(tf.nn.relu(self.hidden(x))))


class PLE(tf.Module):
    def __init__(self, seed):
        super().__init__(name="ple")
        rng = np.random.default_rng(seed)
        self.tables = [
            tf.Variable(rng.normal(0, 1, (n, EMB)).astype("float32"), name=f"table{i}")
            for i, n in enumerate(FIELDS)
        ]
        self.items = tf.Variable(rng.normal(0, 1, (13, EMB)).astype("float32"), name="items")
        n_in = EMB * (len(FIELDS) + 1) + DENSE
        self.level1 = Extraction(n_in, rng, False, "level1")
        self.level2 = Extraction(UNITS, rng, True, "level2")
        self.tower_click = Tower(rng, "tower_click")
        self.tower_buy = Tower(rng, "tower_buy")

    def history(self, clicked):
        mask = tf.cast(clicked > 0, tf.float32)[:, :, None]
        total = tf.reduce_sum(tf.gather(self.items, clicked) * mask, axis=1)
        return total / (tf.reduce_sum(mask, axis=1) + 1e-8)

    def __call__(self, sparse, dense, clicked):
        fields = [tf.gather(t, sparse[:, i]) for i, t in enumerate(self.tables)]
        x = tf.concat(fields + [self.history(clicked), dense], axis=-1)
        x_click, x_buy, x_shared = self.level1(x, x, x)
        x_click, x_buy = self.level2(x_click, x_buy, x_shared)
        p_click = self.tower_click(x_click)
        p_buy = self.tower_buy(x_buy)
        return p_click, p_click * p_buy


def make():
    return PLE(51)


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 8
    sparse = np.stack([rng.integers(0, n, b) for n in FIELDS], 1)
    dense = rng.normal(size=(b, DENSE)).astype("float32")
    clicked = rng.integers(1, 13, (b, 5))
    clicked[np.arange(5)[None] >= rng.integers(1, 6, b)[:, None]] = 0
    return sparse.astype("int64"), dense, clicked.astype("int64")
