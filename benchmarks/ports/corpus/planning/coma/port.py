"""COMA in Keras: all agents in one batched critic call, targets without in-place writes."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class ComaLearner(keras.Model):
    def __init__(self, n_agents=3, n_actions=4, gamma=0.97, lam=0.8, floor=0.1):
        super().__init__()
        self.n, self.a = n_agents, n_actions
        self.gamma, self.lam, self.floor = gamma, lam, floor
        self.trunk = layers.Dense(20)
        self.norm = layers.GroupNormalization(groups=4, epsilon=1e-5)
        self.logits = layers.Dense(n_actions)
        self.critic = [layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu"), layers.Dense(n_actions)]

    def pi(self, obs, avail):
        h = ops.reshape(self.trunk(obs), (-1, 20))
        h = keras.activations.gelu(self.norm(h), approximate=False)
        logits = ops.reshape(self.logits(h), ops.shape(avail))
        exp = avail * ops.exp(logits - ops.max(logits, axis=-1, keepdims=True))
        probs = exp / ops.sum(exp, axis=-1, keepdims=True)
        uniform = avail / ops.sum(avail, axis=-1, keepdims=True)
        return probs + self.floor * (uniform - probs)

    def q(self, state, obs, joint):
        b, t = state.shape[:2]
        keep = 1.0 - ops.eye(self.n)  # (for agent, of agent)
        others = ops.einsum("btja,ij->btija", joint, keep)
        others = ops.reshape(others, (b, t, self.n, self.n * self.a))
        state = ops.repeat(state[:, :, None], self.n, axis=2)
        ids = ops.broadcast_to(ops.eye(self.n), (b, t, self.n, self.n))
        x = ops.concatenate([state, obs, others, ids], axis=-1)
        for layer in self.critic:
            x = layer(x)
        return x

    def td_lambda(self, taken, reward, done):
        going = 1.0 - done
        g = taken[:, -1] * going[:, -1:]
        rows = [g]
        for t in range(reward.shape[1] - 2, -1, -1):
            g = self.lam * g + (1.0 - self.lam) * taken[:, t + 1]
            g = reward[:, t : t + 1] + self.gamma * going[:, t : t + 1] * g
            rows.append(g)
        return ops.stack(rows[::-1], axis=1)

    def call(self, obs, state, actions, avail, reward, done):
        joint = ops.one_hot(actions, self.a)
        pi = self.pi(obs, avail)
        q = self.q(state, obs, joint)
        taken = ops.sum(q * joint, axis=-1)
        baseline = ops.einsum("btna,btna->btn", pi, q)
        adv = taken - baseline
        td = self.td_lambda(taken, reward, done) - taken
        log_pi = ops.log(ops.sum(pi * joint, axis=-1))
        entropy = -ops.sum(pi * ops.log(pi + 1e-8), axis=-1)
        count = float(np.prod(adv.shape))
        centred = adv - ops.mean(adv)
        std = ops.sqrt(ops.sum(ops.square(centred)) / (count - 1.0))
        loss = -ops.mean(centred / (std + 1e-6) * log_pi) - 0.01 * ops.mean(entropy)
        return q, pi, td, loss


def make():
    keras.utils.set_random_seed(8)
    net = ComaLearner()
    z = lambda *s: np.zeros(s, "float32")
    net(z(3, 5, 3, 8), z(3, 5, 10), np.zeros((3, 5, 3), "int64"), z(3, 5, 3, 4) + 1, z(3, 5), z(3, 5))
    return net


def load(port, ref):
    n = lambda t: t.detach().numpy()
    port.norm.set_weights([n(ref.actor_norm.weight), n(ref.actor_norm.bias)])
    pairs = [(port.trunk, ref.actor_in), (port.logits, ref.actor_out)]
    pairs += list(zip(port.critic, (ref.critic_1, ref.critic_2, ref.critic_3)))
    for mine, theirs in pairs:
        mine.set_weights([n(theirs.weight).T, n(theirs.bias)])
