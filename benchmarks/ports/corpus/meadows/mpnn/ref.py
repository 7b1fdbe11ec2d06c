"""MPNN with an edge network and a Set2Set readout (Gilmer et al. 2017), in TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
ATOMS, FEATURES, BONDS = 7, 8, 4
HIDDEN = 12


class MPNN(tf.Module):
    def __init__(self, seed, rounds=3, readout_steps=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        d = HIDDEN

        def matrix(rows, columns, gain=1.2):
            return tf.Variable(rng.normal(0, gain / rows**0.5, (rows, columns)).astype("float32"))

        def vector(*shape):
            return tf.Variable(rng.normal(0, 0.2, shape).astype("float32"))

        self.rounds, self.readout_steps = rounds, readout_steps
        self.w_in, self.b_in = matrix(FEATURES, d), vector(d)
        self.w_edge1, self.b_edge1 = matrix(BONDS, 16), vector(16)
        self.w_edge2, self.b_edge2 = matrix(16, d * d, 0.6), vector(d * d)
        self.message_bias = vector(d)
        # GRU: gates z, r, candidate; a bias for the input and one for the state
        self.gru_w, self.gru_u = matrix(d, 3 * d), matrix(d, 3 * d)
        self.gru_bw, self.gru_bu = vector(3 * d), vector(3 * d)
        # LSTM of Set2Set: gates i, f, g, o
        self.lstm_w, self.lstm_u = matrix(2 * d, 4 * d), matrix(d, 4 * d)
        self.lstm_b = vector(4 * d)
        self.w_out1, self.b_out1 = matrix(2 * d, 16), vector(16)
        self.w_out2, self.b_out2 = matrix(16, 2), vector(2)

    def edge_matrices(self, bonds):
        hidden = tf.nn.relu(tf.matmul(bonds, self.w_edge1) + self.b_edge1)
        flat = tf.matmul(hidden, self.w_edge2) + self.b_edge2
        return tf.reshape(flat, (-1, ATOMS, ATOMS, HIDDEN, HIDDEN))

    def gru(self, message, state):
        xz, xr, xn = tf.split(tf.matmul(message, self.gru_w) + self.gru_bw, 3, axis=-1)
        hz, hr, hn = tf.split(tf.matmul(state, self.gru_u) + self.gru_bu, 3, axis=-1)
        z = tf.sigmoid(xz + hz)
        r = tf.sigmoid(xr + hr)
        n = tf.tanh(xn + r * hn)
        return z * state + (1 - z) * n

    def set2set(self, nodes, atom_mask):
        batch = tf.shape(nodes)[0]
        q_star = tf.zeros((batch, 2 * HIDDEN))
        h = c = tf.zeros((batch, HIDDEN))
        for _ in range(self.readout_steps):
            gates = tf.matmul(q_star, self.lstm_w) + tf.matmul(h, self.lstm_u) + self.lstm_b
            i, f, g, o = tf.split(gates, 4, axis=-1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            energy = tf.reduce_sum(nodes * h[:, None, :], axis=-1)
            energy = energy + (1.0 - atom_mask) * -1e9
            weight = tf.nn.softmax(energy, axis=-1)
            read = tf.reduce_sum(weight[..., None] * nodes, axis=1)
            q_star = tf.concat([h, read], axis=-1)
        return q_star

    def __call__(self, atoms, bonds, adjacency, atom_mask):
        h = tf.tanh(tf.matmul(atoms, self.w_in) + self.b_in) * atom_mask[..., None]
        a = self.edge_matrices(bonds)
        for _ in range(self.rounds):
            sent = tf.einsum("bvwij,bwj->bvwi", a, h)
            message = tf.reduce_sum(sent * adjacency[..., None], axis=2) + self.message_bias
            h = self.gru(message, h) * atom_mask[..., None]
        pooled = self.set2set(h, atom_mask)
        hidden = tf.nn.relu(tf.matmul(pooled, self.w_out1) + self.b_out1)
        return tf.matmul(hidden, self.w_out2) + self.b_out2


def make(seed=0):
    return MPNN(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    sizes = np.array([7, 5, 4, 6])
    mask = (np.arange(ATOMS)[None] < sizes[:, None]).astype("float32")
    atoms = rng.normal(size=(4, ATOMS, FEATURES)).astype("float32") * mask[..., None]
    upper = np.triu(rng.uniform(size=(4, ATOMS, ATOMS)) < 0.45, 1)
    adjacency = (upper | upper.transpose(0, 2, 1)).astype("float32")
    adjacency = adjacency * mask[:, :, None] * mask[:, None, :]
    bonds = rng.uniform(size=(4, ATOMS, ATOMS, BONDS)).astype("float32")
    bonds = (bonds + bonds.transpose(0, 2, 1, 3)) / 2 * adjacency[..., None]
    return atoms, bonds.astype("float32"), adjacency, mask
