"""Particle simulator (after Sanchez-Gonzalez et al., 2020), raw TensorFlow: encode, message passing, decode, integrate."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, DIM, LATENT, STEPS, RADIUS, DT = 12, 2, 16, 2, 0.9, 0.1


class MLP(tf.Module):
    def __init__(self, rng, sizes, norm=True):
        super().__init__()
        self.ws = [
            tf.Variable((rng.normal(size=(a, b)) / np.sqrt(a)).astype("float32"))
            for a, b in zip(sizes[:-1], sizes[1:])
        ]
        self.bs = [tf.Variable((0.2 * rng.normal(size=b)).astype("float32")) for b in sizes[1:]]
        self.scale = self.offset = None
        if norm:
            self.scale = tf.Variable(rng.uniform(0.6, 1.4, sizes[-1]).astype("float32"))
            self.offset = tf.Variable((0.2 * rng.normal(size=sizes[-1])).astype("float32"))

    def __call__(self, x):
        for i, (w, b) in enumerate(zip(self.ws, self.bs)):
            x = tf.matmul(x, w) + b
            if i < len(self.ws) - 1:
                x = tf.nn.relu(x)
        if self.scale is not None:
            mean, var = tf.nn.moments(x, [-1], keepdims=True)
            x = tf.nn.batch_normalization(x, mean, var, self.offset, self.scale, 1e-5)
        return x


class Simulator(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.node_encoder = MLP(rng, [DIM + 4 + 3, LATENT, LATENT])
        self.edge_encoder = MLP(rng, [DIM + 1, LATENT, LATENT])
        self.edge_nets = [MLP(rng, [3 * LATENT, LATENT, LATENT]) for _ in range(STEPS)]
        self.node_nets = [MLP(rng, [2 * LATENT, LATENT, LATENT]) for _ in range(STEPS)]
        self.decoder = MLP(rng, [LATENT, LATENT, DIM], norm=False)
        self.types = tf.Variable(rng.normal(size=(3, 3)).astype("float32"))

    def __call__(self, position, velocity, kind, senders, receivers):
        low = tf.clip_by_value((position + 1.0) / RADIUS, -1.0, 1.0)
        high = tf.clip_by_value((1.0 - position) / RADIUS, -1.0, 1.0)
        nodes = tf.concat([velocity, low, high, tf.gather(self.types, kind)], axis=-1)
        relative = (tf.gather(position, senders) - tf.gather(position, receivers)) / RADIUS
        distance = tf.norm(relative, axis=-1, keepdims=True)
        v = self.node_encoder(nodes)
        e = self.edge_encoder(tf.concat([relative, distance], axis=-1))
        for edge_net, node_net in zip(self.edge_nets, self.node_nets):
            message = edge_net(tf.concat([e, tf.gather(v, senders), tf.gather(v, receivers)], axis=-1))
            gathered = tf.math.unsorted_segment_sum(message, receivers, N)
            v = v + node_net(tf.concat([v, gathered], axis=-1))
            e = e + message
        acceleration = self.decoder(v)
        new_velocity = velocity + DT * acceleration
        new_position = position + DT * new_velocity
        energy = 0.5 * tf.reduce_sum(new_velocity**2)
        return new_position, new_velocity, acceleration, energy


def make():
    return Simulator(np.random.default_rng(13))


def inputs(seed):
    rng = np.random.default_rng(seed)
    position = rng.uniform(-1, 1, size=(N, DIM)).astype("float32")
    far = np.linalg.norm(position[:, None] - position[None], axis=-1)
    senders, receivers = np.nonzero((far < RADIUS) & ~np.eye(N, dtype=bool))
    return {
        "position": position,
        "velocity": (0.3 * rng.normal(size=(N, DIM))).astype("float32"),
        "kind": rng.integers(0, 3, size=N).astype("int32"),
        "senders": senders.astype("int32"),
        "receivers": receivers.astype("int32"),
    }
