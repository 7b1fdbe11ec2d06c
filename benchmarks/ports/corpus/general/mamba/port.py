"""Mamba as TensorFlow functions over a dictionary of variables; the scan is a tf.scan over time."""

import tensorflow as tf

FRAMEWORK = "tensorflow"

VOCAB, WIDTH, INNER, STATE, RANK, TAPS, DEPTH = 20, 16, 32, 4, 3, 4, 2
MAX_STEP = 0.25
EPS = 1e-5


def rms_norm(x, gain):
    power = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return gain * x / tf.sqrt(power + EPS)


def causal_depthwise(x, taps, bias):
    """Depthwise convolution over time that sees only the past. x (B, T, C), taps (K, C)."""
    padded = tf.pad(x, [[0, 0], [TAPS - 1, 0], [0, 0]])
    length = tf.shape(x)[1]
    return tf.add_n([padded[:, k : k + length] * taps[k] for k in range(TAPS)]) + bias


def step_sizes(dt, p):
    raw = tf.math.softplus(tf.matmul(dt, p["dt_w"]) + p["dt_b"])
    return tf.minimum(raw, MAX_STEP)


def scan_states(x, step, a, b):
    """All states of the recurrence, time first: (T, B, C, N)."""
    decay = tf.exp(tf.einsum("btc,cn->tbcn", step, a))
    drive = tf.einsum("btc,btn->tbcn", step * x, b)

    def advance(state, now):
        return now[0] * state + now[1]

    return tf.scan(advance, (decay, drive), initializer=tf.zeros_like(drive[0]))


def mixer(x, p):
    x, gate = tf.split(tf.matmul(x, p["in_w"]), 2, axis=-1)
    u = tf.nn.silu(causal_depthwise(x, p["conv_w"], p["conv_b"]))
    dt, b, c = tf.split(tf.matmul(u, p["x_w"]), [RANK, STATE, STATE], axis=-1)
    step = step_sizes(dt, p)
    states = scan_states(u, step, -tf.exp(p["a_log"]), b)
    y = tf.einsum("tbcn,btn->btc", states, c)
    y = y + u * p["d"]
    return tf.matmul(y * tf.nn.silu(gate), p["out_w"])


SHAPES = {
    "gain": (WIDTH,),
    "in_w": (WIDTH, 2 * INNER),
    "conv_w": (TAPS, INNER),
    "conv_b": (INNER,),
    "x_w": (INNER, RANK + 2 * STATE),
    "dt_w": (RANK, INNER),
    "dt_b": (INNER,),
    "a_log": (INNER, STATE),
    "d": (INNER,),
    "out_w": (INNER, WIDTH),
}


class MambaTF(tf.Module):
    def __init__(self, seed):
        super().__init__()
        random = tf.random.Generator.from_seed(seed)
        self.table = tf.Variable(random.normal((VOCAB, WIDTH)), name="table")
        self.blocks = [
            {name: tf.Variable(0.1 * random.normal(shape), name=name) for name, shape in SHAPES.items()}
            for _ in range(DEPTH)
        ]
        self.final_gain = tf.Variable(tf.ones(WIDTH), name="final_gain")

    def __call__(self, ids):
        x = tf.gather(self.table, ids)
        for p in self.blocks:
            x = x + mixer(rms_norm(x, p["gain"]), p)
        return tf.matmul(rms_norm(x, self.final_gain), self.table, transpose_b=True)


def make(seed=50):
    return MambaTF(seed)


def load(model, reference):
    def array(tensor):
        return tensor.detach().cpu().numpy()

    model.table.assign(array(reference.embedding.weight))
    model.final_gain.assign(array(reference.norm_f.weight))
    for p, layer in zip(model.blocks, reference.layers):
        mix = layer.mixer
        p["gain"].assign(array(layer.norm.weight))
        p["in_w"].assign(array(mix.in_proj.weight).T)
        p["conv_w"].assign(array(mix.conv1d.weight)[:, 0].T)
        p["conv_b"].assign(array(mix.conv1d.bias))
        p["x_w"].assign(array(mix.x_proj.weight).T)
        p["dt_w"].assign(array(mix.dt_proj.weight).T)
        p["dt_b"].assign(array(mix.dt_proj.bias))
        p["a_log"].assign(array(mix.A_log))
        p["d"].assign(array(mix.D))
        p["out_w"].assign(array(mix.out_proj.weight).T)
