"""Recurrent PPO + RND in Chainer: the losses of one rollout [T, B]."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, ACTIONS, HID, FEAT, T, B = 6, 4, 16, 10, 5, 4
GAMMA_E, GAMMA_I, LAM, CLIP = 0.99, 0.95, 0.9, 0.2


class RND(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.target = chainer.Sequential(L.Linear(OBS, HID), F.leaky_relu, L.Linear(HID, FEAT))
            self.predictor = chainer.Sequential(L.Linear(OBS, HID), F.leaky_relu, L.Linear(HID, HID), F.relu,
                                                L.Linear(HID, FEAT))
        self.add_persistent("obs_mean", np.zeros(OBS, np.float32))
        self.add_persistent("obs_var", np.ones(OBS, np.float32))

    def __call__(self, obs):
        x = F.clip((obs - self.obs_mean) / np.sqrt(self.obs_var), -5.0, 5.0)
        return F.mean(F.square(self.predictor(x) - self.target(x)), axis=1)


def gae(rewards, values, nonterminal, gamma):
    adv, out = 0.0, []
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * nonterminal[t + 1] * values[t + 1] - values[t]
        adv = delta + gamma * LAM * nonterminal[t + 1] * adv
        out.append(adv)
    return F.stack(out[::-1])


class PPO(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(OBS, HID)
            self.lstm = L.StatelessLSTM(HID, HID)
            self.pi, self.v_ext, self.v_int = L.Linear(HID, ACTIONS), L.Linear(HID, 1), L.Linear(HID, 1)
            self.rnd = RND()

    def __call__(self, obs, dones, rewards, actions, old_logp, c, h):
        """obs, dones [T+1,B,...]: dones[t] says that an episode ended just before obs[t]."""
        obs, dones, rewards, actions, old_logp, c, h = map(
            chainer.as_variable, (obs, dones, rewards, actions, old_logp, c, h))
        T, B = rewards.shape
        alive = 1.0 - dones
        logits, v_ext, v_int = [], [], []
        for t in range(T + 1):
            mask = F.broadcast_to(alive[t][:, None], h.shape)
            c, h = self.lstm(c * mask, h * mask, F.tanh(self.fc(obs[t])))
            logits.append(self.pi(h))
            v_ext.append(self.v_ext(h)[:, 0])
            v_int.append(self.v_int(h)[:, 0])
        bonus = F.reshape(self.rnd(F.reshape(obs[1:], (T * B, OBS))), (T, B))
        adv_e = gae(rewards, v_ext, alive, GAMMA_E)
        adv_i = gae(bonus, v_int, np.ones((T + 1, B), np.float32), GAMMA_I)
        adv = F.reshape(2.0 * adv_e + 1.0 * adv_i, (-1,))
        mean = F.average(adv)
        std = F.sqrt(F.average(F.square(adv - F.broadcast_to(mean, adv.shape))))
        adv = (adv - F.broadcast_to(mean, adv.shape)) / F.broadcast_to(std + 1e-8, adv.shape)
        logp_all = F.log_softmax(F.concat(logits[:-1], axis=0))
        logp = F.select_item(logp_all, actions.array.reshape(-1).astype(np.int32))
        ratio = F.exp(logp - F.reshape(old_logp, (-1,)))
        surrogate = F.minimum(ratio * adv, F.clip(ratio, 1 - CLIP, 1 + CLIP) * adv)
        entropy = -F.average(F.sum(F.exp(logp_all) * logp_all, axis=1))
        return {"bonus": bonus, "adv": adv, "pi_loss": -F.average(surrogate), "entropy": entropy, "returns": adv_e + F.stack(v_ext[:-1])}


def make():
    np.random.seed(3)
    net = PPO()
    for p in net.params():
        p.array[...] = p.array * 1.5 if p.ndim == 2 else np.random.normal(0, 0.3, p.shape)
    net.rnd.obs_mean[...] = np.random.normal(0, 4, OBS)
    net.rnd.obs_var[...] = np.random.uniform(0.05, 3, OBS)
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    n = lambda *s: g.normal(size=s).astype("float32")
    dones = np.zeros((T + 1, B), "float32")
    dones[0, 1] = dones[2, 0] = dones[3, 2] = dones[5, 3] = 1
    return (n(T + 1, B, OBS) * 3, dones, n(T, B), g.integers(0, ACTIONS, (T, B)).astype("int32"),
            np.log(g.uniform(0.1, 0.6, (T, B))).astype("float32"), n(B, HID), np.tanh(n(B, HID)))
