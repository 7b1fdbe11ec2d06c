"""Recurrent PPO + RND in torch: fused gates, GAE over a stacked pair of value streams."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
FRAMEWORK = "torch"
O, A, H, Z = 6, 4, 16, 10


class Bonus(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Sequential(nn.Linear(O, H), nn.LeakyReLU(0.2), nn.Linear(H, Z))
        self.learned = nn.Sequential(nn.Linear(O, H), nn.LeakyReLU(0.2), nn.Linear(H, H), nn.ReLU(), nn.Linear(H, Z))
        self.register_buffer("mean", torch.zeros(O))
        self.register_buffer("var", torch.ones(O))

    def forward(self, obs):
        x = ((obs - self.mean) * self.var.rsqrt()).clamp(-5, 5)
        return F.mse_loss(self.learned(x), self.frozen(x), reduction="none").mean(-1)


class RecurrentPPO(nn.Module):
    def __init__(self, gammas=(0.99, 0.95), lam=0.9, clip=0.2):
        super().__init__()
        self.torso, self.core = nn.Linear(O, H), nn.LSTMCell(H, H)
        self.actor, self.critic = nn.Linear(H, A), nn.Linear(H, 2)
        self.rnd = Bonus()
        self.register_buffer("gammas", torch.tensor(gammas))
        self.lam, self.clip = lam, clip

    def unroll(self, obs, done, state):
        feats = []
        for x, d in zip(torch.tanh(self.torso(obs)), done):
            state = self.core(x, tuple(torch.where(d[:, None] > 0, 0.0, s) for s in state))
            feats.append(state[0])
        return torch.stack(feats)

    def advantages(self, reward, value, discount):
        """All [T, B, 2], value [T+1, B, 2]."""
        delta = reward + discount * value[1:] - value[:-1]
        adv = torch.zeros_like(delta)
        carry = torch.zeros_like(delta[0])
        for t in range(len(delta) - 1, -1, -1):
            carry = adv[t] = delta[t] + self.lam * discount[t] * carry
        return adv

    def forward(self, obs, done, reward, action, old_logp, c, h):
        y = self.unroll(obs, done, (h, c))
        value = self.critic(y)
        bonus = self.rnd(obs[1:])
        cont = torch.stack([1 - done[1:], torch.ones_like(reward)], dim=-1)
        both = self.advantages(torch.stack([reward, bonus], -1), value, self.gammas * cont)
        adv = both @ torch.tensor([2.0, 1.0])
        adv = (adv - adv.mean()) / (adv.std(correction=0) + 1e-8)
        pi = Categorical(logits=self.actor(y[:-1]))
        ratio = (pi.log_prob(action) - old_logp).exp()
        loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - self.clip, 1 + self.clip)).mean()
        returns = both[..., 0] + value[:-1, :, 0]
        return {"bonus": bonus, "adv": adv.flatten(), "pi_loss": loss, "entropy": pi.entropy().mean(), "returns": returns}


def make():
    torch.manual_seed(44)
    return RecurrentPPO().eval()


@torch.no_grad()
def load(model, reference):
    t = torch.tensor

    def linear(dst, *links):
        dst.weight.copy_(torch.cat([t(k.W.array) for k in links]))
        dst.bias.copy_(torch.cat([t(k.b.array) for k in links]))

    def gates(x):  # Chainer interleaves (a, i, f, o) per unit; torch wants blocks (i, f, g, o)
        a, i, f, o = t(x).unflatten(0, (H, 4)).unbind(1)
        return torch.cat([i, f, a, o])

    linear(model.torso, reference.fc)
    linear(model.actor, reference.pi)
    linear(model.critic, reference.v_ext, reference.v_int)
    model.core.weight_ih.copy_(gates(reference.lstm.upward.W.array))
    model.core.weight_hh.copy_(gates(reference.lstm.lateral.W.array))
    model.core.bias_ih.copy_(gates(reference.lstm.upward.b.array))
    model.core.bias_hh.zero_()
    for dst, src in ((model.rnd.frozen, reference.rnd.target), (model.rnd.learned, reference.rnd.predictor)):
        for d, s in zip(dst, src):
            if isinstance(d, nn.Linear):
                linear(d, s)
    model.rnd.mean.copy_(t(reference.rnd.obs_mean))
    model.rnd.var.copy_(t(reference.rnd.obs_var))
