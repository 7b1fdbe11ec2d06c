"""GRU-D in Keras: a cell for keras.layers.RNN and a subclassed model."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
T, D, S = 8, 6, 3


class GRUDCell(layers.Layer):
    """States: hidden, last observation. Input per step: value, mask, delta, mean."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = [units, D]
        self.output_size = units
        self.hidden_decay = layers.Dense(units)
        self.gates = layers.Dense(2 * units, activation="sigmoid")
        self.proposal = layers.Dense(units, activation="tanh")
        self.w_input_decay = self.add_weight(shape=(D,), name="w_input_decay")
        self.b_input_decay = self.add_weight(shape=(D,), name="b_input_decay")

    def call(self, step, states):
        hidden, seen = states
        value, mask, delta, mean = ops.split(step, 4, axis=-1)
        input_rate = ops.exp(-ops.relu(self.w_input_decay * delta + self.b_input_decay))
        hidden_rate = ops.exp(-ops.relu(self.hidden_decay(delta)))
        guess = input_rate * seen + (1.0 - input_rate) * mean
        imputed = ops.where(mask > 0, value, guess)
        seen = ops.where(mask > 0, value, seen)
        hidden = hidden * hidden_rate
        z, r = ops.split(self.gates(ops.concatenate([imputed, hidden, mask], -1)), 2, axis=-1)
        proposal = self.proposal(ops.concatenate([imputed, r * hidden, mask], -1))
        hidden = hidden + z * (proposal - hidden)
        return hidden, [hidden, seen]


class GRUD(keras.Model):
    def __init__(self, units=16):
        super().__init__()
        self.units = units
        self.rnn = layers.RNN(GRUDCell(units), unroll=True)
        self.dense = layers.Dense(12, activation="relu")
        self.out = layers.Dense(1, activation="sigmoid")

    def time_since_seen(self, times, mask):
        delta = ops.zeros_like(mask[:, 0])
        rows = [delta]
        gaps = times[:, 1:] - times[:, :-1]
        for t in range(1, T):
            delta = gaps[:, t - 1, None] + ops.where(mask[:, t - 1] > 0, 0.0, delta)
            rows.append(delta)
        return ops.stack(rows, axis=1)

    def call(self, inputs):
        x, mask, times, static = inputs
        delta = self.time_since_seen(times, mask)
        observed = ops.maximum(ops.sum(mask, axis=1), 1.0)
        mean = ops.sum(x * mask, axis=1) / observed
        means = ops.repeat(mean[:, None], T, axis=1)
        steps = ops.concatenate([x, mask, delta, means], axis=-1)
        initial = [ops.zeros((x.shape[0], self.units)), mean]
        hidden = self.rnn(steps, initial_state=initial)
        risk = self.out(self.dense(ops.concatenate([hidden, static], axis=-1)))
        return risk, hidden


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = GRUD()
    net(inputs(0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.5, 1.0, size=(5, T, D)).astype("float32")
    mask = (rng.uniform(size=x.shape) < 0.55).astype("float32")
    times = np.cumsum(rng.uniform(0.2, 1.5, size=(5, T)), axis=1).astype("float32")
    static = rng.normal(size=(5, S)).astype("float32")
    return x * mask, mask, times, static


def load(ported, original):
    cell = ported.rnn.cell
    cell.w_input_decay.assign(original.decay_x.detach().numpy())
    cell.b_input_decay.assign(original.decay_x_bias.detach().numpy())

    def dense(layer, *linears):
        kernel = np.concatenate([m.weight.detach().numpy() for m in linears]).T
        bias = np.concatenate([m.bias.detach().numpy() for m in linears])
        layer.set_weights([kernel, bias])

    dense(cell.hidden_decay, original.decay_h)
    dense(cell.gates, original.update, original.reset)
    dense(cell.proposal, original.candidate)
    dense(ported.dense, original.head[0])
    dense(ported.out, original.head[2])
