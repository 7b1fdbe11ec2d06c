import math

import numpy as np
import parity



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_NETS, N_QUANTILES, N_DROP, SCALE = 2, 8, 4, 0.4


class EnsembleLinear(chainer.Chain):
    """One matrix per member: (members, batch, in) -> (members, batch, out)."""

    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.W = chainer.Parameter(chainer.initializers.LeCunNormal(), (N_NETS, n_in, n_out))
            self.b = chainer.Parameter(chainer.initializers.Normal(0.1), (N_NETS, 1, n_out))

    def __call__(self, x):
        y = F.matmul(x, self.W)
        return y + F.broadcast_to(self.b, y.shape)


class QuantileCritics(chainer.Chain):
    def __init__(self, n_in, n_hidden=24):
        super().__init__()
        with self.init_scope():
            self.l0 = EnsembleLinear(n_in, n_hidden)
            self.l1 = EnsembleLinear(n_hidden, n_hidden)
            self.l2 = EnsembleLinear(n_hidden, N_QUANTILES)

    def __call__(self, obs, action):
        x = F.concat((obs, action), axis=1)
        x = F.broadcast_to(x[None], (N_NETS,) + x.shape)
        return self.l2(F.relu(self.l1(F.relu(self.l0(x)))))


class Policy(chainer.Chain):
    def __init__(self, n_obs, n_act, n_hidden=24):
        super().__init__()
        bias = chainer.initializers.Normal(0.1)
        with self.init_scope():
            self.l0 = L.Linear(n_obs, n_hidden, initial_bias=bias)
            self.norm = L.LayerNormalization(n_hidden, eps=1e-5)
            self.l1 = L.Linear(n_hidden, n_hidden, initial_bias=bias)
            self.head = L.Linear(n_hidden, 2 * n_act, initial_bias=bias)

    def __call__(self, obs, noise):
        x = F.relu(self.l1(F.tanh(self.norm(self.l0(obs)))))
        mean, raw = F.split_axis(self.head(x), 2, axis=1)
        ln_std = 3.5 * F.tanh(raw) - 1.5
        y = F.tanh(mean + F.exp(ln_std) * noise)
        action = y * SCALE
        gauss = -0.5 * np.square(noise) - ln_std - 0.5 * math.log(2 * math.pi)
        jacobian = F.log(SCALE * (1 - y * y) + 1e-6)
        return action, F.sum(gauss - jacobian, axis=1, keepdims=True)


class TQC(chainer.Chain):
    def __init__(self, n_obs=8, n_act=3, gamma=0.97, alpha=0.2):
        super().__init__()
        with self.init_scope():
            self.policy = Policy(n_obs, n_act)
            self.critics = QuantileCritics(n_obs + n_act)
            self.target_critics = QuantileCritics(n_obs + n_act)
        self.gamma, self.alpha = gamma, alpha

    def lowest(self, z):
        """(members, batch, quantiles) -> the smallest quantiles of each row, whichever member they are of."""
        pooled = F.reshape(F.transpose(z, (1, 0, 2)), (z.shape[1], -1))
        order = np.argsort(pooled.array, axis=1)[:, : N_NETS * (N_QUANTILES - N_DROP)]
        return pooled[np.arange(len(order))[:, None], order]

    def bellman(self, reward, done, next_obs, noise):
        action, log_prob = self.policy(next_obs, noise)
        z = self.lowest(self.target_critics(next_obs, action))
        soft = z - F.broadcast_to(self.alpha * log_prob, z.shape)
        discount = (self.gamma * (1 - done)).astype(np.float32)
        target = F.scale(soft, chainer.as_variable(discount), axis=0)
        target = F.bias(target, chainer.as_variable(reward), axis=0)
        return action, log_prob, target

    def quantile_huber(self, z, target):
        shape = z.shape + (target.shape[1],)
        u = F.broadcast_to(target[None, :, None, :], shape) - F.broadcast_to(z[:, :, :, None], shape)
        tau = ((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES).astype(np.float32)
        below = (u.array < 0).astype(np.float32)
        weight = np.abs(tau[:, None] - below)
        clipped = F.minimum(abs(u), self.xp.ones_like(u.array))
        huber = clipped * (abs(u) - 0.5 * clipped)
        return F.mean(weight * huber, axis=(0, 2, 3))

    def __call__(self, obs, action, reward, done, next_obs, noise):
        next_action, log_prob, target = self.bellman(reward, done, next_obs, noise)
        loss = self.quantile_huber(self.critics(obs, action), target)
        return {"action": next_action, "log_prob": log_prob, "target": target, "loss": loss}


def make():
    np.random.seed(6)
    return TQC()


def load(model, reference):
    get = lambda tensor: tensor.detach().numpy()
    actor = reference.actor
    for ours, theirs in ((model.policy.l0, actor.l1), (model.policy.l1, actor.l2)):
        ours.W.array[...] = get(theirs.weight)
        ours.b.array[...] = get(theirs.bias)
    model.policy.norm.gamma.array[...] = get(actor.ln.weight)
    model.policy.norm.beta.array[...] = get(actor.ln.bias)
    model.policy.head.W.array[...] = np.concatenate([get(actor.mu.weight), get(actor.log_std.weight)])
    model.policy.head.b.array[...] = np.concatenate([get(actor.mu.bias), get(actor.log_std.bias)])
    for ours, theirs in ((model.critics, reference.critics), (model.target_critics, reference.targets)):
        for k, layer in enumerate((ours.l0, ours.l1, ours.l2)):
            for m, net in enumerate(theirs.nets):
                layer.W.array[m] = get(net[2 * k].weight).T
                layer.b.array[m, 0] = get(net[2 * k].bias)
