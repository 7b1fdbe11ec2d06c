"""Munchausen DQN (Chainer): a dueling convolutional network and the Munchausen n-step target."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
ACTIONS, SIDE, N_STEP = 4, 21, 3


class DuelingNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(2, 6, ksize=4, stride=2, pad=1)
            self.bn = L.BatchNormalization(6)
            self.conv2 = L.Convolution2D(6, 8, ksize=2, stride=1)
            self.adv1 = L.Linear(72, 12)
            self.adv2 = L.Linear(12, ACTIONS)
            self.val1 = L.Linear(72, 12)
            self.val2 = L.Linear(12, 1)

    def forward(self, x):
        h = F.relu(self.bn(self.conv1(x)))
        h = F.average_pooling_2d(h, 3, stride=2, pad=1)
        h = F.leaky_relu(self.conv2(h), slope=0.2)
        h = F.max_pooling_2d(h, 2, stride=1, cover_all=True)
        h = F.reshape(h, (h.shape[0], -1))
        adv = self.adv2(F.relu(self.adv1(h)))
        val = self.val2(F.relu(self.val1(h)))
        mean = F.mean(adv, axis=1, keepdims=True)
        return F.broadcast_to(val, adv.shape) + adv - F.broadcast_to(mean, adv.shape)


class Munchausen(chainer.Chain):
    def __init__(self, gamma=0.9, tau=0.3, alpha=0.8, clip=-1.0):
        super().__init__()
        self.gamma, self.tau, self.alpha, self.clip = gamma, tau, alpha, clip
        with self.init_scope():
            self.online = DuelingNet()
            self.target = DuelingNet()

    def forward(self, obs, action, rewards, next_obs):
        q = self.online(obs)
        q_target, q_next = self.target(obs), self.target(next_obs)
        log_pi = F.log_softmax(q_target / self.tau, axis=1)
        bonus = self.tau * F.sum(log_pi * action, axis=1)
        bonus = F.clip(bonus, self.clip, 0.0)
        log_pi_next = F.log_softmax(q_next / self.tau, axis=1)
        soft = F.exp(log_pi_next) * (q_next - self.tau * log_pi_next)
        v_next = F.sum(soft, axis=1)
        discounts = self.gamma ** np.arange(N_STEP, dtype="float32")
        n_step = F.sum(rewards * discounts[None], axis=1)
        target = n_step + self.alpha * bonus + self.gamma ** N_STEP * v_next
        chosen = F.sum(q * action, axis=1)
        td = chosen - target
        huber = F.where(np.abs(td.array) < 1.0, 0.5 * td ** 2, F.absolute(td) - 0.5)
        return q, target, huber


def make():
    r = np.random.default_rng(6)
    m = Munchausen()
    for p in m.params():
        p.array = r.normal(size=p.shape).astype("float32") * 0.25 + (1.0 if p.name == "gamma" else 0.0)
    for net in (m.online, m.target):
        net.bn.avg_mean = r.normal(size=6).astype("float32") * 0.3
        net.bn.avg_var = r.uniform(0.4, 1.6, size=6).astype("float32")
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    a = np.eye(ACTIONS, dtype="float32")[r.integers(0, ACTIONS, 6)]
    return f(6, 2, SIDE, SIDE), a, f(6, N_STEP), f(6, 2, SIDE, SIDE)
