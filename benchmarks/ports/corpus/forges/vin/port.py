"""VIN in TensorFlow, as functions over a dictionary of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
H, W, QS, K, ACTIONS = 7, 9, 8, 5, 6


def conv(x, kernel):
    return tf.nn.conv2d(x, kernel, strides=1, padding="SAME")


def read_at(grid, position):
    """The cell (row, column) of each example."""
    return tf.gather_nd(grid, position, batch_dims=1)


class Planner(tf.Module):
    def __init__(self, hidden=14, seed=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        new = lambda *shape: tf.Variable((rng.normal(size=shape) * 0.3).astype("float32"))
        self.params = {
            "hidden": {"w": new(3, 3, 2, hidden), "b": new(hidden)},
            "reward": new(1, 1, hidden, 1),
            "q_reward": new(3, 3, 1, QS),
            "q_value": new(3, 3, 1, QS),
            "actor": {"w": new(QS, ACTIONS), "b": new(ACTIONS)},
            "baseline": {"w": new(H * W * 2, 1), "b": new(1)},
        }

    def reward_map(self, maze):
        hidden = self.params["hidden"]
        return conv(tf.nn.relu(conv(maze, hidden["w"]) + hidden["b"]), self.params["reward"])

    def backup(self, r, v):
        kernel = tf.concat([self.params["q_reward"], self.params["q_value"]], axis=2)
        return conv(tf.concat([r, v], axis=-1), kernel)

    def plan(self, r):
        v = tf.reduce_max(conv(r, self.params["q_reward"]), axis=-1, keepdims=True)
        for _ in range(K):
            v = tf.reduce_max(self.backup(r, v), axis=-1, keepdims=True)
        return self.backup(r, v), v

    def __call__(self, maze, position):
        maze = tf.transpose(maze, [0, 2, 3, 1])
        q, v = self.plan(self.reward_map(maze))
        actor, baseline = self.params["actor"], self.params["baseline"]
        logits = read_at(q, position) @ actor["w"] + actor["b"]
        flat = tf.reshape(maze, [-1, H * W * 2])
        value = read_at(v, position) + flat @ baseline["w"] + baseline["b"]
        return logits, tf.nn.softmax(logits), tf.squeeze(value, -1)


def make():
    return Planner()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    maze = np.zeros((b, 2, H, W), "float32")
    maze[:, 0] = rng.random((b, H, W)) < 0.3
    goals = rng.integers(0, H * W, size=b)
    maze.reshape(b, 2, -1)[np.arange(b), 1, goals] = 10.0
    position = np.stack([rng.integers(0, H, size=b), rng.integers(0, H, size=b)], 1).astype("int64")
    return maze, position


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    hwio = lambda w: w.transpose(2, 3, 1, 0)
    p = ported.params
    p["hidden"]["w"].assign(hwio(sd["h.weight"]))
    p["hidden"]["b"].assign(sd["h.bias"])
    p["reward"].assign(hwio(sd["r.weight"]))
    p["q_reward"].assign(hwio(sd["q.weight"]))
    p["q_value"].assign(hwio(sd["w"]))
    p["actor"]["w"].assign(sd["fc.weight"].T)
    p["actor"]["b"].assign(sd["fc.bias"])
    flat = sd["baseline.weight"].reshape(2, H, W).transpose(1, 2, 0)
    p["baseline"]["w"].assign(flat.reshape(-1, 1))
    p["baseline"]["b"].assign(sd["baseline.bias"])
