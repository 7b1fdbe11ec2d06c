"""MPLight / FRAP: phases of a junction compete in pairs; one tf.Module per piece."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
MOVES, PHASES, D = 8, 4, 6
PAIRS = np.array([[0, 4], [1, 5], [2, 6], [3, 7]])
# 1 where two phases share no movement group, else 0
RELATION = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])


class Dense(tf.Module):
    def __init__(self, rng, i, o):
        super().__init__()
        self.w = tf.Variable(rng.normal(size=(i, o)).astype("float32") * 0.5)
        self.b = tf.Variable(rng.normal(size=(o,)).astype("float32") * 0.3)

    def __call__(self, x):
        return tf.tensordot(x, self.w, axes=1) + self.b


class Demand(tf.Module):
    """Each movement's queue and whether its light is green."""

    def __init__(self, rng):
        super().__init__()
        self.queue = Dense(rng, 2, 4)
        self.green = tf.Variable(rng.normal(size=(2, 4)).astype("float32"))
        self.mix = Dense(rng, 8, D)

    def __call__(self, queues, phase):
        member = np.zeros((PHASES, MOVES), "float32")
        for p, pair in enumerate(PAIRS):
            member[p, pair] = 1.0
        lit = tf.cast(tf.matmul(phase, member), tf.int32)
        q = tf.sigmoid(self.queue(queues))
        g = tf.sigmoid(tf.gather(self.green, lit))
        return tf.nn.relu(self.mix(tf.concat([q, g], axis=-1)))


class Competition(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.pair = Dense(rng, 2 * D, 10)
        self.relation = tf.Variable(rng.normal(size=(2, 4)).astype("float32"))
        self.rel = Dense(rng, 4, 10)
        self.hidden = Dense(rng, 10, 8)
        self.score = Dense(rng, 8, 1)

    def __call__(self, phases):
        ours = tf.repeat(phases[:, :, None], PHASES, axis=2)
        theirs = tf.repeat(phases[:, None], PHASES, axis=1)
        x = tf.nn.relu(self.pair(tf.concat([ours, theirs], axis=-1)))
        rel = tf.nn.relu(self.rel(tf.gather(self.relation, RELATION)))
        x = tf.nn.relu(self.hidden(x * rel))
        x = tf.squeeze(self.score(x), -1)
        x = x * (1.0 - tf.eye(PHASES))
        return tf.reduce_sum(x, axis=2)


class MPLight(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.demand = Demand(rng)
        self.competition = Competition(rng)

    def __call__(self, queues, phase):
        d = self.demand(tf.math.log1p(queues), phase)
        phases = tf.reduce_sum(tf.gather(d, PAIRS, axis=1), axis=2)
        q = self.competition(phases)
        pressure = tf.reduce_sum(queues[..., 0] - queues[..., 1], axis=1, keepdims=True)
        return q, tf.nn.softmax(q / 0.5, axis=-1), q - 0.1 * pressure


def make():
    return MPLight(np.random.default_rng(5))


def inputs(seed):
    r = np.random.default_rng(seed)
    queues = r.uniform(0, 9, size=(6, MOVES, 2)).astype("float32")
    return queues, np.eye(PHASES, dtype="float32")[r.integers(0, PHASES, 6)]
