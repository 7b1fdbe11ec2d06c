"""The CEM planner again, functional: one batched model (ensemble in the first axis of every weight)."""
import math

import torch

FRAMEWORK = "torch"


def batched(x, w, b):
    return torch.baddbmm(b.unsqueeze(1), x, w)


class FastPlanner(torch.nn.Module):
    def __init__(self, obs=5, act=2, members=3, pop=24, elite=6, horizon=4, iters=2, gamma=0.95):
        super().__init__()
        self.pop, self.elite, self.horizon, self.iters, self.gamma = pop, elite, horizon, iters, gamma
        p = lambda *s: torch.nn.Parameter(0.1 * torch.randn(*s))
        self.w1, self.b1 = p(members, obs + act, 32), p(members, 32)
        self.w2, self.b2 = p(members, 32, 32), p(members, 32)
        self.w3, self.b3 = p(members, 32, 2 * obs), p(members, 2 * obs)
        self.high, self.low = p(obs), p(obs)
        self.rw1, self.rb1, self.rw2, self.rb2 = p(obs + act, 16), p(16), p(16, 1), p(1)
        self.tw, self.tb = p(obs), p(())
        self.register_buffer("scale", torch.ones(obs))

    @staticmethod
    def swish(x):
        return x * torch.sigmoid(x)

    @staticmethod
    def softplus(x):
        return torch.logaddexp(x, torch.zeros_like(x))

    def model(self, x):
        h = self.swish(batched(x, self.w1, self.b1))
        h = self.swish(batched(h, self.w2, self.b2))
        mean, logvar = batched(h, self.w3, self.b3).chunk(2, dim=-1)
        logvar = self.high - self.softplus(self.high - logvar)
        return mean, self.low + self.softplus(logvar - self.low)

    def step_reward(self, x):
        return (self.softplus(x @ self.rw1 + self.rb1) @ self.rw2 + self.rb2)[..., 0]

    def rollout(self, state, plans):
        members = self.w1.shape[0]
        noise = torch.stack([
            torch.stack([torch.randn_like(state.expand(self.pop, -1)) for _ in range(self.horizon)])
            for _ in range(members)
        ])  # members, horizon, pop, obs
        s = state.repeat(members, self.pop, 1)
        total, discount = 0.0, 1.0
        for t, a in enumerate(plans.unbind(1)):
            x = torch.cat((s, a.expand(members, -1, -1)), dim=-1)
            total = total + discount * self.step_reward(x)
            delta, logvar = self.model(x)
            s = s + delta + torch.exp(logvar / 2) * noise[:, t]
            discount *= self.gamma
        total = total + discount * (torch.einsum("mpo,o->mp", s, self.tw) + self.tb)
        avg = total.mean(dim=0)
        spread = ((total - avg) ** 2).sum(0).div(members - 1).sqrt()
        return avg - 0.5 * spread

    def forward(self, observation, warm_start):
        state = observation / self.scale
        mu = warm_start
        sigma = torch.ones_like(mu) * 0.6
        for _ in range(self.iters):
            eps = torch.randn((self.pop, *mu.shape))
            plans = torch.addcmul(mu, sigma, eps).clip(-1, 1)
            score = self.rollout(state, plans)
            order = torch.argsort(score, descending=True)[: self.elite]
            elites, value = plans[order], score[order]
            w = torch.exp((value - value[0]) / 0.1)
            w = w / w.sum()
            fit = torch.einsum("e,eha->ha", w, elites)
            var = torch.einsum("e,eha->ha", w, (elites - fit).square())
            mu = torch.lerp(mu, fit, 0.9)
            sigma = torch.lerp(sigma, (var + 1e-3).sqrt(), 0.9)
        return mu[0], mu, sigma, score


def make():
    torch.manual_seed(10)
    return FastPlanner()


@torch.no_grad()
def load(port, ref):
    stack = lambda get: torch.stack([get(m) for m in ref.members])
    port.w1.copy_(stack(lambda m: m.l1.weight.T)), port.b1.copy_(stack(lambda m: m.l1.bias))
    port.w2.copy_(stack(lambda m: m.l2.weight.T)), port.b2.copy_(stack(lambda m: m.l2.bias))
    port.w3.copy_(stack(lambda m: torch.cat([m.mean.weight.T, m.logvar.weight.T], 1)))
    port.b3.copy_(stack(lambda m: torch.cat([m.mean.bias, m.logvar.bias])))
    port.high.copy_(ref.max_logvar), port.low.copy_(ref.min_logvar)
    port.rw1.copy_(ref.reward[0].weight.T), port.rb1.copy_(ref.reward[0].bias)
    port.rw2.copy_(ref.reward[2].weight.T), port.rb2.copy_(ref.reward[2].bias)
    port.tw.copy_(ref.terminal.weight[0]), port.tb.copy_(ref.terminal.bias[0])
    port.scale.copy_(ref.obs_scale)
