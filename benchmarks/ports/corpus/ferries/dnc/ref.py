"""A DNC agent (Graves et al. 2016) with an LSTM controller, TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, HID, N, W, R, STEPS, ACTIONS = 6, 12, 6, 5, 2, 6, 4
EPS = 1e-6


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out, name):
        super().__init__(name=name)
        self.w = tf.Variable((rng.randn(n_in, n_out) * 2.5 / np.sqrt(n_in)).astype(np.float32), name="w")
        self.b = tf.Variable((0.3 * rng.randn(n_out)).astype(np.float32), name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class LSTM(tf.Module):
    """Sonnet's cell: gates i, g, f, o and a forget bias"""

    def __init__(self, rng, n_in, n_out, name):
        super().__init__(name=name)
        self.gates = Linear(rng, n_in + n_out, 4 * n_out, name="gates")

    def __call__(self, x, state):
        h, c = state
        i, g, f, o = tf.split(self.gates(tf.concat([x, h], 1)), 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, (h, c)


def oneplus(x):
    return 1.0 + tf.nn.softplus(x)


def content_weights(memory, keys, strengths):
    dot = tf.matmul(keys, memory, transpose_b=True)
    mem_norm = tf.sqrt(tf.reduce_sum(memory * memory, 2, keepdims=True) + EPS)
    key_norm = tf.sqrt(tf.reduce_sum(keys * keys, 2, keepdims=True) + EPS)
    sim = dot / (tf.matmul(key_norm, mem_norm, transpose_b=True) + EPS)
    return tf.nn.softmax(sim * tf.expand_dims(strengths, 2), axis=2)


def allocation(usage):
    usage = EPS + (1 - EPS) * usage
    nonusage = 1 - usage
    sorted_nonusage, indices = tf.nn.top_k(nonusage, k=N)
    sorted_usage = 1 - sorted_nonusage
    prod = tf.math.cumprod(sorted_usage, axis=1, exclusive=True)
    sorted_alloc = sorted_nonusage * prod
    inverse = tf.argsort(indices, axis=1)
    return tf.gather(sorted_alloc, inverse, batch_dims=1)


class DNC(tf.Module):
    def __init__(self, rng, name=None):
        super().__init__(name=name)
        self.controller = LSTM(rng, OBS + R * W, HID, name="controller")
        self.read_keys = Linear(rng, HID, R * W, "read_keys")
        self.read_strengths = Linear(rng, HID, R, "read_strengths")
        self.write_key = Linear(rng, HID, W, "write_key")
        self.write_strength = Linear(rng, HID, 1, "write_strength")
        self.erase = Linear(rng, HID, W, "erase")
        self.write = Linear(rng, HID, W, "write")
        self.free_gates = Linear(rng, HID, R, "free_gates")
        self.alloc_gate = Linear(rng, HID, 1, "alloc_gate")
        self.write_gate = Linear(rng, HID, 1, "write_gate")
        self.read_modes = Linear(rng, HID, R * 3, "read_modes")
        self.policy = Linear(rng, HID + R * W, ACTIONS, "policy")
        self.value = Linear(rng, HID + R * W, 1, "value")

    def step(self, x, state):
        memory, usage, link, precedence, write_w, read_w, reads, lstm = state
        h, lstm = self.controller(tf.concat([x, tf.reshape(reads, [-1, R * W])], 1), lstm)

        # usage
        free = tf.sigmoid(self.free_gates(h))
        usage = usage + (1 - usage) * write_w
        usage = usage * tf.reduce_prod(1 - tf.expand_dims(free, 2) * read_w, axis=1)

        # write
        c_w = content_weights(memory, tf.expand_dims(self.write_key(h), 1),
                              oneplus(self.write_strength(h)))[:, 0]
        g_a = tf.sigmoid(self.alloc_gate(h))
        g_w = tf.sigmoid(self.write_gate(h))
        write_w = g_w * (g_a * allocation(usage) + (1 - g_a) * c_w)
        erase = tf.sigmoid(self.erase(h))
        memory = memory * (1 - tf.expand_dims(write_w, 2) * tf.expand_dims(erase, 1))
        memory = memory + tf.expand_dims(write_w, 2) * tf.expand_dims(self.write(h), 1)

        # linkage
        w_i, w_j = tf.expand_dims(write_w, 2), tf.expand_dims(write_w, 1)
        link = (1 - w_i - w_j) * link + w_i * tf.expand_dims(precedence, 1)
        link = tf.linalg.set_diag(link, tf.zeros_like(usage))
        precedence = (1 - tf.reduce_sum(write_w, 1, keepdims=True)) * precedence + write_w

        # read
        forward = tf.matmul(read_w, link, transpose_b=True)
        backward = tf.matmul(read_w, link)
        c_r = content_weights(memory, tf.reshape(self.read_keys(h), [-1, R, W]),
                              oneplus(self.read_strengths(h)))
        modes = tf.nn.softmax(tf.reshape(self.read_modes(h), [-1, R, 3]), axis=2)
        read_w = modes[:, :, 0:1] * backward + modes[:, :, 1:2] * c_r + modes[:, :, 2:3] * forward
        reads = tf.matmul(read_w, memory)

        out = tf.concat([h, tf.reshape(reads, [-1, R * W])], 1)
        return out, (memory, usage, link, precedence, write_w, read_w, reads, lstm)

    def __call__(self, obs):
        B = obs.shape[0]
        z = tf.zeros
        state = (z([B, N, W]), z([B, N]), z([B, N, N]), z([B, N]), z([B, N]), z([B, R, N]), z([B, R, W]),
                 (z([B, HID]), z([B, HID])))
        outs = []
        for t in range(obs.shape[1]):
            out, state = self.step(obs[:, t], state)
            outs.append(out)
        outs = tf.stack(outs, axis=1)
        flat = tf.reshape(outs, [-1, HID + R * W])
        logits = tf.reshape(tf.nn.log_softmax(self.policy(flat)), [B, -1, ACTIONS])
        values = tf.reshape(self.value(flat), [B, -1])
        return logits, values, state[0]


def make():
    return DNC(np.random.RandomState(2))


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(5, STEPS, OBS).astype(np.float32),)
