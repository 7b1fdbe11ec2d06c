"""GPPN in Keras, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
ORIENT, ACTIONS, LH, LQ, K, SIZE = 2, 4, 8, 10, 5, 7


class Planner(keras.layers.Layer):
    """Runs one LSTM cell at every location, messages by a convolution."""

    def __init__(self, steps, **kw):
        super().__init__(**kw)
        self.steps = steps
        self.message = layers.Conv2D(3, 5, padding="same", use_bias=False)
        self.cell = layers.LSTMCell(LH)

    def call(self, h, c):
        b = h.shape[0]
        h, c = ops.reshape(h, (-1, LH)), ops.reshape(c, (-1, LH))
        for _ in range(self.steps):
            msg = self.message(ops.reshape(h, (b, SIZE, SIZE, LH)))
            h, (_, c) = self.cell(ops.reshape(msg, (-1, 3)), [h, c])
        return ops.reshape(h, (b, SIZE, SIZE, LH))


class GPPN(keras.Model):
    def __init__(self):
        super().__init__()
        self.hid = layers.Conv2D(LQ, 3, padding="same")
        self.norm = layers.BatchNormalization(epsilon=1e-5)
        self.init_h = layers.Conv2D(LH, 3, padding="same")
        self.init_c = layers.Conv2D(LH, 3, padding="same", activation="tanh")
        self.planner = Planner(K - 1)
        self.policy = layers.Conv2D(ORIENT * ACTIONS, 1, use_bias=False)

    def call(self, maze, goal):
        x = self.hid(ops.concatenate([maze, goal], axis=-1))
        x = ops.relu(self.norm(x, training=False))
        h = self.planner(self.init_h(x), self.init_c(x))
        logits = self.policy(h)
        split = ops.reshape(logits, (-1, SIZE, SIZE, ORIENT, ACTIONS))
        probs = ops.softmax(split, axis=-1)
        return logits, ops.reshape(probs, ops.shape(logits))


def make():
    m = GPPN()
    m(*inputs(0))
    r = np.random.RandomState(8)
    for w in m.weights:
        v = r.randn(*w.shape) * 0.2
        w.assign((np.abs(v) + 0.5 if "variance" in w.path or "gamma" in w.path else v).astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    maze = (r.rand(4, 2, SIZE, SIZE) < 0.6).astype("float32") * 0.5 + 0.1 * r.randn(4, 2, SIZE, SIZE).astype("float32")
    goal = np.zeros((4, ORIENT, SIZE, SIZE), "float32")
    for i in range(4):
        goal[i, r.randint(ORIENT), r.randint(SIZE), r.randint(SIZE)] = 1
    return maze.transpose(0, 2, 3, 1).copy(), goal.transpose(0, 2, 3, 1).copy()


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for layer, name in ((ported.hid, "hid"), (ported.init_h, "h0"), (ported.init_c, "c0"),
                        (ported.planner.message, "conv"), (ported.policy, "policy")):
        layer.kernel.assign(sd[name + ".weight"].transpose(2, 3, 1, 0))
        if layer.use_bias:
            layer.bias.assign(sd[name + ".bias"])
    bn = ported.norm
    bn.gamma.assign(sd["bn.weight"])
    bn.beta.assign(sd["bn.bias"])
    bn.moving_mean.assign(sd["bn.running_mean"])
    bn.moving_variance.assign(sd["bn.running_var"])
    cell = ported.planner.cell
    cell.kernel.assign(sd["lstm.weight_ih"].T)
    cell.recurrent_kernel.assign(sd["lstm.weight_hh"].T)
    cell.bias.assign(sd["lstm.bias_ih"] + sd["lstm.bias_hh"])
