"""Neural A* as tf.Modules, channels last."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
SIZE, STEPS = 6, 6


class ConvBN(tf.Module):
    def __init__(self, cin, cout, rng, name=None):
        super().__init__(name=name)
        new = lambda a, train=True: tf.Variable(a.astype("float32"), trainable=train)
        self.kernel = new(rng.randn(3, 3, cin, cout) * 0.3)
        self.bias = new(rng.randn(cout) * 0.3)
        self.gamma = new(rng.rand(cout) + 0.5)
        self.beta = new(rng.randn(cout) * 0.3)
        self.mean = new(rng.randn(cout) * 0.2, False)
        self.var = new(rng.rand(cout) * 0.2 + 0.02, False)

    def __call__(self, x):
        x = tf.nn.conv2d(x, self.kernel, strides=1, padding="SAME") + self.bias
        return tf.nn.batch_normalization(x, self.mean, self.var, self.beta, self.gamma, 1e-5)


class Encoder(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.blocks = [ConvBN(2, 8, rng), ConvBN(8, 12, rng), ConvBN(12, 1, rng)]
        self.const = tf.Variable([2.2])

    def __call__(self, x):
        for block in self.blocks[:-1]:
            x = tf.nn.relu(block(x))
        return tf.sigmoid(self.blocks[-1](x)) * self.const


def heuristic(goal, tb_factor=0.05):
    rng = tf.range(SIZE, dtype=tf.float32)
    loc = tf.stack(tf.meshgrid(rng, rng, indexing="ij"), axis=-1)
    goal_loc = tf.einsum("ijk,bij->bk", loc, goal[..., 0])
    diff = loc[None] - goal_loc[:, None, None, :]
    dxdy = tf.abs(diff)
    cheb = tf.reduce_sum(dxdy, -1, keepdims=True) - tf.reduce_min(dxdy, -1, keepdims=True)
    euc = tf.sqrt(tf.reduce_sum(diff ** 2, -1, keepdims=True))
    return cheb + tb_factor * euc


def select(val):
    flat = tf.reshape(val, (val.shape[0], -1))
    y = flat / tf.reduce_sum(flat, -1, keepdims=True)
    hard = tf.one_hot(tf.argmax(y, -1), y.shape[-1])
    return tf.reshape(tf.stop_gradient(hard - y) + y, val.shape)


class AStar(tf.Module):
    def __init__(self, g_ratio=0.3):
        super().__init__()
        k = np.ones((3, 3, 1, 1), "float32")
        k[1, 1] = 0
        self.neighbor_filter = tf.Variable(k, trainable=False)
        self.g_ratio = g_ratio

    def expand(self, x):
        return tf.nn.conv2d(x, self.neighbor_filter, 1, "SAME")

    def __call__(self, cost, start, goal, passable):
        open_maps, hist, g = start, tf.zeros_like(start), tf.zeros_like(start)
        h = heuristic(goal) + cost
        for _ in range(STEPS):
            f = self.g_ratio * g + (1 - self.g_ratio) * h
            sel = select(tf.exp(-f / math.sqrt(SIZE)) * open_maps)
            at_goal = tf.reduce_sum(sel * goal, (1, 2, 3), keepdims=True)
            unsolved = tf.cast(at_goal < 1e-8, tf.float32)
            hist = tf.clip_by_value(hist + sel, 0.0, 1.0)
            open_maps = tf.clip_by_value(open_maps - unsolved * sel, 0.0, 1.0)
            neighbors = self.expand(sel) * passable
            g2 = self.expand((g + cost) * sel)
            better = tf.cast(g > g2, tf.float32)
            idx = (1 - open_maps) * (1 - hist) + open_maps * better
            idx = tf.stop_gradient(idx * neighbors)
            g = g2 * idx + g * (1 - idx)
            open_maps = tf.clip_by_value(open_maps + idx, 0.0, 1.0)
        return hist, g, open_maps


class NeuralAstar(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.encoder = Encoder(rng)
        self.astar = AStar()

    def __call__(self, map_design, start, goal):
        cost = self.encoder(tf.concat([map_design, start + goal], -1))
        return (cost,) + self.astar(cost, start, goal, map_design)


def make():
    return NeuralAstar(np.random.RandomState(17))


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    design = (r.rand(B, 1, SIZE, SIZE) > 0.3).astype("float32")
    start, goal = np.zeros_like(design), np.zeros_like(design)
    for b in range(B):
        start[b, 0, r.randint(0, 2), r.randint(0, SIZE)] = 1
        goal[b, 0, r.randint(SIZE - 2, SIZE), r.randint(0, SIZE)] = 1
    design = np.maximum(design, start + goal)
    return tuple(np.ascontiguousarray(a.transpose(0, 2, 3, 1)) for a in (design, start, goal))


def load(ported, original):
    seq = original.encoder.model
    for block, i in zip(ported.encoder.blocks, (0, 3, 6)):
        conv, bn = seq[i], seq[i + 1]
        block.kernel.assign(conv.weight.detach().numpy().transpose(2, 3, 1, 0))
        block.bias.assign(conv.bias.detach().numpy())
        block.gamma.assign(bn.weight.detach().numpy())
        block.beta.assign(bn.bias.detach().numpy())
        block.mean.assign(bn.running_mean.numpy())
        block.var.assign(bn.running_var.numpy())
    ported.encoder.const.assign(original.encoder.const.detach().numpy())
