"""The AIRL discriminator in Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class RewardNet(chainer.Chain):
    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, 32)
            self.l2 = L.Linear(32, 32)
            self.out = L.Linear(32, 1)

    def forward(self, x):
        x = F.leaky_relu(self.l1(x), slope=0.3)
        x = F.leaky_relu(self.l2(x), slope=0.3)
        return F.squeeze(self.out(x), axis=1)


class Potential(chainer.Chain):
    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, 24)
            self.l2 = L.Linear(24, 24)
            self.out = L.Linear(24, 1)

    def forward(self, x):
        return F.squeeze(self.out(F.tanh(self.l2(F.tanh(self.l1(x))))), axis=1)


class AirlDiscriminator(chainer.Chain):
    def __init__(self, n_state=11, n_actions=5, gamma=0.97):
        super().__init__()
        self.gamma, self.n_actions = gamma, n_actions
        with self.init_scope():
            self.bn = L.BatchNormalization(n_state, eps=1e-3)
            self.g = RewardNet(n_state + n_actions)
            self.h = Potential(n_state)
            self.pi1 = L.Linear(n_state, 32)
            self.pi2 = L.Linear(32, n_actions)

    def log_policy(self, s):
        hidden = self.pi1(s)
        hidden = F.dropout(hidden * F.sigmoid(hidden), 0.1)
        return F.log_softmax(self.pi2(hidden), axis=1)

    def forward(self, state, action, next_state, done, expert):
        s, s_next = self.bn(state), self.bn(next_state)
        chosen = np.eye(self.n_actions, dtype=np.float32)[action]
        g = self.g(F.concat((s, chosen), axis=1))
        shaping = self.gamma * self.h(s_next) * (1 - done) - self.h(s)
        all_logp = self.log_policy(s)
        logits = g + shaping - F.select_item(all_logp, action)

        target = np.where(expert > 0.5, 0.95, 0.05).astype(np.float32)
        loss = F.mean(F.softplus(logits) - logits * target)
        entropy = -F.sum(F.exp(all_logp) * all_logp, axis=1)
        return {
            "d": F.sigmoid(logits),
            "g": g,
            "imitation_reward": logits + 0.01 * entropy,
            "loss": loss,
            "accuracy_margin": logits * (2 * expert - 1),
        }


def make(seed=6):
    rng = np.random.RandomState(seed)
    net = AirlDiscriminator()
    for _, p in sorted(net.namedparams()):
        p.data[...] = rng.normal(0.1, 0.25, p.data.shape)
    net.bn.avg_mean[...] = rng.normal(0, 0.3, 11)
    net.bn.avg_var[...] = rng.uniform(0.4, 1.2, 11)
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    state = r.normal(size=(8, 11)).astype("float32")
    action = r.integers(0, 5, size=8).astype("int32")
    next_state = (state + 0.5 * r.normal(size=(8, 11))).astype("float32")
    done = np.zeros(8, "float32")
    done[[2, 5]] = 1
    expert = np.repeat([1, 0], 4).astype("float32")
    return state, action, next_state, done, expert


def load(ported, original):
    gamma, beta, mean, var = original.normalise.get_weights()
    ported.bn.gamma.data[...] = gamma
    ported.bn.beta.data[...] = beta
    ported.bn.avg_mean[...] = mean
    ported.bn.avg_var[...] = var

    def dense(link, layer):
        w, b = layer.get_weights()
        link.W.data[...] = w.T
        link.b.data[...] = b

    r, h, p = original.reward_net.layers, original.potential.layers, original.policy.layers
    for link, layer in zip((ported.g.l1, ported.g.l2, ported.g.out), (r[0], r[2], r[4])):
        dense(link, layer)
    for link, layer in zip((ported.h.l1, ported.h.l2, ported.h.out), h):
        dense(link, layer)
    dense(ported.pi1, p[0])
    dense(ported.pi2, p[2])
