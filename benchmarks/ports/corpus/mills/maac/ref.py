"""Multi-agent actor-attention-critic (Iqbal & Sha): the centralised critic, Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
AGENTS, OBS, ACTS, HID, HEADS = 3, 10, 4, 32, 2


class AttentionCritic(chainer.Chain):

    def __init__(self):
        super().__init__()
        d = HID // HEADS
        with self.init_scope():
            self.bn_sa = chainer.ChainList(*[L.BatchNormalization(OBS + ACTS, eps=1e-5) for _ in range(AGENTS)])
            self.bn_s = chainer.ChainList(*[L.BatchNormalization(OBS, eps=1e-5) for _ in range(AGENTS)])
            self.enc_sa = chainer.ChainList(*[L.Linear(OBS + ACTS, HID) for _ in range(AGENTS)])
            self.enc_s = chainer.ChainList(*[L.Linear(OBS, HID) for _ in range(AGENTS)])
            self.key = chainer.ChainList(*[L.Linear(HID, d, nobias=True) for _ in range(HEADS)])
            self.sel = chainer.ChainList(*[L.Linear(HID, d, nobias=True) for _ in range(HEADS)])
            self.val = chainer.ChainList(*[L.Linear(HID, d) for _ in range(HEADS)])
            self.q1 = chainer.ChainList(*[L.Linear(2 * HID, HID) for _ in range(AGENTS)])
            self.q2 = chainer.ChainList(*[L.Linear(HID, ACTS) for _ in range(AGENTS)])

    def attend(self, me, e_sa, e_s):
        """what agent `me` takes from the others"""
        others = [j for j in range(AGENTS) if j != me]
        seen, weights = [], []
        for key, sel, val in zip(self.key, self.sel, self.val):
            query = sel(e_s[me])
            keys = F.stack([key(e_sa[j]) for j in others], axis=2)            # B, d, N-1
            values = F.stack([F.leaky_relu(val(e_sa[j]), 0.01) for j in others], axis=2)
            score = F.matmul(query[:, None, :], keys)                          # B, 1, N-1
            w = F.softmax(score / np.sqrt(np.float32(query.shape[1])), axis=2)
            seen.append(F.sum(F.broadcast_to(w, values.shape) * values, axis=2))
            weights.append(w[:, 0, :])
        return F.concat(seen, axis=1), weights

    def __call__(self, obs, act, pi):
        e_sa, e_s = [], []
        for i in range(AGENTS):
            sa = F.concat([obs[:, i], act[:, i]], axis=1)
            e_sa.append(F.leaky_relu(self.enc_sa[i](self.bn_sa[i](sa)), 0.01))
            e_s.append(F.leaky_relu(self.enc_s[i](self.bn_s[i](obs[:, i])), 0.01))
        qs, advs, regs = [], [], []
        for i in range(AGENTS):
            other, weights = self.attend(i, e_sa, e_s)
            h = F.leaky_relu(self.q1[i](F.concat([e_s[i], other], axis=1)), 0.01)
            all_q = self.q2[i](h)
            q = F.sum(all_q * act[:, i], axis=1)
            baseline = F.sum(all_q * pi[:, i], axis=1)
            qs.append(q)
            advs.append(q - baseline)
            ent = [-F.mean(F.sum(F.log(w + 1e-8) * w, axis=1)) for w in weights]
            regs.append(sum(ent) / len(ent))
        return F.stack(qs, axis=1), F.stack(advs, axis=1), F.stack(regs)


def make(seed=0):
    np.random.seed(seed)
    rng = np.random.default_rng(seed)
    net = AttentionCritic()
    for name, p in net.namedparams():
        if name.endswith('/b') or name.endswith('/beta'):
            p.array[...] = rng.normal(0, 0.2, p.shape)
        elif name.endswith('/gamma'):
            p.array[...] = rng.uniform(0.7, 1.3, p.shape)
        else:
            p.array[...] *= 1.5
    for bn in list(net.bn_sa) + list(net.bn_s):
        bn.avg_mean[...] = rng.normal(0, 0.5, bn.avg_mean.shape)
        bn.avg_var[...] = rng.uniform(0.5, 2.0, bn.avg_var.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 6
    obs = rng.normal(size=(b, AGENTS, OBS)).astype(np.float32)
    act = np.eye(ACTS, dtype=np.float32)[rng.integers(0, ACTS, (b, AGENTS))]
    pi = rng.dirichlet(np.ones(ACTS), (b, AGENTS)).astype(np.float32)
    return obs, act, pi
