"""QMIX for the Keras rollout workers. The agent axis is kept; mixing is by einsum."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class AgentNet(layers.Layer):
    """The recurrent Q network; the GRU step is written out, gates in torch's order r, z, n."""

    def __init__(self, n_actions, width, **kw):
        super().__init__(**kw)
        self.width = width
        self.encode = layers.Dense(width, activation="relu", name="encode")
        self.from_input = layers.Dense(3 * width, name="from_input")
        self.from_hidden = layers.Dense(3 * width, name="from_hidden")
        self.q = layers.Dense(n_actions, name="q")

    def call(self, x, h):
        gi = self.from_input(self.encode(x))
        gh = self.from_hidden(h)
        i_r, i_z, i_n = ops.split(gi, 3, axis=-1)
        h_r, h_z, h_n = ops.split(gh, 3, axis=-1)
        reset = ops.sigmoid(i_r + h_r)
        update = ops.sigmoid(i_z + h_z)
        new = ops.tanh(i_n + reset * h_n)
        h = (1.0 - update) * new + update * h
        return self.q(h), h


def hyper(width, out):
    return keras.Sequential([layers.Dense(width, activation="relu"), layers.Dense(out)])


class Mixer(layers.Layer):
    def __init__(self, n_agents, embed, **kw):
        super().__init__(**kw)
        self.n, self.embed = n_agents, embed
        self.w1 = hyper(32, embed * n_agents)
        self.b1 = layers.Dense(embed)
        self.w2 = hyper(32, embed)
        self.bias = hyper(embed, 1)

    def call(self, qs, state):
        w1 = ops.reshape(ops.abs(self.w1(state)), (-1, self.n, self.embed))
        mixed = ops.einsum("bn,bne->be", qs, w1) + self.b1(state)
        mixed = ops.elu(mixed)
        w2 = ops.abs(self.w2(state))
        return ops.sum(mixed * w2, axis=-1, keepdims=True) + self.bias(state)


class QMixPolicy(keras.Model):
    def __init__(self, n_agents=4, n_actions=6, width=24, embed=16):
        super().__init__()
        self.n_agents = n_agents
        self.agent = AgentNet(n_actions, width)
        self.mixer = Mixer(n_agents, embed)

    def call(self, obs, last_action, hidden, avail, state):
        batch = ops.shape(obs)[0]
        ids = ops.tile(ops.eye(self.n_agents)[None], (batch, 1, 1))
        x = ops.concatenate([obs, last_action, ids], axis=-1)
        q, h = self.agent(x, hidden)
        q = ops.where(avail > 0, q, -1e4)
        greedy = ops.max(q, axis=-1)
        return self.mixer(greedy, state), q, h


def make():
    keras.utils.set_random_seed(7)
    net = QMixPolicy()
    z = lambda *s: np.zeros(s, "float32")
    net(z(1, 4, 11), z(1, 4, 6), z(1, 4, 24), z(1, 4, 6) + 1, z(1, 18))
    return net


def load(port, ref):
    n = lambda t: t.detach().numpy()
    put = lambda dense, lin: dense.set_weights([n(lin.weight).T, n(lin.bias)])
    a, m = ref.agent, ref.mixer
    put(port.agent.encode, a.fc1)
    put(port.agent.q, a.fc2)
    port.agent.from_input.set_weights([n(a.rnn.weight_ih).T, n(a.rnn.bias_ih)])
    port.agent.from_hidden.set_weights([n(a.rnn.weight_hh).T, n(a.rnn.bias_hh)])
    for mine, theirs in ((port.mixer.w1, m.hyper_w_1), (port.mixer.w2, m.hyper_w_final), (port.mixer.bias, m.V)):
        put(mine.layers[0], theirs[0])
        put(mine.layers[1], theirs[2])
    put(port.mixer.b1, m.hyper_b_1)
