"""QMIX in Chainer."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class GRUCell(chainer.Chain):
    """GRU with fused input and hidden projections (r, z, n), the reset gate after the matmul."""

    def __init__(self, n_in, n_units):
        super().__init__()
        with self.init_scope():
            self.x2h = L.Linear(n_in, 3 * n_units)
            self.h2h = L.Linear(n_units, 3 * n_units)

    def forward(self, x, h):
        xr, xz, xn = F.split_axis(self.x2h(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h2h(h), 3, axis=1)
        r = F.sigmoid(xr + hr)
        z = F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return (1 - z) * n + z * h


class Agent(chainer.Chain):
    def __init__(self, n_in, n_units, n_actions):
        super().__init__()
        self.n_units = n_units
        with self.init_scope():
            self.embed = L.Linear(n_in, n_units)
            self.gru = GRUCell(n_units, n_units)
            self.out = L.Linear(n_units, n_actions)

    def forward(self, x, h):
        h = self.gru(F.relu(self.embed(x)), h)
        return self.out(h), h


class MLP(chainer.Chain):
    def __init__(self, n_in, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(n_in, n_units)
            self.l1 = L.Linear(n_units, n_out)

    def forward(self, x):
        return self.l1(F.relu(self.l0(x)))


class Mixer(chainer.Chain):
    def __init__(self, n_agents, state_dim, embed, hyper):
        super().__init__()
        self.n_agents, self.embed = n_agents, embed
        with self.init_scope():
            self.w1 = MLP(state_dim, hyper, embed * n_agents)
            self.b1 = L.Linear(state_dim, embed)
            self.w2 = MLP(state_dim, hyper, embed)
            self.v = MLP(state_dim, embed, 1)

    def forward(self, qs, states):
        batch, steps = qs.shape[:2]
        qs = F.reshape(qs, (-1, self.n_agents))
        s = F.reshape(states, (batch * steps, -1))
        w1 = F.reshape(F.absolute(self.w1(s)), (-1, self.n_agents, self.embed))
        hidden = F.elu(F.matmul(qs[:, None, :], w1)[:, 0] + self.b1(s))
        w2 = F.absolute(self.w2(s))
        total = F.sum(hidden * w2, axis=1, keepdims=True) + self.v(s)
        return F.reshape(total, (batch, steps))


class QMix(chainer.Chain):
    def __init__(self, n_agents=3, n_actions=5, obs_dim=7, state_dim=10, n_units=16, embed=8, hyper=12):
        super().__init__()
        self.n_agents, self.n_actions = n_agents, n_actions
        with self.init_scope():
            self.agent = Agent(obs_dim + n_actions + n_agents, n_units, n_actions)
            self.mixer = Mixer(n_agents, state_dim, embed, hyper)

    def agent_inputs(self, obs, actions):
        """All steps at once: observation, previous action, agent id."""
        xp = self.xp
        batch, steps, n, _ = obs.shape
        one_hot = xp.eye(self.n_actions, dtype=obs.dtype)[actions]
        last = xp.zeros_like(one_hot)
        last[:, 1:] = one_hot[:, :-1]
        ids = xp.broadcast_to(xp.eye(n, dtype=obs.dtype), (batch, steps, n, n))
        return xp.concatenate([obs, last, ids], axis=3)

    def forward(self, obs, state, actions, avail):
        xp = self.xp
        batch, steps, n, _ = obs.shape
        x = self.agent_inputs(obs, actions)
        h = chainer.Variable(xp.zeros((batch * n, self.agent.n_units), obs.dtype))
        values = []
        for t in range(steps):
            q, h = self.agent(x[:, t].reshape(batch * n, -1), h)
            values.append(F.reshape(q, (batch, n, self.n_actions)))
        values = F.stack(values, axis=1)

        flat = F.reshape(values, (-1, self.n_actions))
        chosen = F.reshape(F.select_item(flat, actions.reshape(-1).astype(np.int32)), actions.shape)
        blocked = xp.full(values.shape, -9999999, values.dtype)
        greedy = F.max(F.where(avail.astype(bool), values, blocked), axis=3)
        return self.mixer(chosen, state), self.mixer(greedy, state), chosen


def make(seed=50):
    np.random.seed(seed)
    return QMix()


def load(model, reference):
    def linear(link, weight, bias):
        link.W.array[...] = weight.detach().numpy()
        link.b.array[...] = bias.detach().numpy()

    def mlp(link, sequential):
        linear(link.l0, sequential[0].weight, sequential[0].bias)
        linear(link.l1, sequential[2].weight, sequential[2].bias)

    agent, mixer = reference.agent, reference.mixer
    linear(model.agent.embed, agent.fc1.weight, agent.fc1.bias)
    linear(model.agent.gru.x2h, agent.rnn.weight_ih, agent.rnn.bias_ih)
    linear(model.agent.gru.h2h, agent.rnn.weight_hh, agent.rnn.bias_hh)
    linear(model.agent.out, agent.fc2.weight, agent.fc2.bias)
    mlp(model.mixer.w1, mixer.hyper_w1)
    mlp(model.mixer.w2, mixer.hyper_w2)
    mlp(model.mixer.v, mixer.V)
    linear(model.mixer.b1, mixer.hyper_b1.weight, mixer.hyper_b1.bias)
